/** A run on GitHub: groups in the log, annotations, the job summary. Everything is reported once. */
import type { Reporter } from "../events/sink.ts";
import type { Clock } from "../platform/clock.ts";
import { applyEvent, createRunView, type RunView } from "../events/view.ts";
import { chooseAnnotations, type Annotation, type AnnotationOptions } from "./annotations.ts";
import { Heartbeat } from "../reports/doing.ts";
import { logLine } from "../text/escape.ts";
import { createGithubLog, type GithubCore } from "./step-log.ts";
import { renderSummary, type SummaryOptions } from "./summary.ts";
import { clockText } from "../text/numbers.ts";

export { chooseAnnotations, diagnosticAnnotations, reasonAnnotations } from "./annotations.ts";
export type { GithubCore } from "./step-log.ts";
export { chartDetail } from "./layout.ts";
export { omittedFromOutputs, outputsOf, type OutputName, type Result } from "./step-outputs.ts";
export { renderSummary, type SummaryOptions } from "./summary.ts";

const MAX_STILL = 1000;

export interface GithubOptions extends SummaryOptions, AnnotationOptions {
  readonly core: GithubCore;
  /** For `::stop-commands::`: long and unpredictable. */
  readonly randomToken: () => string;
  readonly clock: Clock;
}

/** `finish` is idempotent; no later event is reported. Rejects if the summary, which is the last, can't be written. */
export function createGithubReporter(
  options: GithubOptions,
): Reporter & { finish(): Promise<void> } {
  const { core } = options;
  /** Undefined until the first event. */
  let view: RunView | undefined;
  const heartbeat = new Heartbeat(options.clock, (now, line) => {
    const time = clockText(now - (view?.startedAt ?? now));
    core.info(`${time} ${logLine(line, MAX_STILL)}`);
  });
  const watched = {
    ...core,
    info(message: string): void {
      heartbeat.printed();
      core.info(message);
    },
  };
  const log = createGithubLog(watched, options.randomToken, options.journal !== undefined);
  let last = { at: 0, runId: "" };
  let finished: Promise<void> | undefined;

  const finish = async (): Promise<void> => {
    heartbeat.stop();
    view ??= createRunView();
    if (view.status === "pending" || view.status === "running") {
      const reason = "the process was stopped before the job ended";
      applyEvent(view, { ...last, type: "run.ended", outcome: { kind: "canceled", reason } });
    }
    log.end();
    for (const annotation of chooseAnnotations(view, options)) annotate(core, annotation);
    const summary = renderSummary(view, options);
    if (summary !== "") await core.writeSummary(summary);
  };

  return {
    name: "summary",
    report(event, shared) {
      if (finished !== undefined) return;
      view = shared;
      last = { at: event.at, runId: event.runId };
      log.report(event, view);
      if (event.type === "run.started") heartbeat.start(view);
      if (event.type === "run.ended") heartbeat.stop();
    },
    finish() {
      finished ??= finish();
      return finished;
    },
    close() {
      return this.finish();
    },
  };
}

export function annotate(core: GithubCore, { level, message, ...properties }: Annotation): void {
  core[level](message, properties);
}

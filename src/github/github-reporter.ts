/** A run on GitHub: groups in the log, annotations, the job summary, the outputs. Everything is reported once. */
import { clockText } from "../text/numbers.ts";
import { existsSync } from "node:fs";
import type { Reporter } from "../events/sink.ts";
import { applyEvent, type RunView } from "../events/view.ts";
import type { Clock } from "../platform/clock.ts";
import { Heartbeat } from "../reports/doing.ts";
import { lastLine } from "../reports/result-lines.ts";
import { logLine } from "../text/harmless-text.ts";
import { annotate, chooseAnnotations, type AnnotationOptions } from "./annotations.ts";
import type { Delivery } from "./delivery.ts";
import { resultText } from "./layout.ts";
import { createGithubLog, type GithubCore } from "./step-log.ts";
import { durationMs, omittedFromOutputs, outputsOf, type Outputs } from "./step-outputs.ts";
import { renderSummary, type SummaryOptions } from "./summary.ts";

const MAX_STILL = 1000;

export interface GithubOptions extends SummaryOptions, AnnotationOptions {
  readonly core: GithubCore;
  /** Returns a long and unpredictable token for `::stop-commands::`. */
  readonly randomToken: () => string;
  readonly clock: Clock;
  /** The name under which the journal should be uploaded. */
  readonly journalArtifact?: string | undefined;
  readonly outputDir?: string | undefined;
  /** The file with the whole report of the job. */
  readonly reportFile?: string | undefined;
}

export interface GithubReporter extends Reporter {
  /** Writes the log, the annotations and the summary, also of a run that has not ended. Idempotent: no later event is reported. */
  finish(): Promise<void>;
  outputs(): Outputs;
  /** Sentences about what the outputs leave out. */
  omissions(): readonly string[];
  summary(deliveries: readonly Delivery[]): string;
  lastLine(reason: string, passes: boolean): string;
}

export function createGithubReporter(options: GithubOptions): GithubReporter {
  const { core, journal, journalArtifact, outputDir } = options;
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
  const log = createGithubLog(watched, options.randomToken, journal !== undefined);
  let last = { at: 0, runId: "" };
  let finished: Promise<void> | undefined;

  const finish = async (): Promise<void> => {
    heartbeat.stop();
    log.end();
    if (view === undefined) return;
    if (view.status === "pending" || view.status === "running") {
      const reason = "the process was stopped before the job ended";
      applyEvent(view, { ...last, type: "run.ended", outcome: { kind: "canceled", reason } });
    }
    annotate(core, chooseAnnotations(view, options));
    const summary = renderSummary(view, options);
    if (summary !== "") await core.writeSummary(summary);
  };
  const reportFile = (): string | undefined =>
    existsSync(options.reportFile ?? "") ? options.reportFile : undefined;

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
    finish: () => (finished ??= finish()),
    close: () => (finished ??= finish()),
    outputs: () =>
      outputsOf(view, { outputDir, journal, journalArtifact, reportFile: reportFile() }),
    omissions: () => (view === undefined ? [] : omittedFromOutputs(view, reportFile())),
    summary: (deliveries) =>
      view === undefined ? "" : renderSummary(view, { ...options, deliveries }),
    lastLine(reason, passes) {
      if (view === undefined) return reason;
      const words = { fails: "the step fails", passes: "The step passes (`fail-on: never`)" };
      const text = lastLine(view, resultText(view, view.jobName), { passes, reason, words });
      return `${clockText(durationMs(view))} ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
    },
  };
}

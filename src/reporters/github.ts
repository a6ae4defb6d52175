/**
 * A run on GitHub: groups in the log, annotations, the job summary. What each of them says is in the
 * `github-*` files beside this one; this one owns the order and that everything is said once.
 */
import type { Reporter } from "../events/sink.ts";
import { applyEvent, createRunView } from "../events/view.ts";
import {
  chooseAnnotations,
  type Annotation,
  type AnnotationOptions,
} from "./github-annotations.ts";
import type { GithubCore } from "./github-core.ts";
import { createGithubLog } from "./github-log.ts";
import { renderSummary, type SummaryOptions } from "./github-summary.ts";

export {
  chooseAnnotations,
  diagnosticAnnotations,
  reasonAnnotations,
  type Annotation,
  type AnnotationOptions,
} from "./github-annotations.ts";
export type { Annotate, GithubCore } from "./github-core.ts";
export { chartDetail } from "./github-layout.ts";
export { outputsOf, type OutputName, type OutputsOptions, type Result } from "./github-outputs.ts";
export { renderSummary, type SummaryOptions } from "./github-summary.ts";

export interface GithubOptions extends SummaryOptions, AnnotationOptions {
  readonly core: GithubCore;
  /** For `::stop-commands::`: long, and nobody's guess. */
  readonly randomToken: () => string;
}

export interface GithubReporter extends Reporter {
  /**
   * The rest of the log, the annotations and the summary, from what is known so far: after the run, or in
   * the middle of it when the process has to end. A second call does nothing more, and no later event
   * is reported. Rejects if the summary can't be written; everything else has been said by then.
   */
  finish(): Promise<void>;
}

export function createGithubReporter(options: GithubOptions): GithubReporter {
  const { core } = options;
  const view = createRunView();
  const log = createGithubLog(core, options.randomToken, view, options.journal !== undefined);
  let lastAt = 0;
  let finished: Promise<void> | undefined;

  const finish = async (): Promise<void> => {
    if (view.status === "pending" || view.status === "running") {
      const reason = "the process was stopped before the job came to its end";
      applyEvent(view, {
        at: lastAt,
        type: "run.ended",
        outcome: { kind: "canceled", reason },
      });
    }
    log.end();
    for (const annotation of chooseAnnotations(view, options)) annotate(core, annotation);
    const summary = renderSummary(view, options);
    if (summary !== "") await core.writeSummary(summary);
  };

  return {
    name: "summary",
    report(event) {
      if (finished !== undefined) return;
      lastAt = event.at;
      applyEvent(view, event);
      log.report(event);
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

/** Says an annotation. The port escapes it. */
export function annotate(core: GithubCore, { level, message, ...properties }: Annotation): void {
  core[level](message, properties);
}

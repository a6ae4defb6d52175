/** `runWorkflow`: a workflow as a promise, on a host of its own. */
import { basename } from "node:path";
import type { RunOutcome } from "../events/event.ts";
import type { RunView } from "../events/view.ts";
import { onAbort } from "../platform/waiting.ts";
import type { Workflow } from "../workflow/model.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { entryOfWorkflow, LoadedFlow } from "../run/workflow-run.ts";
import { Feed } from "./feed.ts";
import {
  checkOptions,
  withTelemetry,
  type JobHostOptions,
  type WorkflowOwnOptions,
} from "./host-options.ts";
import { HostedRuns } from "./hosted-runs.ts";
import { incompleteText } from "./job-callbacks.ts";
import { checkRecords, closeOnError, openRecords } from "../run/records.ts";
import { filesAround } from "../run/workflow-files.ts";

/** The options of a run of a workflow: those of a host for the run alone, and those of a job. */
export interface RunWorkflowOptions
  extends Omit<JobHostOptions, "journals" | "feedsFolder" | "limitNames">, WorkflowOwnOptions {}

/** How a workflow has ended. */
export interface WorkflowResult {
  /** `canceled`: by `signal`. */
  readonly status: RunOutcome["kind"];
  /** Why it has failed or was canceled. */
  readonly reason?: string;
  /** RESULT at the end, however the run ended. */
  readonly result: string;
  /** Parameters and variables at the end, by name. */
  readonly variables: Readonly<Record<string, string>>;
  /** All events of the run carry it. */
  readonly runId: string;
  /** Everything that is shown of a run: totals, decisions, denials. */
  readonly view: RunView;
}

/**
 * Runs a workflow of `loadWorkflow` to its end, as `agent-jobs run` does. A workflow that fails or is canceled is a
 * result too. Rejects with a `TypeError` for invalid options, with a `DiagnosticsError` if a parameter has no value,
 * and with an `Error` if no model is named, or if the journal can't be started or resumed. A run whose journal or
 * history is incomplete has failed.
 */
export async function runWorkflow(
  workflow: Workflow,
  options: RunWorkflowOptions = {},
): Promise<WorkflowResult> {
  const { userInput, params, workingDirectory = ".", signal, ...others } = options;
  const { journal, history, resume, rerun, ...hostOptions } = others;
  const records = { history };
  checkOptions("JobHost", hostOptions);
  const own = { userInput, params, workingDirectory, signal, journal, history, resume, rerun };
  checkOptions("runWorkflow", own);
  const jobName = basename(workflow.file);
  const isFile = hostOptions.journalStore === undefined;
  checkRecords([workflow.file], isFile ? { journal, history } : records);
  const runs = new HostedRuns(withTelemetry(hostOptions), records);
  try {
    const flow = new LoadedFlow(workflow, filesAround(workflow.file).files);
    runs.use(entryOfWorkflow(flow, workflow.file));
    // Nobody reads what the sessions say besides the events.
    const openFeed = (): Feed => new Feed({ clock: runs.clock, kept: 0 });
    let end: FlowResult | undefined;
    const files = await openRecords(records, runs.host);
    const onResult = (result: FlowResult): void => void (end = result);
    const start = {
      jobName,
      userInput,
      workingDirectory,
      params,
      journal,
      resume,
      rerun,
      onResult,
    };
    const run = await closeOnError(files, () => runs.startJob(start, { folds: files, openFeed }));
    const release = onAbort(signal, () => run.cancel("stopped by the caller"));
    const { reporterFailures, outcome } = await run.ended.finally(release);
    const { runId, view } = run;
    const { result = "", variables = {} } = end ?? {};
    // A requested record is incomplete: a run that went well otherwise is no success.
    const missing = reporterFailures.filter(({ essential }) => essential).map(incompleteText);
    const incomplete = outcome.kind === "succeeded" && missing.length > 0;
    const { kind: status, reason } = incomplete
      ? { kind: "failed" as const, reason: missing.join("\n") }
      : { reason: undefined, ...outcome };
    return { status, reason, result, variables, runId, view };
  } finally {
    await runs.close();
  }
}

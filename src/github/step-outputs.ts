/** The outputs of the step. Later steps read them through `env`, in which Linux allows no variable of 128 kB. */
import { elapsedMs, endText, isFailure, knownCost, type RunView } from "../events/view.ts";
import type { Delivery } from "./delivery.ts";
import { collectOutputs, resultsOf } from "../outputs/collect.ts";
import { findingJson, jobReport } from "../reports/run-json.ts";
import { wholeItems } from "./layout.ts";

/** The outputs with their descriptions in Markdown: the action.yml files and docs/action.md are made from them. */
export const outputTable = {
  result:
    "`success`, `failure`, `cancelled`, or `skipped` (a refused event, such as a pull request from a fork, or a change without files for the job).",
  reason: "The reason of a failure. Empty after a success. It may quote an agent.",
  verdict: "`pass`, `needs-work` or `reject`: the verdict on the change. Empty if there is none.",
  findings:
    "The findings, most severe first, as a JSON array of objects with `path`, `line`, `severity`, `rule` and `message`, up to 16,000 bytes; `run.json` has all. They quote agents.",
  report:
    "The report of the job: the reports of the tasks that `outputs.report` of the entry selects, the RESULT of the workflow, or the response of the last task with actions. Truncated to 8,000 bytes. It may quote an agent.",
  "report-file": "The path of the file with the whole report. Empty if there is no report.",
  results:
    "The structured results of tasks (`criteria.result`), as a JSON object by task. Empty if they are longer than 16,000 bytes; `run.json` has all. They quote agents.",
  "failed-tasks": "The names of the failed tasks, as a JSON array.",
  "reported-document": "The first line of the agent's last `job_prepare_document` call.",
  deliveries:
    "What was written on GitHub, as a JSON array of objects with `what`, `status` (`done`, `skipped`, `refused`, `staged`), `reason` and `url`.",
  "output-dir":
    "The path of the folder with everything that the run leaves: `run.json`, `report.html`, the journal and others. Also set if the step is killed.",
  journal: "The path of the journal.",
  "journal-digest": "SHA-256 of the journal, in hex, for the action `deliver`.",
  "journal-artifact":
    "The artifact name under which `resume: auto` looks for the journal. Also set if the step is killed.",
  matrix: "The value for `strategy.matrix`, as JSON. Each leg has `matrix.shard`.",
  "journal-pattern":
    "A pattern for the `journal-artifact` names of the plan and its shards, for actions/download-artifact.",
  cost: "The cost in AI credits (0.01 USD each), as Copilot reports it or by the `prices` of the entry. 0 in a rehearsal, empty if it is unknown.",
} as const;

export type OutputName = keyof typeof outputTable;
export type Outputs = Readonly<Record<OutputName, string>>;

export type Result = "success" | "failure" | "skipped" | "cancelled";

export interface OutputsOptions {
  readonly outputDir?: string | undefined;
  readonly journal?: string | undefined;
  /** The file with the whole report of the job. */
  readonly reportFile?: string | undefined;
  /** Overrides the view, for example with `skipped` for a refused run. */
  readonly result?: Result;
  /** The name under which the journal should be uploaded. */
  readonly journalArtifact?: string | undefined;
  readonly deliveries?: readonly Delivery[];
  readonly reason?: string;
}

/** Bytes of UTF-8; the sum is under 128,000. */
const MAX_RESULTS = 16_000;
const MAX_FAILED = 8_000;
const MAX_FINDINGS = 16_000;
const MAX_DELIVERIES = 8_000;
const MAX_TEXT = 8_000;
const MAX_PATH = 4_000;

/** `view`: undefined if no run has begun. */
export function outputsOf(view: RunView | undefined, options: OutputsOptions = {}): Outputs {
  const none: Outputs = {
    result: options.result ?? "cancelled",
    reason: cutToBytes(options.reason ?? "", MAX_TEXT),
    "failed-tasks": "[]",
    report: "",
    "report-file": cutToBytes(options.reportFile ?? "", MAX_PATH),
    results: "",
    findings: "[]",
    verdict: "",
    "reported-document": "",
    "output-dir": cutToBytes(options.outputDir ?? "", MAX_PATH),
    journal: cutToBytes(options.journal ?? "", MAX_PATH),
    "journal-digest": "",
    "journal-artifact": options.journalArtifact ?? "",
    matrix: "",
    "journal-pattern": "",
    deliveries: deliveriesText(options.deliveries ?? []),
    cost: "0",
  };
  if (view === undefined) return none;
  const { findings, verdict } = collectOutputs(view);
  const failed = [...view.works.values()].filter(isFailure);
  const results = wholeResults(view);
  return {
    ...none,
    result: options.result ?? resultWords[view.status],
    reason: cutToBytes(options.reason ?? endText(view), MAX_TEXT),
    "failed-tasks": jsonList([...new Set(failed.map(({ taskId }) => taskId))], MAX_FAILED),
    report: cutToBytes(jobReport(view) ?? "", MAX_TEXT),
    // Whole or not at all: half of it is no JSON.
    results: Buffer.byteLength(results) <= MAX_RESULTS ? results : "",
    findings: jsonList(findings.map(findingJson), MAX_FINDINGS),
    verdict: verdict?.verdict ?? "",
    "reported-document": cutToBytes(view.reportedDocument ?? "", MAX_TEXT),
    cost: String(knownCost(view.totals) ?? ""),
  };
}

export function outputsWithoutRun(result: Result, reason: string): Outputs {
  return outputsOf(undefined, { result, reason });
}

export function deliveriesText(deliveries: readonly Delivery[]): string {
  const shown = deliveries.map(({ preview: _preview, ...delivery }) => delivery);
  return jsonList(shown, MAX_DELIVERIES);
}

function wholeResults(view: RunView): string {
  const results = resultsOf(view);
  return results === null ? "" : JSON.stringify(results);
}

/** Says what the outputs leave out of the report and the results, and where it is. */
export function omittedFromOutputs(
  view: RunView,
  reportFile: string | undefined,
): readonly string[] {
  const report = Buffer.byteLength(jobReport(view) ?? "");
  const results = Buffer.byteLength(wholeResults(view));
  const omitted: string[] = [];
  if (report > MAX_TEXT)
    omitted.push(
      `The output \`report\` has ${MAX_TEXT} of ${report} bytes. ${reportFile ?? "report.md"} has all of it.`,
    );
  if (results > MAX_RESULTS)
    omitted.push(
      `The output \`results\` is empty: the results have ${results} bytes, and it takes ${MAX_RESULTS}. run.json has all of it.`,
    );
  return omitted;
}

/** The duration of the run, or of what is known of a run that has not ended. */
export function durationMs(view: RunView): number {
  const start = view.startedAt;
  if (start === undefined) return 0;
  if (view.endedAt !== undefined) return Math.max(0, view.endedAt - start);
  return [...view.works.values()].reduce(
    (longest, work) => Math.max(longest, elapsedMs(work, work.startedAt ?? start)),
    0,
  );
}

const resultWords: Readonly<Record<RunView["status"], Result>> = {
  succeeded: "success",
  failed: "failure",
  skipped: "skipped",
  canceled: "cancelled",
  pending: "cancelled",
  running: "cancelled",
};

function jsonList(values: readonly unknown[], length: number): string {
  const items = wholeItems(
    values.map((value) => `${JSON.stringify(value)},`),
    length,
  );
  return `[${items.join("").slice(0, -1)}]`;
}

function cutToBytes(text: string, bytes: number): string {
  const short = text.slice(0, bytes);
  if (short === text && Buffer.byteLength(text) <= bytes) return text;
  const { read } = new TextEncoder().encodeInto(short, new Uint8Array(bytes - 3));
  return `${short.slice(0, read)}…`;
}

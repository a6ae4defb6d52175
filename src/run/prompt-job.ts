/** A job without an entry: one task with a prompt that is given in place of it. It reads only, by default. */
import { type Diagnostic, diagnosticLine, DiagnosticsError } from "../document/diagnostic.ts";
import { readDocument, readSource } from "../document/read-document.ts";
import { allJobTools } from "../entry/permissions.ts";
import { preparePlain } from "../entry/prepare.ts";
import { variablesIn } from "../entry/prompt.ts";
import { defined, isRecord } from "../text/guards.ts";
import type { ReadEntry } from "./flows.ts";
import type { FieldsOn } from "./option-table.ts";
import type { ModelAccess } from "./options-provider.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";
import { warningChecks } from "./workflow-files.ts";

/** The name of the task; also of the job and of the entry, unless they have other names. */
const PROMPT = "prompt";

/** GitHub Copilot chooses a model. */
const AUTO = "auto";

/** Asked for where `outputs` publish something and the prompt doesn't name the tool that hands it in. */
const requests = {
  report: ["job_report", "Call job_report with the result, in Markdown."],
  findings: ["job_annotate", "Call job_annotate for each finding."],
  verdict: ["job_verdict", "Call job_verdict with your verdict."],
  proposals: ["job_propose", "Call job_propose for what should be done on GitHub."],
} as const;

export interface PromptJob {
  readonly prompt: string | Uint8Array;
  /** The file of the prompt. Absent: it is an option. */
  readonly file?: string;
  readonly jobName?: string | undefined;
  /** JSON or YAML, as in an entry. */
  readonly outputs?: string | undefined;
  readonly write?: WriteName | undefined;
}

/** Requires a model on other servers: only GitHub Copilot chooses one itself. */
export function checkModelOfPrompt(
  {
    models = {},
    provider,
    rehearse,
  }: Pick<ModelAccess, "provider"> & Pick<FieldsOn<"run">, "models" | "rehearse">,
  write: WriteName,
): void {
  if (provider === undefined || rehearse !== undefined || Object.keys(models).length > 0) return;
  throw new UsageError(
    `The prompt needs a model of your server: name it with ${write("model")} or AGENT_JOBS_MODEL.`,
  );
}

/** Throws a `UsageError` that names the option, or a `DiagnosticsError` for a prompt in a file. */
export function promptEntry(job: PromptJob): ReadEntry {
  const { file, jobName = PROMPT, write = asFlag } = job;
  const text = textOf(job.prompt, file);
  if (text.trim() === "")
    throw refusal(
      [{ codePath: "", reason: "The prompt is empty.", ...defined({ file }) }],
      file,
      write,
    );
  const outputs = readOutputs(job.outputs, write);
  const asked = requested(text, job.outputs === undefined ? withoutOutputs(text) : outputs);
  const needsReport = job.outputs !== undefined && asked.includes(requests.report);
  const variables = variablesIn(text);
  const isAboutChange = variables.some((name) => name.startsWith("change-"));
  const body = asked.map(([, request]) => request).join(" ");
  const prepared = preparePlain(
    {
      models: { driving: AUTO },
      tasks: {
        [PROMPT]: {
          model: { category: "driving" },
          prompt: [file === undefined ? text : { file }, ...(body === "" ? [] : ["", body])],
          requireUserInput: variables.includes("user-input"),
          ...(isAboutChange && { availability: { change: true } }),
          ...(needsReport && {
            criteria: { toolExecuted: ["job_report"], failureAction: { retryTimes: 1 } },
          }),
        },
      },
      jobs: { [jobName]: { work: { kind: "Ref", taskId: PROMPT } } },
      ...(outputs !== undefined && { outputs }),
    },
    { checks: warningChecks, readPrompt: () => ({ kind: "read", text }), ...defined({ file }) },
  );
  if (prepared.kind === "rejected") throw refusal(prepared.diagnostics, file, write);
  const start = { line: 1, column: 1 };
  const places = { locate: () => start, locateTask: () => start };
  return { ...prepared, ...places, kind: "loaded", file: file ?? PROMPT, flows: {} };
}

function textOf(content: string | Uint8Array, file: string | undefined): string {
  if (file === undefined) return String(content);
  const read = readSource(content, file);
  if (read.kind === "rejected") throw new DiagnosticsError(read.diagnostics);
  return read.text.replaceAll("\r\n", "\n").replace(/\n$/, "");
}

function readOutputs(given: string | undefined, write: WriteName): unknown {
  if (given === undefined) return undefined;
  const read = readDocument(given, { format: "yaml" });
  if (read.kind === "read") return read.value;
  throw new UsageError(lines(read.diagnostics, write("outputs")));
}

/** Otherwise, the answer would only be in the log. A prompt that names a tool asks for the output itself. */
function withoutOutputs(text: string): object {
  return allJobTools.some((tool) => text.includes(tool)) ? {} : { report: {} };
}

function requested(text: string, outputs: unknown): readonly (readonly [string, string])[] {
  const published = isRecord(outputs) ? Object.keys(outputs) : [];
  return Object.entries(requests).flatMap(([name, request]) =>
    published.includes(name) && !text.includes(request[0]) ? [request] : [],
  );
}

/** The entry was made here, so its paths say nothing. */
function refusal(
  diagnostics: readonly Diagnostic[],
  file: string | undefined,
  write: WriteName,
): Error {
  const ofOutputs = diagnostics.filter(({ codePath }) => codePath.startsWith("entry.outputs"));
  const others = diagnostics
    .filter((one) => !ofOutputs.includes(one))
    .map((one) => ({ ...one, codePath: "" }));
  if (file !== undefined && ofOutputs.length === 0) return new DiagnosticsError(others);
  const plain = ofOutputs.map((one) => ({ ...one, codePath: one.codePath.slice("entry.".length) }));
  return new UsageError(
    [
      ...(others.length === 0 ? [] : [lines(others, file ?? write("prompt"))]),
      ...(plain.length === 0 ? [] : [lines(plain, write("outputs"))]),
    ].join("\n"),
  );
}

function lines(diagnostics: readonly Diagnostic[], option: string): string {
  return diagnostics
    .map(({ codePath, reason, hint }) =>
      diagnosticLine({ file: option, codePath, reason, ...defined({ hint }) }),
    )
    .join("\n");
}

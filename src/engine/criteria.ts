/** Judgments over the tool calls of a turn: pure, so that each rule reads like its statement. */
import { plural } from "../text/numbers.ts";
import { fenced } from "../text/harmless-text.ts";
import type { AvailabilityField } from "../events/decision.ts";
import { isAmong } from "../entry/glob.ts";
import type { JobTool, PreparedTask } from "../entry/model.ts";
import type { ChangedFile } from "../events/plan.ts";
import { UNKNOWN_TOOL } from "../events/session-activity.ts";
import type { Judged } from "./dialogue.ts";
import type { ToolCall, SessionTool, ToolAnswer } from "./ports.ts";
import type { FailedCommand } from "./run-command.ts";
import { CONTINUE_PROMPT } from "./send-prompt.ts";
import { argumentOf } from "./variables.ts";
import { isRecord } from "../text/guards.ts";
import { firstLine, visible } from "../text/truncate.ts";

export interface Verdict<Field> {
  /** `void`: the check does not hold, but no model answered no. */
  readonly kind: "holds" | "fails" | "void";
  readonly field: Field;
  readonly content: string;
  readonly reason: string;
}

export const ANSWER_CUT = "the answer was cut at the model's output limit";

export const EMPTY_VERDICT =
  "Your last answer was empty. Call job_boolean_true or job_boolean_false now.";

const PREREQUISITE_FAILED = "job_prerequisite_failed";

const verdicts = [
  "job_boolean_true",
  "job_boolean_false",
  PREREQUISITE_FAILED,
] as const satisfies JobTool[];

export function gaveVerdict(toolCalls: readonly ToolCall[]): boolean {
  return toolCalls.some(
    ({ name, succeeded }) => succeeded && verdicts.some((tool) => tool === name),
  );
}

/** Also of a tool that there isn't, if its name is written in another way: `Job-Boolean-False`, `functions.job_boolean_false`. */
function meansVerdict(name: string): boolean {
  const letters = lettersOf(name);
  return name === UNKNOWN_TOOL || verdicts.some((tool) => letters.endsWith(lettersOf(tool)));
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

/** Globs match a file by its former path, too. */
export function judgeChange(
  wanted: true | readonly string[],
  changed: readonly ChangedFile[] | undefined,
): Verdict<AvailabilityField> {
  if (changed === undefined) throw new Error("The change of the job was not computed.");
  const matching =
    wanted === true
      ? changed
      : changed.filter(({ path, previousPath = path }) =>
          [path, previousPath].some((one) => isAmong(wanted, one)),
        );
  const content = JSON.stringify(wanted);
  const count = matching.length;
  let reason = plural(count, "changed file");
  if (count === 0)
    reason = `no changed file matches ${[wanted]
      .flat()
      .map((glob) => JSON.stringify(glob))
      .join(", ")}`;
  if (changed.length === 0) reason = "the change is empty";
  return { kind: count === 0 ? "fails" : "holds", field: "change", content, reason };
}

/** Statement 11: files that can't be listed give no verdict. */
export async function judgeFiles(
  globs: readonly string[],
  isChanged: () => Promise<boolean>,
): Promise<Verdict<"changed">> {
  const common = { field: "changed", content: JSON.stringify(globs) } as const;
  try {
    if (await isChanged()) return { ...common, kind: "holds", reason: "a file has changed" };
    return { ...common, kind: "fails", reason: "no such file differs from the start of the task" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...common, kind: "void", reason: `the files could not be compared: ${why}` };
  }
}

/** Statement 10 of docs/internals/engine.md, first half: the task that finished last before this one must be in the list. */
export function judgePreviousTask(
  previousTasks: readonly string[],
  previousTask: string | undefined,
): Verdict<AvailabilityField> {
  const holds = previousTask !== undefined && previousTasks.includes(previousTask);
  let reason = `the previous task was "${previousTask}"`;
  if (!holds) reason += ", which is not in the list";
  if (previousTask === undefined) reason = "no task has finished before this one";
  const content = JSON.stringify(previousTasks);
  return { kind: holds ? "holds" : "fails", field: "previousTasks", content, reason };
}

/** There is no verdict if a call failed or the answer was cut: its intent is unknown. */
export function judgeCondition(
  purpose: "availability" | "criteria",
  condition: string,
  { toolCalls, fault, text }: Judged,
): Verdict<"condition"> {
  const content = JSON.stringify(condition);
  const verdict = (kind: Verdict<never>["kind"], reason: string) =>
    ({ kind, field: "condition", content, reason }) as const;
  const failed = toolCalls.find((call) => !call.succeeded && meansVerdict(call.name));
  if (failed !== undefined)
    return verdict("void", `a call of ${failed.name} failed, so there is no verdict`);
  if (fault !== undefined) return verdict("void", fault);
  const refused =
    purpose === "availability"
      ? toolCalls.findLast((call) => call.name === PREREQUISITE_FAILED)
      : undefined;
  if (refused !== undefined) return verdict("fails", refusalText(refused));
  const last = toolCalls.findLast(
    (call) => call.name === "job_boolean_true" || call.name === "job_boolean_false",
  );
  if (last === undefined)
    return verdict(
      "fails",
      `neither job_boolean_true nor job_boolean_false was called${writtenCalls(text, verdicts)}`,
    );
  const reason = `${last.name} was called: ${argumentOf(last) ?? ""}`;
  return verdict(last.name === "job_boolean_true" ? "holds" : "fails", reason);
}

/** Statement 11: why the task can't be done at all, by its own model. A task that must call the tool doesn't mean it so. */
export function prerequisiteFailure(
  { criteria }: PreparedTask,
  toolCalls: readonly ToolCall[],
): string | undefined {
  const call = toolCalls.findLast(({ name }) => name === PREREQUISITE_FAILED);
  if (call === undefined || criteria?.toolExecuted?.includes(PREREQUISITE_FAILED)) return undefined;
  return refusalText(call);
}

function refusalText(call: ToolCall): string {
  return `${PREREQUISITE_FAILED} was called: ${argumentOf(call) ?? ""}`;
}

/** Statement 11: the tools of the list that the last turn of the task session did not run successfully. */
export function missingTools(
  toolExecuted: readonly string[],
  toolCalls: readonly ToolCall[],
): readonly string[] {
  const executed = new Set(toolCalls.filter((call) => call.succeeded).map((call) => call.name));
  return [...new Set(toolExecuted)].filter((tool) => !executed.has(tool));
}

export const handedInOnce: readonly string[] = [
  "job_report",
  "job_result",
  "job_verdict",
  "job_prepare_document",
];

/** Statement 7a: whether anything but an answer shows that the task is done: criteria, or the job tools that the prompt names. */
export function isProven(
  { prompt, criteria }: PreparedTask,
  toolCalls: readonly ToolCall[],
): boolean {
  const { failureAction: _, runConditionInSameSession: __, ...checks } = criteria ?? {};
  if (Object.values(checks).some((check) => check !== undefined)) return true;
  const named = handedInOnce.filter((tool) => prompt[0].includes(tool));
  return named.length > 0 && missingTools(named, toolCalls).length === 0;
}

const callMarks =
  /<\/?(?:tool_calls?|function_calls?)>|<function=|<invoke name=|\[TOOL_CALLS\]|<\|(?:tool_call|python_tag)|"(?:name|function|tool|tool_name|recipient_name)"\s*:/;

interface Expected {
  readonly missing: readonly string[];
  readonly reason: string;
  readonly otherwise: string;
  readonly text: string;
}

export function calledVerdict({ missing, reason, otherwise, text }: Expected): {
  readonly kind: "holds" | "fails";
  readonly reason: string;
  readonly failed: FailedChecks;
} {
  if (missing.length === 0) return { kind: "holds", reason: otherwise, failed: {} };
  const written = writtenCalls(text, missing);
  return { kind: "fails", reason: reason + written, failed: { missing, asText: written !== "" } };
}

/** For the end of a reason. The text is only looked at, and no call in it is run: it may quote somebody. */
function writtenCalls(text: string, tools: readonly string[]): string {
  const isWritten =
    callMarks.test(text) &&
    tools.some((tool) => text.includes(tool) || text.includes(tool.replace("/", "-")));
  return isWritten ? AS_TEXT : "";
}

/** The end of a sentence. */
export const NO_CALLS =
  "Check the chat template and the tool parser of the model server (llama.cpp: --jinja), write `protocol: actions` into the task, whose model then needs no function calls, or choose another model";
const AS_TEXT = ". The model writes its calls as text";

/** For the end of a task. The model, and each retry, are told only the reason. */
export function withCallAdvice(reason: string): string {
  return reason.endsWith(AS_TEXT) ? `${reason}. ${NO_CALLS}` : reason;
}

export interface FailedChecks {
  readonly missing?: readonly string[];
  /** The model wrote the calls of the missing tools as text. */
  readonly asText?: boolean;
  readonly commands?: readonly FailedCommand[];
  /** Globs of which no file has changed. */
  readonly unchanged?: readonly string[];
}

/** Statement 12: what a retry sends. Parts are one empty line apart. */
export function retryPrompt(
  { prompt, criteria, protocol }: PreparedTask,
  failed: FailedChecks,
): readonly [string] {
  const parts = [withoutEnd(prompt[0]), ...partsOf(failed, protocol)];
  const additional = criteria?.failureAction.additionalPrompt;
  if (additional !== undefined)
    parts.push(`## You accidentally Stopped\n${withoutEdges(additional[0])}`);
  return [parts.join("\n\n")];
}

/** Statement 7a. */
export function continuePrompt(failed: FailedChecks): readonly [string] {
  return [[CONTINUE_PROMPT, ...partsOf(failed)].join("\n\n")];
}

function partsOf(failed: FailedChecks, protocol?: PreparedTask["protocol"]): readonly string[] {
  const { missing = [], asText = false, commands = [], unchanged } = failed;
  const parts: string[] = [];
  if (unchanged !== undefined)
    parts.push(
      `## No File Changed\nNo file that matches ${unchanged.join(", ")} differs from the start of this task. Change the files with your tools; what you write in an answer changes none.`.replaceAll(
        "$",
        "$$$$",
      ),
    );
  for (const { name, how, tail } of commands) {
    // Data: no variable in it is expanded, and no line of it is read as a heading.
    const title = name.replaceAll(/\s+/gu, " ");
    const end = tail === "" ? "It printed nothing." : fenced(tail);
    parts.push(`## Check Failed: ${title} (${how})\n${end}`.replaceAll("$", "$$$$"));
  }
  if (missing.length > 0) {
    const wrote = asText ? "You wrote the call as text, which has no effect. " : "";
    const tools = missing.length === 1 ? "as a tool" : "as tools, not in text";
    const what = protocol === undefined ? tools : "through actions of your document";
    parts.push(
      `## Required Tool Not Called: ${missing.join(", ")}\n${wrote}Call ${missing.join(" and ")} ${what}.`,
    );
  }
  return parts;
}

/** Removes the line breaks that YAML's block text brings: parts are one empty line apart. */
function withoutEdges(text: string): string {
  return withoutEnd(text).replace(/^(?:\r?\n)+/, "");
}

/** Looks at each character once, however many line breaks there are elsewhere. */
function withoutEnd(text: string): string {
  return text.replace(/(?<!\n|\n\r)(?:\r?\n)+$/, "");
}

/* The model gives a verdict, or names a document, with these tools. Each takes one text. */

const descriptions: Readonly<Record<JobTool, readonly [tool: string, argument: string]>> = {
  job_prepare_document: [
    "Names a document that you were asked to prepare. One line is kept, its path or title, for this run of this task: the checks and retries of the task are told it. The content is not kept. If you call it several times, the last call counts.",
    "The path or the title of the document, in one line; further lines are dropped.",
  ],
  job_boolean_true: [
    "Reports that the condition you were asked to check HOLDS. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition holds.",
  ],
  job_boolean_false: [
    "Reports that the condition you were asked to check does NOT hold. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition does not hold.",
  ],
  job_prerequisite_failed: [
    "Reports that the task can't be done at all because something it needs is missing or wrong. The task then ends as failed, and is not retried. In a check after the task it changes nothing.",
    "What is missing or wrong.",
  ],
};

const DECIDED = "Reported. Nothing else is needed for the verdict.";

export function verdictTools(names: readonly JobTool[]): readonly SessionTool[] {
  return names.map((name) => {
    const [description, argument] = descriptions[name];
    return {
      name,
      description,
      parameters: {
        type: "object",
        properties: { argument: { type: "string", description: argument } },
        required: ["argument"],
        additionalProperties: false,
      },
      allowed: "always",
      run: (given) => answer(name, given),
    };
  });
}

/** The runtime checks no arguments, and hides a thrown text from the model: an error is a result. */
function answer(name: JobTool, given: unknown): ToolAnswer {
  const argument = isRecord(given) ? given["argument"] : undefined;
  const isDocument = name === "job_prepare_document";
  if (typeof argument === "string" && (!isDocument || visible.test(firstLine(argument))))
    return { succeeded: true, text: name.startsWith("job_boolean") ? DECIDED : "Reported." };
  const next = isDocument
    ? "Call it again, with the path or the title in the first line."
    : "A call that fails leaves the check of this turn without a verdict.";
  const text = `${name} takes one parameter named "argument", and it must be a string. ${next}`;
  return { succeeded: false, text };
}

/** What a recording writes of one turn: enough of its prompt, the answers, and how it crashed. */
import { crashRemedy, crashStatus, type Crash } from "../../events/crash.ts";
import type { AnswerFinish, ModelReplied, ToolError } from "../../events/session-activity.ts";
import type { ConditionField } from "../format/schema-parts.ts";
import type { ReplyFields } from "../format/rehearsal-schema.ts";
import { takeOut, type Places } from "../format/text-condition.ts";
import { defined, isRecord } from "../../document/guards.ts";
import { MASK } from "../../redaction/text-stream.ts";

const LONGEST_LINE = 200;

/**
 * Its first and its last line: the crash prefix, the task, and what a retry adds. What stands where a secret stood is
 * left out: a replay knows the secret, or another one.
 */
export function recordedPrompt(prompt: string, places: Places): ConditionField | undefined {
  // The runtime sends a prompt without white space at its end.
  const lines = prompt
    .trimEnd()
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "");
  const ends = [lines[0] ?? "", lines.at(-1) ?? ""];
  const pieces = ends.flatMap((line) => line.slice(0, LONGEST_LINE).split(MASK));
  const contains = [...new Set(pieces)]
    .filter((piece) => piece.trim() !== "")
    .map((piece) => takeOut(piece, places));
  const [only] = contains;
  if (only === undefined) return undefined;
  return contains.length === 1 ? only : { contains };
}

/** What the runtime has accounted for since the last answer. */
export interface RecordedUsage {
  readonly input: number;
  readonly output: number;
  readonly finish?: AnswerFinish;
}

/** A reply that learns later how its tool calls ended. */
export interface RecordedReply {
  fields: ReplyFields;
  /** The ids of its calls. A repeated id is ambiguous. */
  readonly callIds: readonly (string | undefined)[];
}

export function recordedReply(
  { text, reasoning = "", toolCalls }: ModelReplied,
  used: RecordedUsage | undefined,
  places: Places,
): RecordedReply {
  const tools = toolCalls.map(({ name, arguments: given }) => ({
    name,
    arguments: recordedArguments(given, places),
  }));
  const { finish, ...usage } = used ?? { input: 0, output: 0 };
  const callIds = toolCalls.map(({ id }) => id);
  const fields = {
    ...(reasoning === "" ? {} : { reasoning: takeOut(reasoning, places) }),
    ...(text === "" && tools.length > 0 ? {} : { text: takeOut(text, places) }),
    ...(tools.length === 0 ? {} : { tools }),
    ...defined({ finish }),
    ...(usage.input === 0 && usage.output === 0 ? {} : { usage }),
  };
  return {
    fields,
    callIds: callIds.map((id, at) => (callIds.indexOf(id, at + 1) === -1 ? id : undefined)),
  };
}

function recordedArguments(
  given: unknown,
  places: Places,
): string | Readonly<Record<string, unknown>> {
  if (typeof given === "string") return takeOut(given, places);
  const copy: unknown = JSON.parse(
    JSON.stringify(given ?? {}, (_key, value: unknown) =>
      typeof value === "string" ? takeOut(value, places) : value,
    ),
  );
  return isRecord(copy) ? copy : JSON.stringify(copy);
}

/**
 * The reply that makes a turn crash as it did; undefined if its last answer does so already. Crashes
 * without a status become a 408: like them it is worth a retry, and it takes no time. So does a death of
 * the runtime beside other works: a replay would not hit their sessions where the run did, so each
 * crashes for itself.
 */
export function playedCrash(
  crash: Crash,
  overlapped: boolean,
  last: ReplyFields | undefined,
): ReplyFields | undefined {
  switch (crash.cause) {
    case "runtime-died":
      return overlapped ? { error: { status: 408, message: crash.message } } : { die: true };
    case "deadline":
      return { hang: true };
    case "empty-answer":
    case "filtered":
      return last === undefined ? { text: "" } : undefined;
    // The same denials end the turn again.
    case "denied":
      return undefined;
    default: {
      if (last?.finish === "error") return undefined;
      const status = crashStatus(crash) ?? (crashRemedy(crash).kind === "give-up" ? 401 : 408);
      return { error: { status: Math.min(Math.max(status, 400), 599), message: crash.message } };
    }
  }
}

const NO_SUCH_TOOL = /^Tool '.+' does not exist/;

/**
 * A call that failed, or was denied, says so in the recording: else its replay would be red. The newest call of that
 * id is meant, because some models number theirs anew in every answer.
 */
export function markFailed(
  replies: readonly RecordedReply[],
  callId: string,
  { message, code }: ToolError,
  places: Places,
): void {
  // It was stopped with its turn, and the replay stops it again.
  if (code === "unfinished") return;
  const reply = replies.findLast(({ callIds }) => callIds.includes(callId));
  if (reply === undefined) return;
  const { tools = [] } = reply.fields;
  const marked = tools.map((tool, index) => {
    if (reply.callIds[index] !== callId) return tool;
    if (code === "denied") return { ...tool, denied: true as const };
    if (NO_SUCH_TOOL.test(message)) return { ...tool, unknown: true as const };
    return { ...tool, fails: takeOut(lastingPart(message), places) };
  });
  reply.fields = { ...reply.fields, tools: marked };
}

/** The longest part of the first line that contains no secret. */
function lastingPart(message: string): string {
  const line = message.split(/\r?\n/).find((one) => one.trim() !== "") ?? "";
  const pieces = line.split(MASK).map((piece) => piece.trim().slice(0, LONGEST_LINE));
  return pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), "");
}

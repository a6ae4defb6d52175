import { defined, isRecord } from "../../text/guards.ts";
import { crashRemedy, crashStatus, type Crash } from "../../events/crash.ts";
import type { SessionStarted, WorkRef } from "../../events/event.ts";
import type { AnswerFinish, ModelReplied, ToolError } from "../../events/session-activity.ts";
import { MASK } from "../../redaction/secret-search.ts";
import type { ReplyFields, RuleFields, ToolField, TurnFields } from "../format/rehearsal-schema.ts";
import type { Condition } from "../format/expect.ts";
import { takeOut, type Places } from "../format/names.ts";
import type { RecordedStep } from "./recorded-workflows.ts";

export interface RecordedTurn {
  readonly prompt: string;
  readonly replies: ReplyFields[];
  /** `open`: the run ended before the turn did. */
  state: "open" | "completed" | "crashed" | "canceled";
  crash: Crash | undefined;
  readonly step: RecordedStep | undefined;
}

interface RecordedSubAgent {
  readonly replies: ReplyFields[];
  readonly step: RecordedStep | undefined;
}

export interface RecordedSession {
  readonly work: WorkRef;
  readonly role: SessionStarted["role"] | undefined;
  readonly retry: number;
  readonly attempt: number;
  readonly turns: RecordedTurn[];
  readonly subAgents: RecordedSubAgent[];
  /** The newest call of each id: some models number theirs anew in every answer. */
  readonly calls: Map<string, ToolField>;
  readonly subAgentCalls: Map<string, ToolField>;
  /** Reported, but the reply that it belongs to is still to come. */
  usage: RecordedUsage | undefined;
}

export interface ReplayContext {
  /** The entry is a workflow, so its work is the only one. */
  readonly isWorkflow: boolean;
  readonly places: Places;
  /** The works that ran beside others. */
  readonly overlapped: ReadonlySet<number>;
  /** A replay may stop these at another point than the run did. */
  readonly torn: boolean;
}

type Recorded = Omit<RuleFields, "turns"> & { readonly turns: TurnFields[]; optional?: true };

/** For each session or activity of a workflow. A rule names only in what it differs from the first of its work. */
export function recordedRules(
  sessions: readonly RecordedSession[],
  context: ReplayContext,
): readonly RuleFields[] {
  const rules = new Map<string, Recorded>();
  const subAgents: RuleFields[] = [];
  for (const [index, { work, role, retry, attempt, turns, ...session }] of sessions.entries()) {
    const isOverlapped = context.overlapped.has(work.workId);
    const differs = context.torn && isOverlapped;
    const ofWork = workSelectors(work, context);
    const ofSession = {
      ...ofWork,
      ...(role === "task" || role === "driving" ? { role } : {}),
      ...(retry > 0 && { retry }),
      ...(attempt > 1 && { attempt }),
    };
    for (const turn of turns) {
      const activity = turn.step?.activity;
      const of = activity === undefined ? [index] : [work.workId, work.iteration, activity];
      const key = JSON.stringify(of);
      const selectors = activity === undefined ? ofSession : { ...ofWork, activity };
      const rule: Recorded = rules.get(key) ?? { ...selectors, turns: [] };
      rules.set(key, rule);
      if (differs || isUnfinished(turn)) rule.optional = true;
      rule.turns.push(turnFields(turn, isOverlapped, context.places));
    }
    // Where the run was stopped between two turns a replay may have come further.
    if (differs && turns.at(-1)?.state === "completed") rules.get(`[${index}]`)?.turns.push(hang);
    const isUnsure = differs || turns.some(isUnfinished);
    for (const { replies, step } of session.subAgents) {
      subAgents.push({
        ...(step === undefined ? ofSession : { ...ofWork, ...step }),
        subAgent: true,
        ...(isUnsure ? ({ optional: true } as const) : {}),
        turns: [{ replies }],
      });
    }
  }
  return [...rules.values(), ...subAgents];
}

const hang = { hang: true } as const;

function workSelectors(
  { taskId: task, workId, item, iteration }: WorkRef,
  { isWorkflow }: ReplayContext,
): Omit<RuleFields, "turns"> {
  if (isWorkflow) return {};
  if (item !== undefined) return { task, workId, item };
  return { task, workId, ...(iteration > 1 && { iteration }) };
}

function isUnfinished({ state }: RecordedTurn): boolean {
  return state === "open" || state === "canceled";
}

function turnFields(turn: RecordedTurn, overlapped: boolean, places: Places): TurnFields {
  const { prompt: sent, replies, crash } = turn;
  const prompt = recordedPrompt(sent, places);
  const all = [...replies];
  const last = all.at(-1);
  const end = isUnfinished(turn) ? hang : crash && playedCrash(crash, overlapped, last);
  if (end !== undefined) {
    // An answer without tools ends a turn: what follows can only come in its place.
    if (last !== undefined && last.tools === undefined) all.pop();
    all.push(end);
  }
  const [only = { text: "" }] = all;
  return { ...defined({ prompt }), ...(all.length > 1 ? { replies: all } : only) };
}

const LONGEST_LINE = 200;

/** Leaves out masked secrets: a replay has the secret, or another one. */
function recordedPrompt(prompt: string, places: Places): Condition | undefined {
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

interface RecordedUsage {
  readonly input: number;
  readonly output: number;
  readonly finish?: AnswerFinish;
}

/** Adds the calls of the reply to `calls`. */
export function recordedReply(
  { text, reasoning = "", toolCalls }: ModelReplied,
  used: RecordedUsage | undefined,
  calls: Map<string, ToolField>,
  places: Places,
): ReplyFields {
  const tools = toolCalls.map(({ id, name, arguments: given }) => {
    const tool: ToolField = { name, arguments: recordedArguments(given, places) };
    if (id !== undefined) calls.set(id, tool);
    return tool;
  });
  const { finish, ...usage } = used ?? { input: 0, output: 0 };
  return {
    ...(reasoning === "" ? {} : { reasoning: takeOut(reasoning, places) }),
    ...(text === "" && tools.length > 0 ? {} : { text: takeOut(text, places) }),
    ...(tools.length === 0 ? {} : { tools }),
    ...defined({ finish }),
    ...(usage.input === 0 && usage.output === 0 ? {} : { usage }),
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
 * Undefined if the last answer crashes the turn already. Crashes without a status become a 408, which is worth a retry,
 * too; so does a death of the runtime beside other works, whose sessions it would not hit as in the run.
 */
function playedCrash(
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
    // A replay ends the turn by the same denials.
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

/** How a call must end in the replay, which would be red otherwise. */
export function failureFields(
  { message, code }: ToolError,
  places: Places,
): Pick<ToolField, "denied" | "unknown" | "fails"> {
  // It was stopped with its turn, and the replay stops it again.
  if (code === "unfinished") return {};
  if (code === "denied") return { denied: true };
  if (NO_SUCH_TOOL.test(message)) return { unknown: true };
  return { fails: takeOut(lastingPart(message), places) };
}

/** The longest part of the first line that contains no secret. */
function lastingPart(message: string): string {
  const line = message.split(/\r?\n/).find((one) => one.trim() !== "") ?? "";
  const pieces = line.split(MASK).map((piece) => piece.trim().slice(0, LONGEST_LINE));
  return pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), "");
}

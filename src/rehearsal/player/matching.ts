/** Which rule plays a session or a prompt of an activity, and which parts of a script were used. */
import type { ModelRequest } from "../../sessions/request-handler.ts";
import { namesActivity } from "../format/names.ts";
import type { Reply, Rule, Turn, ToolUse } from "../format/script.ts";
import { type Fill, mismatch, quote } from "../format/text-condition.ts";
import type { ChatRequest } from "./wire.ts";
import type { SessionActivity, ToolError } from "../../events/session-activity.ts";

type Chosen =
  | { readonly kind: "chosen"; readonly rule: PlayedRule; readonly turn: number }
  | { readonly kind: "none"; readonly why: string };

/** `before`: earlier prompts of the session. */
export function chooseRule(
  rules: readonly PlayedRule[],
  request: ModelRequest,
  chat: ChatRequest,
  fill: Fill,
  before: number,
): Chosen {
  let nearest = { distance: Infinity, why: "The rehearsal has no rules." };
  for (const candidate of rules) {
    const { place, task: wanted, repeat = 1, turns } = candidate.rule;
    const turn = nextTurn(candidate, request);
    const conflicts = selectorConflicts(candidate.rule, request, chat);
    const condition = turns[turn ?? 0]?.prompt;
    const differs = condition && mismatch(condition, chat.prompts[before] ?? "", fill);
    if (differs !== undefined) {
      const which = turn ? `turn ${turn + 1}` : "first turn";
      conflicts.push(`its ${which} doesn't match: the prompt ${differs}`);
    }
    if (turn === undefined) conflicts.push(`it is used up (repeat: ${repeat})`);
    else if (conflicts.length === 0) return { kind: "chosen", rule: candidate, turn };
    // A rule for another task is further away than one for another run of the same task.
    const task = request.label?.taskId;
    const distance = conflicts.length + ((wanted ?? task) === task ? 0 : 10);
    if (distance < nearest.distance) {
      nearest = { distance, why: `The nearest rule is ${place}: ${conflicts.join("; ")}.` };
    }
  }
  return { kind: "none", why: nearest.why };
}

function selectorConflicts(
  rule: Rule,
  { label, subAgent }: ModelRequest,
  chat: ChatRequest,
): string[] {
  const conflicts: string[] = [];
  const { activity, subAgent: isForSubAgent = false } = rule;
  if (isForSubAgent !== subAgent)
    conflicts.push(isForSubAgent ? "it is for a sub-agent" : "it is not for a sub-agent");
  const current = label?.activity;
  if (activity !== undefined && (current === undefined || !namesActivity(activity, current))) {
    const is = current ? `not ${current.file}#${current.id}` : "this prompt has none";
    conflicts.push(`it is for the activity ${activity}, ${is}`);
  }
  const actual = {
    task: label?.taskId,
    role: label?.role === "both" ? rule.role : label?.role,
    // A sub-agent may have its own model.
    model: subAgent ? chat.model : (label?.modelId ?? chat.model),
    workId: label?.workId,
    iteration: label?.iteration,
    item: label?.item,
    retry: label?.retry,
    attempt: label?.attempt,
    hit: current?.hit,
  };
  for (const name of names) {
    const [wanted, is] = [rule[name], actual[name]];
    if (wanted === undefined || wanted === is) continue;
    const other = is === undefined ? "this session has none" : `not ${show(is)}`;
    conflicts.push(`it is for ${name} ${show(wanted)}, ${other}`);
  }
  return conflicts;
}

const names = [
  "task",
  "role",
  "model",
  "workId",
  "iteration",
  "item",
  "retry",
  "attempt",
  "hit",
] as const satisfies readonly (keyof Rule)[];

export function describeRequest({ label, subAgent }: ModelRequest, chat: ChatRequest): string {
  const of = subAgent ? "a sub-agent of " : "";
  const prompt = `with the prompt ${quote(chat.prompts.at(-1) ?? "")}`;
  if (label === undefined) return `${of}a session of no task (model ${show(chat.model)}) ${prompt}`;
  const { activity, taskId, workId, iteration, item, role, modelId, retry, attempt } = label;
  const sender =
    activity && `${activity.id} (file ${show(activity.file)}, hit ${activity.hit}) in `;
  const shown = item === undefined ? "" : `, item ${show(item)}`;
  return `${of}${sender ?? ""}a session of task ${show(taskId)} (workId ${workId}, iteration ${iteration}${shown}, role ${role}, model ${show(modelId)}, retry ${retry}, attempt ${attempt}) ${prompt}`;
}

function show(value: string | number): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

export interface PlayedRule {
  readonly rule: Rule;
  /** How many sessions it has played, or how often it has begun with its turns. */
  used: number;
  /** For a rule of an activity: the next turn, by the run of the workflow. */
  readonly next: Map<string, number>;
  /** The turns and replies that were played, by any session. */
  readonly played: Set<Turn | Reply>;
  /** The longest series of requests that got a reply, in any session. */
  readonly given: Map<Reply, number>;
}

export function playsActivity({ activity, subAgent }: Rule): boolean {
  return activity !== undefined && subAgent !== true;
}

/** The turn for the next prompt or session, by its index; undefined if the rule is used up. */
function nextTurn(
  { rule, used, next }: Pick<PlayedRule, "rule" | "used" | "next">,
  { label }: ModelRequest,
): number | undefined {
  const turn = next.get(runOf(label)) ?? 0;
  if (turn > 0 && turn < rule.turns.length) return turn;
  const { repeat = 1 } = rule;
  return repeat === "any" || used < repeat ? 0 : undefined;
}

export function use(played: PlayedRule, turn: number, { label }: ModelRequest): void {
  if (turn === 0) played.used += 1;
  if (playsActivity(played.rule)) played.next.set(runOf(label), turn + 1);
}

function runOf(label: ModelRequest["label"]): string {
  return `${label?.workId} ${label?.iteration}`;
}

export function unusedParts({ rule, used, played, given }: PlayedRule): string[] {
  const { optional, repeat = 1 } = rule;
  if (optional === true) return [];
  const sender = playsActivity(rule) ? rule.activity : undefined;
  if (used === 0) {
    const what = sender === undefined ? "no session" : `no prompt of ${sender}`;
    return [`${rule.place} was never used: ${what} matched it.`];
  }
  const missing: string[] = [];
  if (repeat !== "any" && used < repeat) {
    missing.push(
      sender === undefined
        ? `${rule.place} was used by ${used} of ${repeat} sessions.`
        : `${rule.place} was played ${used} of ${repeat} times by ${sender}.`,
    );
  }
  for (const turn of rule.turns) {
    for (const text of unusedIn(turn, sender ?? "the session", played, given)) missing.push(text);
  }
  return missing;
}

function unusedIn(
  turn: Turn,
  sender: string,
  played: ReadonlySet<Turn | Reply>,
  given: ReadonlyMap<Reply, number>,
): string[] {
  if (!played.has(turn))
    return [`${turn.place} was never played: ${sender} sent no further prompt.`];
  return turn.replies.flatMap((reply, index) => {
    if (reply.implied === true) return [];
    if (!played.has(reply)) {
      const before = turn.replies[index - 1];
      const ends = before?.kind === "answer" && before.tools.length === 0;
      const hint = ends ? " A reply that calls no tool ends the turn." : "";
      return [`${reply.place} was never sent.${hint}`];
    }
    const { times } = reply;
    const count = given.get(reply) ?? 0;
    return times === undefined || count >= times
      ? []
      : [`${reply.place} was sent ${count} of ${times} times.`];
  });
}

interface Call {
  readonly tool: ToolUse;
  returned: string | undefined;
  ending: "open" | "succeeded" | ToolError;
}

/** Calls of one answer run side by side, so they are distinguished by id, never by their place in the list. */
export class ToolCalls {
  readonly #calls = new Map<string, Call>();
  readonly #fill: (template: string) => string;

  constructor(fill: (template: string) => string) {
    this.#fill = fill;
  }

  /** A call that was sent to the runtime; sent again, it is the same one. */
  given(callId: string, tool: ToolUse): void {
    if (this.#calls.has(callId)) return;
    this.#calls.set(callId, { tool, returned: undefined, ending: "open" });
  }

  returned(callId: string, text: string): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) call.returned = text;
  }

  observe(activity: SessionActivity): void {
    if (activity.kind !== "tool.ended" && activity.kind !== "sub-agent.tool.failed") return;
    const call = this.#calls.get(activity.toolCallId);
    if (call === undefined) return;
    const succeeded = activity.kind === "tool.ended" && activity.succeeded;
    call.ending = succeeded ? "succeeded" : (activity.error ?? { message: "" });
  }

  failures(): readonly string[] {
    const failures = [...this.#calls.values()].flatMap((call) => {
      const why = this.#judge(call);
      if (why === undefined) return [];
      return [`${call.tool.place}: the call of ${JSON.stringify(call.tool.name)} ${why}`];
    });
    return [...new Set(failures)];
  }

  #judge({ tool, returned, ending }: Call): string | undefined {
    // Calls of a sub-agent are only reported if they fail.
    const succeeded = ending === "succeeded" || (ending === "open" && returned !== undefined);
    const error = typeof ending === "string" || ending.code === "unfinished" ? undefined : ending;
    const message = error === undefined ? "" : error.message || (returned ?? "");
    if (tool.denied === true) {
      if (error?.code === "denied") return undefined;
      return `should have been denied, but it ${ended(succeeded, message)}.`;
    }
    const fails = tool.fails ?? (tool.unknown === true ? "" : undefined);
    if (fails !== undefined) {
      const text = this.#fill(fails);
      if (error === undefined) {
        const wanted = text === "" ? "" : ` with ${quote(text)}`;
        return `should have failed${wanted}, but it ${ended(succeeded, "")}.`;
      }
      if (message.includes(text) || (returned ?? "").includes(text)) return undefined;
      return `should have failed with ${quote(text)}, but its error is ${quote(message)}.`;
    }
    // A call that was stopped with its turn has not failed. The turn reports what happened.
    if (error === undefined) return undefined;
    return error.code === "denied"
      ? `was denied: ${quote(message.replace(runtimePrefix, ""))}. If this is expected, add "denied: true" to the call.`
      : `failed: ${quote(message)}. If this is expected, add "fails: TEXT" to the call, with a part of this error.`;
  }
}

function ended(succeeded: boolean, message: string): string {
  if (succeeded) return "succeeded";
  return message === "" ? "did not end" : `failed: ${quote(message)}`;
}

/** Before the sentence of agent-jobs. */
const runtimePrefix = /^.*?Denied: /s;

/** Which rule plays a session or a prompt of an activity, and which parts of a script were used. */
import type { ModelRequest } from "../../sessions/request-handler.ts";
import { namesActivity } from "../format/names.ts";
import type { Reply, Rule, Turn } from "../format/script.ts";
import { type Fill, mismatch, quote } from "../format/text-condition.ts";
import type { ChatRequest } from "./wire.ts";

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

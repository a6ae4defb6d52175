/** Which rule plays a new session or a prompt of an activity, and, if there is none, which came nearest and what keeps it from fitting. */
import type { ModelRequest } from "../../sessions/transport.ts";
import { namesActivity, writtenName } from "../format/activity-name.ts";
import type { Selectors } from "../format/script.ts";
import { mismatch, quote } from "../format/text-condition.ts";
import { nextTurn, type PlayedRule } from "./usage.ts";
import type { ChatRequest } from "./wire.ts";

type Fill = (template: string) => string;

/** `turn`: the index of the one that plays the prompt. */
type Chosen =
  | { readonly kind: "chosen"; readonly rule: PlayedRule; readonly turn: number }
  | { readonly kind: "none"; readonly why: string };

/** The first rule that fits, or in words which rule came nearest. `before`: earlier prompts of the session. */
export function chooseRule(
  rules: readonly PlayedRule[],
  request: ModelRequest,
  chat: ChatRequest,
  fill: Fill,
  before: number,
): Chosen {
  let nearest = { distance: Infinity, why: "The rehearsal has no rules." };
  for (const candidate of rules) {
    const { place, selectors, repeat, turns } = candidate.rule;
    const turn = nextTurn(candidate, request);
    const conflicts = selectorConflicts(selectors, request, chat);
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
    const distance = conflicts.length + ((selectors.task ?? task) === task ? 0 : 10);
    if (distance < nearest.distance) {
      nearest = { distance, why: `The nearest rule is ${place}: ${conflicts.join("; ")}.` };
    }
  }
  return { kind: "none", why: nearest.why };
}

function selectorConflicts(
  selectors: Selectors,
  { label, subAgent }: ModelRequest,
  chat: ChatRequest,
): string[] {
  const conflicts: string[] = [];
  if (selectors.subAgent !== subAgent) {
    conflicts.push(selectors.subAgent ? "it is for a sub-agent" : "it is not for a sub-agent");
  }
  const { activity } = selectors;
  const current = label?.activity;
  if (activity !== undefined && (current === undefined || !namesActivity(activity, current))) {
    const is = current === undefined ? "this prompt has none" : `not ${writtenName(current)}`;
    conflicts.push(`it is for the activity ${writtenName(activity)}, ${is}`);
  }
  const actual = {
    task: label?.taskId,
    role: label?.role === "both" ? selectors.role : label?.role,
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
    const [wanted, is] = [selectors[name], actual[name]];
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
] as const satisfies readonly (keyof Selectors)[];

/** The request in words: whose it is, and its prompt. */
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

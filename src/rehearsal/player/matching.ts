/** Which rule plays a new session or a prompt of an activity, and, if there is none, which came nearest and what keeps it from fitting. */
import type { ModelRequest } from "../../sessions/transport.ts";
import { namesActivity, writtenName } from "../format/activity-name.ts";
import type { Rule } from "../format/script.ts";
import { mismatch, quote } from "../format/text-condition.ts";
import { nextTurn, type PlayedRule } from "./usage.ts";
import type { ChatRequest } from "./wire.ts";

type Candidate = Pick<PlayedRule, "rule" | "used" | "next">;

type Fill = (template: string) => string;

/** `turn`: the index of the one that plays the prompt. */
type Chosen<T> =
  | { readonly kind: "chosen"; readonly rule: T; readonly turn: number }
  | { readonly kind: "none"; readonly why: string };

/** The first rule that fits, or in words which rule came nearest. */
export function chooseRule<T extends Candidate>(
  candidates: readonly T[],
  request: ModelRequest,
  chat: ChatRequest,
  fill: Fill,
  /** Prompts of the session before the one that is to be played. */
  before = 0,
): Chosen<T> {
  let nearest: { readonly distance: number; readonly why: string } | undefined;
  for (const candidate of candidates) {
    const { rule } = candidate;
    const conflicts = selectorConflicts(rule, request, chat);
    const turn = nextTurn(candidate, request);
    const spent = turn === undefined;
    const prompt = promptConflict(rule, turn ?? 0, chat.prompts[before] ?? "", fill);
    if (conflicts.length === 0 && prompt === undefined && !spent) {
      return { kind: "chosen", rule: candidate, turn };
    }
    const distance =
      conflicts.reduce((sum, { weight }) => sum + weight, 0) +
      (prompt === undefined ? 0 : 2) +
      (spent ? 1 : 0);
    if (distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      const why = [
        ...conflicts.map(({ text }) => text),
        ...(prompt === undefined ? [] : [prompt]),
        ...(spent ? [`it is used up (repeat: ${rule.repeat})`] : []),
      ];
      nearest = { distance, why: `The nearest rule is ${rule.place}: ${why.join("; ")}.` };
    }
  }
  return { kind: "none", why: nearest?.why ?? "The rehearsal has no rules." };
}

interface Conflict {
  readonly text: string;
  /** A rule for another task is further away than one for another run of the same task. */
  readonly weight: number;
}

function selectorConflicts(
  { selectors }: Rule,
  { label, subAgent }: ModelRequest,
  chat: ChatRequest,
): Conflict[] {
  const conflicts: Conflict[] = [];
  const compare = (
    name: Exclude<keyof Rule["selectors"], "activity" | "subAgent">,
    actual: string | number | undefined,
    weight: number,
  ): void => {
    const wanted = selectors[name];
    if (wanted === undefined || wanted === actual) return;
    const is = actual === undefined ? "this session has none" : `not ${show(actual)}`;
    conflicts.push({ text: `it is for ${name} ${show(wanted)}, ${is}`, weight });
  };
  if (selectors.subAgent !== subAgent) {
    const text = selectors.subAgent ? "it is for a sub-agent" : "it is not for a sub-agent";
    conflicts.push({ text, weight: 8 });
  }
  compare("task", label?.taskId, 8);
  if (label?.role !== "both") compare("role", label?.role, 4);
  // A sub-agent may have its own model.
  compare("model", subAgent ? chat.model : (label?.modelId ?? chat.model), 4);
  for (const name of ["workId", "iteration", "item", "retry", "attempt"] as const)
    compare(name, label?.[name], 4);
  const { activity } = selectors;
  const current = label?.activity;
  if (activity !== undefined && (current === undefined || !namesActivity(activity, current))) {
    const is =
      current === undefined
        ? "this prompt has none"
        : `not ${activity.file === undefined ? current.id : writtenName(current)}`;
    conflicts.push({ text: `it is for the activity ${writtenName(activity)}, ${is}`, weight: 6 });
  }
  compare("hit", current?.hit, 3);
  return conflicts;
}

function promptConflict(
  { turns }: Rule,
  turn: number,
  prompt: string,
  fill: Fill,
): string | undefined {
  const condition = turns[turn]?.prompt;
  const why = condition === undefined ? undefined : mismatch(condition, prompt, fill);
  if (why === undefined) return undefined;
  return `its ${turn === 0 ? "first turn" : `turn ${turn + 1}`} doesn't match: the prompt ${why}`;
}

/** The request in words: whose it is, and its prompt. */
export function describeRequest({ label, subAgent }: ModelRequest, chat: ChatRequest): string {
  const session =
    label === undefined
      ? `a session of no task (model ${show(chat.model)})`
      : `${activityOf(label)}a session of task ${show(label.taskId)} (workId ${label.workId}, iteration ${label.iteration}${label.item === undefined ? "" : `, item ${show(label.item)}`}, role ${label.role}, model ${show(label.modelId)}, retry ${label.retry}, attempt ${label.attempt})`;
  return `${subAgent ? "a sub-agent of " : ""}${session} with the prompt ${quote(chat.prompts.at(-1) ?? "")}`;
}

function activityOf({ activity }: NonNullable<ModelRequest["label"]>): string {
  if (activity === undefined) return "";
  const { id, file, hit } = activity;
  return `${id} (file ${show(file)}, hit ${hit}) in `;
}

function show(value: string | number): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

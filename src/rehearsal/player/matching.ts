/** Which rule plays a new session, and, if there is none, which came nearest and what keeps it from fitting. */
import type { ModelRequest } from "../../sessions/transport.ts";
import type { Rule } from "../format/script.ts";
import { mismatch, quote } from "../format/text-condition.ts";
import type { ChatRequest } from "./wire.ts";

export interface Candidate {
  readonly rule: Rule;
  /** How many sessions it has played. */
  readonly used: number;
}

type Fill = (template: string) => string;

function usedUp({ rule, used }: Candidate): boolean {
  return rule.repeat !== "any" && used >= rule.repeat;
}

/** The first rule that fits, or in words which rule came nearest. */
export function chooseRule<T extends Candidate>(
  candidates: readonly T[],
  request: ModelRequest,
  chat: ChatRequest,
  fill: Fill,
  /** Prompts of the session before the one that is to be played. */
  before = 0,
): { readonly kind: "chosen"; readonly rule: T } | { readonly kind: "none"; readonly why: string } {
  let nearest: { readonly distance: number; readonly why: string } | undefined;
  for (const candidate of candidates) {
    const { rule } = candidate;
    const conflicts = selectorConflicts(rule, request, chat);
    const prompt = promptConflict(rule, chat.prompts[before] ?? "", fill);
    const spent = usedUp(candidate);
    if (conflicts.length === 0 && prompt === undefined && !spent) {
      return { kind: "chosen", rule: candidate };
    }
    const distance =
      conflicts.reduce((sum, { weight }) => sum + weight, 0) +
      (prompt === undefined ? 0 : 2) +
      (spent ? 1 : 0);
    if (distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      const why = [
        ...conflicts.map(({ text }) => text),
        ...(prompt === undefined ? [] : [`its first turn doesn't match: the prompt ${prompt}`]),
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
    name: string,
    wanted: string | number | undefined,
    actual: string | number | undefined,
    weight: number,
  ): void => {
    if (wanted === undefined || wanted === actual) return;
    const is = actual === undefined ? "this session has none" : `not ${show(actual)}`;
    conflicts.push({ text: `it is for ${name} ${show(wanted)}, ${is}`, weight });
  };
  if (selectors.subAgent !== subAgent) {
    const text = selectors.subAgent ? "it is for a sub-agent" : "it is not for a sub-agent";
    conflicts.push({ text, weight: 8 });
  }
  compare("task", selectors.task, label?.taskId, 8);
  if (label?.role !== "both") compare("role", selectors.role, label?.role, 4);
  compare("model", selectors.model, modelOf(label?.modelId, subAgent, chat), 4);
  compare("workId", selectors.workId, label?.workId, 4);
  compare("iteration", selectors.iteration, label?.iteration, 4);
  compare("retry", selectors.retry, label?.retry, 4);
  compare("attempt", selectors.attempt, label?.attempt, 4);
  return conflicts;
}

/** A sub-agent may have its own model. */
function modelOf(sessionModel: string | undefined, subAgent: boolean, chat: ChatRequest): string {
  return subAgent ? chat.model : (sessionModel ?? chat.model);
}

function promptConflict({ turns }: Rule, prompt: string, fill: Fill): string | undefined {
  const condition = turns[0].prompt;
  return condition === undefined ? undefined : mismatch(condition, prompt, fill);
}

/** The request in words: whose it is, and its prompt. */
export function describeRequest({ label, subAgent }: ModelRequest, chat: ChatRequest): string {
  const session =
    label === undefined
      ? `a session of no task (model ${show(chat.model)})`
      : `a session of task ${show(label.taskId)} (workId ${label.workId}, iteration ${label.iteration}, role ${label.role}, model ${show(label.modelId)}, retry ${label.retry}, attempt ${label.attempt})`;
  return `${subAgent ? "a sub-agent of " : ""}${session} with the prompt ${quote(chat.prompts.at(-1) ?? "")}`;
}

function show(value: string | number): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/**
 * What is true of each type of activity in every workflow: a row for each. A new type begins in `model.ts` and here;
 * the compiler and the linter then lead to how it is read, checked, run and drawn.
 */
import type { EffectResult, StepInput } from "../events/step.ts";
import type { Activity } from "./model.ts";
import { roleOf, type PromptRole } from "./value.ts";

export type ActivityKind = Activity["kind"];

interface ActivityType<A extends Activity> {
  /** Has no text, and does nothing that `activityHits` would count. */
  readonly isMark?: true;
  /** Whether its outcome is a choice between two ways: always, or only if it has an edge for a failure. */
  readonly decides?: "always" | "with-edge";
  /** What its effect results in, unless that fails. */
  readonly answer?: EffectResult["kind"];
  /** What it makes of RESULT. Absent: nothing. */
  resultAfter?(activity: A): "set" | "emptied" | undefined;
  /** `textOf` gives the text of a prompt. Absent: it doesn't use RESULT. */
  usesResult?(activity: A, textOf: (prompt: string) => string): boolean;
}

const set = () => "set" as const;

const types: {
  readonly [K in ActivityKind]: ActivityType<Extract<Activity, { kind: K }>> &
    (K extends StepInput["kind"] ? { readonly answer: EffectResult["kind"] } : unknown);
} = {
  start: { isMark: true },
  set: {
    resultAfter: ({ name }) => (isResult(name) ? "set" : undefined),
    usesResult: ({ value }) => isResult(value) || insertsResult(value),
  },
  assign: {
    resultAfter: set,
    usesResult: ({ value }) => isResult(value) || insertsResult(value),
  },
  check: { decides: "always", usesResult: ({ check }) => isResult(check.left) },
  prompt: {
    answer: "answered",
    resultAfter: (one) => (promptRole(one) === "system" ? "emptied" : "set"),
    usesResult: ({ prompt }, textOf) => insertsResult(textOf(prompt)),
  },
  ask: {
    answer: "answered",
    resultAfter: set,
    usesResult: ({ question }) => question === undefined || insertsResult(question),
  },
  execute: {
    decides: "with-edge",
    answer: "executed",
    resultAfter: set,
    usesResult: ({ command }) => command === undefined || insertsResult(command),
  },
  call: { decides: "with-edge", resultAfter: set },
  success: { isMark: true },
  failed: { isMark: true },
  on: { isMark: true },
};

export function typeOf(kind: ActivityKind): ActivityType<Activity> {
  return types[kind];
}

/** In the order in which people are told. */
export const activityKinds: readonly string[] = Object.keys(types);

export function isActivityKind(word: string): word is ActivityKind {
  return Object.hasOwn(types, word);
}

/** Whether its success is a choice between two ways: with another outcome, the run would have gone on elsewhere. */
export function decides({ kind, other }: Activity): boolean {
  const how = typeOf(kind).decides;
  return how === "always" || (how === "with-edge" && other !== undefined);
}

/** What a PROMPT does; undefined for other activities. */
export function promptRole(one: Activity): PromptRole | undefined {
  return one.kind === "prompt" ? (roleOf(one.prompt) ?? "user") : undefined;
}

function isResult(name: string): boolean {
  return name === "RESULT" || name === "CONTENT";
}

function insertsResult(text: string): boolean {
  return /\{\{(?:RESULT|CONTENT)\}\}/.test(text);
}

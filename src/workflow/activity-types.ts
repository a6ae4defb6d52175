/**
 * What is true of each type of activity in every workflow: a row for each. A new type begins in `model.ts` and here;
 * the compiler and the linter then lead to how it is read, checked, run and drawn.
 */
import type { EffectResult, StepInput } from "../events/step.ts";
import type { Comparison } from "./check.ts";
import type { Activity } from "./model.ts";
import { isQuoted, roleOf, type PromptRole } from "./value.ts";

export type ActivityKind = Activity["kind"];

interface ActivityType<A extends Activity> {
  /** Has no text, and does nothing that `activityHits` would count. */
  readonly isMark?: true;
  /** Whether its outcome is a choice between two ways: always, or only if it has an edge for a failure. */
  readonly decides?: "always" | "with-edge";
  /** What its effect results in, unless that fails. */
  readonly answer?: EffectResult["kind"];
  /** What it says and reads, and what becomes of RESULT. Absent: nothing. */
  facts?(activity: A): Facts;
}

export interface Facts {
  /** The text of its node, without a caption. */
  readonly label: string;
  readonly uses: readonly Use[];
  /** What it makes of RESULT if it succeeds. */
  readonly result: "kept" | "set" | "emptied";
}

export interface Use {
  readonly text: string;
  /**
   * `text`: names in double braces are replaced. `assigned`: the value of a variable. `value`, `prompt`: must exist.
   * `compared`: the left side of a check, `operand` its right one. `command`: a template for a shell.
   */
  readonly as: "text" | "assigned" | "value" | "prompt" | "compared" | "operand" | "command";
}

const resultItself: Use = { as: "value", text: "RESULT" };

const signs: Readonly<Record<Comparison, string>> = {
  eq: "==",
  ne: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  gt: "gt",
  ge: "ge",
  lt: "lt",
  le: "le",
};

const types: {
  readonly [K in ActivityKind]: ActivityType<Extract<Activity, { kind: K }>> &
    (K extends StepInput["kind"] ? { readonly answer: EffectResult["kind"] } : unknown);
} = {
  start: { isMark: true },
  set: {
    facts: ({ name, value }) => ({
      label: `${name}=${value}`,
      uses: [{ as: "assigned", text: value }],
      result: isResult(name) ? "set" : "kept",
    }),
  },
  assign: {
    facts: ({ value }) => ({
      label: value,
      uses: [{ as: value.includes("{{") ? "text" : "value", text: value }],
      result: "set",
    }),
  },
  check: {
    decides: "always",
    facts: ({ check: { left, operator, right } }) => ({
      label: `${left} ${signs[operator]} ${right}`,
      uses: [
        { as: "compared", text: left },
        { as: "operand", text: right },
      ],
      result: "kept",
    }),
  },
  prompt: {
    answer: "answered",
    facts: (one) => ({
      label: one.prompt,
      uses: [{ as: "prompt", text: one.prompt }],
      result: promptRole(one) === "system" ? "emptied" : "set",
    }),
  },
  ask: {
    answer: "answered",
    facts: ({ question }) => ({
      label: question ?? "",
      uses: [question === undefined ? resultItself : { as: "text", text: question }],
      result: "set",
    }),
  },
  execute: {
    decides: "with-edge",
    answer: "executed",
    facts: ({ command }) => ({
      label: command ?? "",
      uses: [command === undefined ? resultItself : { as: "command", text: command }],
      result: "set",
    }),
  },
  call: {
    decides: "with-edge",
    facts: ({ path }) => ({
      label: isQuoted(path) ? `"${path}"` : path,
      uses: [],
      result: "set",
    }),
  },
  success: { isMark: true },
  failed: { isMark: true },
  on: { isMark: true },
};

const nothing: Facts = { label: "", uses: [], result: "kept" };

export function factsOf(activity: Activity): Facts {
  return typeOf(activity.kind).facts?.(activity) ?? nothing;
}

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

export function isResult(name: string): boolean {
  return name === "RESULT" || name === "CONTENT";
}

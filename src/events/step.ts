/** The steps of a Markdown workflow. The `effects` of all ended steps, in order, make the same state again. */
import { effect, input } from "./flow.ts";
import { workRef } from "./plan.ts";
import * as is from "../document/describe.ts";
import type { ObjectOf, TypeOf } from "../document/describe.ts";

const shell = is.record({
  workingDirectory: is.text,
  /** Exported variables that scripts have set. What the run itself provides is not among them, unless changed. */
  variables: is.dictionary(is.text),
  removed: is.list(is.text),
  functions: is.text,
});
export type ShellState = TypeOf<typeof shell>;

const step = {
  work: workRef,
  /** In this run of the work, from 1 on. The step of a CALL contains those of the called file. */
  step: is.natural,
  file: is.text,
  activity: is.text,
};

export const stepStarted = {
  ...step,
  /** Which run of this activity in this run of its file, from 1 on. */
  hit: is.natural,
  /** 0: of the first file, else of a called one. */
  depth: is.count,
  /** Absent if nothing is asked of the outside. */
  input: is.optional(input),
  /** Taken over from an earlier run: nothing is done. */
  restored: is.optional(is.yes),
};

/** Output of a running script. `script`: its index in the input. */
export const stepPrinted = { work: workRef, step: is.natural, script: is.count, text: is.text };

export const stepEnded = {
  ...step,
  /** Whether the way on is the next activity, not the other one. */
  succeeded: is.flag,
  reason: is.optional(is.text),
  /** Where the flow goes on; absent at an end. */
  to: is.optional(is.text),
  /** RESULT, if it has changed. */
  result: is.optional(is.text),
  variables: is.optional(is.dictionary(is.text)),
  /** In order. Comes before what follows from it: an event that is too long is cut at its end. */
  effects: is.optional(is.list(effect)),
  shell: is.optional(shell),
  /** The length of all texts in `effects` and `shell` before redaction. Shorter texts are incomplete. */
  characters: is.optional(is.count),
  restored: is.optional(is.yes),
};

export type StepStarted = { readonly type: "step.started" } & ObjectOf<typeof stepStarted>;
export type StepPrinted = { readonly type: "step.output" } & ObjectOf<typeof stepPrinted>;
export type StepEnded = { readonly type: "step.ended" } & ObjectOf<typeof stepEnded>;

export function stepCharacters({ effects, shell }: Pick<StepEnded, "effects" | "shell">): number {
  return textLength(effects) + textLength(shell);
}

function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + textLength(item), 0);
}

/** Which variables get their values while a job runs, and what each of them is about. */
import { runtimeVariables } from "./model.ts";

/** Of the change that the job is about, of the item that an `Each` is at, and of earlier runs. */
const ofJob = [
  "change-base",
  "change-head",
  "change-files",
  "change-diff",
  "item",
  "item-index",
  "memory",
] as const;

/** Followed by the name of a task or of an input. */
const families = {
  "report-of-": "report",
  "result-of-": "result",
  "findings-of-": "findings",
  "input-": "input",
} as const;

export type RuntimeVariable =
  /** Of the task that runs, of the change, or of the item. */
  | { readonly kind: "fixed"; readonly name: string }
  /** What a task that ran before has left. */
  | { readonly kind: "report" | "result" | "findings"; readonly of: string }
  | { readonly kind: "input"; readonly of: string };

const fixed: ReadonlySet<string> = new Set([
  ...runtimeVariables.map((name) => name.slice(1)),
  ...ofJob,
]);

/** All that have no task or input in their name, without `$`. */
export const fixedVariables: readonly string[] = [...fixed];

/** `name`: without `$`. Undefined if no such variable can have a value. */
export function runtimeVariable(name: string): RuntimeVariable | undefined {
  if (fixed.has(name)) return { kind: "fixed", name };
  for (const [start, kind] of Object.entries(families)) {
    if (name.startsWith(start)) return { kind, of: name.slice(start.length) };
  }
  return undefined;
}

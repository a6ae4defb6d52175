import { runtimeVariables } from "./model.ts";

const ofJob = [
  "change-base",
  "change-head",
  "change-files",
  "change-diff",
  "item",
  "item-index",
  "memory",
] as const;

const families = {
  "report-of-": "report",
  "result-of-": "result",
  "findings-of-": "findings",
  "input-": "input",
} as const;

export type RuntimeVariable =
  | { readonly kind: "fixed"; readonly name: string }
  | { readonly kind: "report" | "result" | "findings"; readonly of: string }
  | { readonly kind: "input"; readonly of: string };

const fixed: ReadonlySet<string> = new Set([
  ...runtimeVariables.map((name) => name.slice(1)),
  ...ofJob,
]);

export const fixedVariables: readonly string[] = [...fixed];

/** `name`: without `$`. Undefined if no such variable can have a value. */
export function runtimeVariable(name: string): RuntimeVariable | undefined {
  if (fixed.has(name)) return { kind: "fixed", name };
  for (const [start, kind] of Object.entries(families)) {
    if (name.startsWith(start)) return { kind, of: name.slice(start.length) };
  }
  return undefined;
}

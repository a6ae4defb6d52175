/**
 * The values that a user gives as options of the command line, as inputs of the action or as fields of a
 * call: text in, a value or a problem out. Every edge writes the name of an option in its own
 * way and puts it before the problem.
 */
import { didYouMean, suggest } from "../document/suggest.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Limits } from "../entry/model.ts";

/** A mistake that the user can correct: shown without a stack trace, exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** How an edge writes the name of an option in a sentence: `--max-parallel`, or the input's name in backticks. */
export type WriteName = (option: string) => string;

/** As the command line writes them. */
export const asFlag: WriteName = (option) => `--${option}`;

export type Parsed<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A phrase that follows the name, such as `must be a number greater than 0, not "soon"`. */
  | { readonly kind: "wrong"; readonly problem: string };

/** Decimal digits only: `1e3`, `0x10` and `Infinity` are probably mistakes. */
export function parseNumber(text: string, kind: "a whole number" | "a number"): Parsed<number> {
  const value = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  const fits = kind === "a number" ? Number.isFinite(value) : Number.isSafeInteger(value);
  return fits && value > 0
    ? { kind: "value", value }
    : wrong(`must be ${kind} greater than 0, not ${JSON.stringify(text)}`);
}

/** The number of a port; 0 for any free one. */
export function parsePort(text: string): Parsed<number> {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return port <= 65_535
    ? { kind: "value", value: port }
    : wrong(`must be a port from 0 to 65535, not ${JSON.stringify(text)}`);
}

/** One of the values, letter by letter. */
export function parseChoice<T extends string>(text: string, values: readonly T[]): Parsed<T> {
  const value = values.find((one) => one === text);
  if (value !== undefined) return { kind: "value", value };
  const guess = suggest(text, values);
  const hint = guess === undefined ? "" : ` (${didYouMean(guess)})`;
  return wrong(`must be one of ${values.join(", ")}, not ${JSON.stringify(text)}${hint}`);
}

/** Model ids by category of the entry. */
export type Models = Readonly<Record<string, string>>;

/** Adds a `category=id` to the models. */
export function parseModel(text: string, models: Models = {}): Parsed<Models> {
  const [, before = "", after = ""] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  const [category, id] = [before.trim(), after.trim()];
  if (category === "" || id === "") {
    return wrong("must have the form category=id, for example driving=gpt-5-mini");
  }
  if (Object.hasOwn(models, category)) {
    return wrong(`names the category ${JSON.stringify(category)} twice`);
  }
  return { kind: "value", value: Object.fromEntries([...Object.entries(models), [category, id]]) };
}

/** The limits that an option can set, each with the option that set it. */
export function limitsOf(
  given: {
    readonly maxParallel?: number | undefined;
    readonly timeoutMinutes?: number | undefined;
  },
  write: WriteName,
): { readonly limits: Limits; readonly limitNames: LimitSources } {
  const { maxParallel, timeoutMinutes } = given;
  return {
    limits: {
      ...(maxParallel === undefined ? {} : { parallel: maxParallel }),
      ...(timeoutMinutes === undefined ? {} : { jobMinutes: timeoutMinutes }),
    },
    limitNames: { parallel: write("max-parallel"), jobMinutes: write("timeout-minutes") },
  };
}

function wrong(problem: string): { readonly kind: "wrong"; readonly problem: string } {
  return { kind: "wrong", problem };
}

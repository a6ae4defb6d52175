/** Shared by all edges: how mistakes in options are reported, and the inputs of an entry. */
import { suggestion } from "../document/diagnostic.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Inputs } from "./option-assignments.ts";

export { ALL_MODELS, guessText } from "./option-kinds.ts";
export type { Answers, Inputs, Params } from "./option-assignments.ts";
export type { Models } from "./option-kinds.ts";

/** A mistake that the user can correct: shown without a stack trace, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Why it can't start; undefined if it has the user input that it needs. */
export function missingUserInput(
  what: "job" | "task",
  name: string,
  needs: { readonly requireUserInput: boolean } | undefined,
  userInput: string | undefined,
): string | undefined {
  if (needs?.requireUserInput !== true || (userInput ?? "").trim() !== "") return undefined;
  return `The ${what} ${JSON.stringify(name)} requires user input.`;
}

/** For `catch`: says what can't be done, and why. */
export function unable(what: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`Can't ${what}: ${errorMessage(error)}`);
  };
}

/** How an edge writes the name of an option in a sentence: `--max-parallel`, or the input's name in backticks. */
export type WriteName = (option: string) => string;

export const asFlag: WriteName = (option) => `--${option}`;

/** Options that can be repeated are a list or an object in the library, and have several lines in the action. */
const repeated = new Set(["answer", "input", "model", "param"]);

const asPlural: WriteName = (option) => (repeated.has(option) ? `${option}s` : option);

export const asOption: WriteName = (option) =>
  asPlural(option).replace(/-./g, ([, letter = ""]) => letter.toUpperCase());

export function inputsOf(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
  write: WriteName,
): Inputs {
  const names = Object.keys(declared);
  const known = names.length === 0 ? "it has no inputs" : `its inputs are ${names.join(", ")}`;
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  const problems = unknown.map((name) => {
    const { hint = known } = suggestion(name, names);
    return `The entry has no input ${JSON.stringify(name)} (${hint}).`;
  });
  const all = withDefaults({ inputs: declared }, given);
  const values = Object.entries(declared).flatMap(([name, input]): [string, string][] => {
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (value === undefined) {
      if (input.required === true)
        problems.push(
          `The input ${name} is required (${input.description}). Pass it with ${write("input")}.`,
        );
      return [];
    }
    if (input.options?.includes(value) === false)
      problems.push(
        `The input ${name} is ${JSON.stringify(value)}, and must be one of ${input.options.join(", ")}.`,
      );
    return [[name, value]];
  });
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return Object.fromEntries(values);
}

export function withDefaults(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
): Inputs {
  const defaults = Object.entries(declared).flatMap(([name, input]) =>
    input.default === undefined ? [] : [[name, input.default] as const],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

export function inputValues(inputs: Inputs): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`input-${name}`, value]),
  );
}

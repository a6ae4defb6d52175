/** The inputs of an entry: what a run was given, checked and completed. */
import { suggestion } from "../document/suggest.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { UsageError, type Inputs, type WriteName } from "./options.ts";

/** Every input that has a value. Throws `UsageError` with all that is wrong. */
export function inputsOf(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
  write: WriteName,
): Inputs {
  const option = write("input");
  const problems: string[] = [];
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(declared, name)) continue;
    const names = Object.keys(declared);
    const { hint } = suggestion(name, names);
    const known = names.length === 0 ? "it has no inputs" : `its inputs are ${names.join(", ")}`;
    problems.push(`The entry has no input ${JSON.stringify(name)} (${hint ?? known}).`);
  }
  const all = withDefaults({ inputs: declared }, given);
  const values = Object.entries(declared).flatMap(([name, input]): [string, string][] => {
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (value === undefined) {
      if (input.required === true)
        problems.push(
          `The input ${name} is required (${input.description}). Pass it with ${option}.`,
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

/** Those that were given, and the defaults of the others. */
export function withDefaults(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
): Inputs {
  const defaults = Object.entries(declared).flatMap(([name, input]) =>
    input.default === undefined ? [] : [[name, input.default] as const],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

/** As runtime variables, by name without `$`. */
export function inputValues(inputs: Inputs): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`input-${name}`, value]),
  );
}

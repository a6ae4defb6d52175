/** The checks of inputs, and of the runtime variables that name an input or a task. */
import type { Path } from "../document/problem.ts";
import type { Salvaged } from "../document/salvage.ts";
import type { Entry } from "./model.ts";
import { listed, type EntryNames, type Problems } from "./problems.ts";
import { variablesIn } from "./prompt-expander.ts";
import { runtimeVariable } from "./runtime-variables.ts";

export function checkInputs({ inputs = {} }: Salvaged<Entry>, problems: Problems): void {
  for (const [name, input] of Object.entries(inputs)) {
    const { options, required, default: value } = input ?? {};
    const at = ["inputs", name, "default"];
    if (value === undefined) continue;
    if (required === true) problems.add(at, "A required input has no default.");
    if (options?.includes(value) === false) {
      const texts = options.filter((text) => text !== undefined);
      problems.add(at, `Must be one of its options: ${listed(texts)}.`);
    }
  }
}

/** `text`: a prompt, expanded. */
export function checkVariables(
  path: Path,
  text: string,
  entry: Salvaged<Entry>,
  names: EntryNames,
  problems: Problems,
): void {
  for (const name of new Set(variablesIn(text))) {
    const variable = runtimeVariable(name);
    if (variable === undefined || variable.kind === "fixed") continue;
    const { kind, of } = variable;
    const what = kind === "input" ? "input" : "task";
    const known = kind === "input" ? names.inputs : names.tasks;
    if (problems.isBroken([`${what}s`])) continue;
    if (known.has(of)) {
      if (kind === "result" && entry.tasks?.[of]?.criteria?.result === undefined)
        problems.add(path, `$${name}: task ${JSON.stringify(of)} has no criteria.result.`, {
          text: `$${name}`,
        });
      continue;
    }
    const longer = [...known].find((one) => one.startsWith(of));
    const hint =
      longer === undefined
        ? problems.suggest(of, known)
        : {
            hint: `the name ${JSON.stringify(longer)} can't be a part of a variable: use words joined by hyphens`,
          };
    const reason = `$${name}: there is no ${what} ${JSON.stringify(of)}.`;
    problems.add(path, reason, { ...hint, text: `$${name}` });
  }
}

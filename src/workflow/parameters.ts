/** The parameters of a workflow: as `PARAMS` declares them, and as a run is given them. */
import type { Diagnostic } from "../document/diagnostic.ts";
import { suggestion } from "../document/suggest.ts";
import type { Workflow, WorkflowFile } from "./model.ts";

/** The user input of a run is a parameter that need not be declared. */
export const USER_INPUT = "USER_INPUT";

/** Names the model of a workflow for which no other is given. */
const MODEL_NAME = "AI_MODEL_NAME";

export type BoundParameters =
  | {
      readonly kind: "bound";
      readonly variables: Readonly<Record<string, string>>;
      /** Parameters that the workflow doesn't declare. They are variables all the same. */
      readonly warnings: readonly Diagnostic[];
    }
  | { readonly kind: "incomplete"; readonly diagnostics: readonly Diagnostic[] };

export function bindParameters(
  workflow: Workflow,
  given: Readonly<Record<string, string>>,
): BoundParameters {
  const main = workflow.files[workflow.main];
  const declared = main?.parameters ?? [];
  const file = main?.file ?? workflow.file;
  const names = declared.map(({ name }) => name);
  const diagnostics = declared
    .filter((one) => one.default === undefined && !Object.hasOwn(given, one.name))
    .map(({ name, at }): Diagnostic => ({
      file,
      ...at,
      codePath: "",
      reason: `The parameter ${name} has no value.`,
      hint: `give it with --param ${name}=…`,
    }));
  if (diagnostics.length > 0) return { kind: "incomplete", diagnostics };
  const warnings = Object.keys(given)
    .filter((name) => !names.includes(name) && name !== USER_INPUT)
    .map((name): Diagnostic => ({
      file,
      codePath: "",
      reason: `The workflow has no parameter ${JSON.stringify(name)}.`,
      ...suggestion(name, names),
      severity: "warning",
    }));
  return { kind: "bound", variables: { ...defaultsOf(main), ...given }, warnings };
}

/** `AI_MODEL_NAME`; empty without one. */
export function modelOfParameters(
  { files, main }: Workflow,
  given: Readonly<Record<string, string>> = {},
): string {
  return { ...defaultsOf(files[main]), ...given }[MODEL_NAME] ?? "";
}

export function defaultsOf(file: WorkflowFile | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (file?.parameters ?? []).flatMap(({ name, default: value }) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

interface ReadParameter {
  readonly name: string;
  readonly default?: string;
  readonly offset: number;
}

interface ReadParameters {
  readonly parameters: readonly ReadParameter[];
  readonly faults: readonly {
    readonly offset: number;
    readonly reason: string;
    readonly hint?: string;
  }[];
}

/** `PARAMS`: `REPO_URL, USER_NAME=guest`, separated by commas or line breaks; values may be quoted. */
export function parseParameters(text: string): ReadParameters {
  const parameters: ReadParameter[] = [];
  const faults: { offset: number; reason: string; hint?: string }[] = [];
  let at = 0;
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  for (;;) {
    skip(/(?:[\s,]|\\n)*/y);
    if (at >= text.length) return { parameters, faults };
    const offset = at;
    const name = skip(/[A-Za-z_]\w*/y);
    skip(/[ \t]*/y);
    const sign = text.charAt(at);
    const isEnd = /^[,\n]?$/.test(sign) || text.startsWith("\\n", at);
    if (name === "" || name.length > 100 || !(isEnd || sign === "=")) {
      const rest = skip(/(?:(?!\\n)[^,\n])*/y);
      const found = JSON.stringify(text.slice(offset, at).trim().slice(0, 40) || sign);
      const reason = `Invalid parameter ${found}.`;
      faults.push({ offset, reason, hint: "write NAME or NAME=value, separated by commas" });
      if (rest === "") at += 1;
      continue;
    }
    if (isEnd) {
      parameters.push({ name, offset });
      continue;
    }
    at += 1;
    skip(/[ \t]*/y);
    parameters.push({ name, default: value(), offset });
  }

  function value(): string {
    const quote = text.charAt(at);
    // A quote belongs to the value if something else than the next parameter follows the second one.
    if (quote === "'" || quote === '"') {
      const end = text.indexOf(quote, at + 1);
      const quoted = /[ \t]*(?:$|[,\n]|\\n)/y;
      quoted.lastIndex = end + 1;
      if (end !== -1 && quoted.test(text)) {
        const inner = text.slice(at + 1, end);
        at = end + 1;
        return inner;
      }
    }
    return skip(/(?:(?!\\n)[^,\n])*/y).trim();
  }
}

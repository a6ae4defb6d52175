import { type Diagnostic, suggestion } from "../document/diagnostic.ts";
import { defined } from "../text/guards.ts";
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
  values: Readonly<Record<string, string>>,
): BoundParameters {
  const main = workflow.files[workflow.main];
  const declared = main?.parameters ?? [];
  const file = main?.file ?? workflow.file;
  const names = declared.map(({ name }) => name);
  const diagnostics = declared
    .filter((one) => one.default === undefined && !Object.hasOwn(values, one.name))
    .map(({ name, at }): Diagnostic => ({
      file,
      ...at,
      codePath: "",
      reason: `The parameter ${name} has no value.`,
      hint: `give it with --param ${name}=…`,
    }));
  if (diagnostics.length > 0) return { kind: "incomplete", diagnostics };
  const warnings = Object.keys(values)
    .filter((name) => !names.includes(name) && name !== USER_INPUT)
    .map((name): Diagnostic => ({
      file,
      codePath: "",
      reason: `The workflow has no parameter ${JSON.stringify(name)}.`,
      ...suggestion(name, names),
      severity: "warning",
    }));
  return { kind: "bound", variables: { ...defaultsOf(main), ...values }, warnings };
}

/** `AI_MODEL_NAME`; empty without one. */
export function modelOfParameters(
  { files, main }: Workflow,
  values: Readonly<Record<string, string>> = {},
): string {
  return { ...defaultsOf(files[main]), ...values }[MODEL_NAME] ?? "";
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

const separators = /(?:[\s,]|\\n)*/y;
/** A value is quoted only if its quotes are all of it. */
const parameter =
  /([A-Za-z_]\w{0,99})(?:[ \t]*=[ \t]*(?:(["'])((?:(?!\2)[^])*)\2(?=[ \t]*(?:$|[,\n]|\\n))|((?:(?!\\n)[^,\n])*)))?(?=[ \t]*(?:$|[,\n]|\\n))/y;
const other = /(?:(?!\\n)[^,\n])*/y;

export function parseParameters(
  text: string,
  fail: (offset: number, reason: string, hint: string) => void,
): readonly ReadParameter[] {
  const parameters: ReadParameter[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found?.[0].length ?? 0;
    return found;
  };
  for (;;) {
    take(separators);
    if (at >= text.length) return parameters;
    const offset = at;
    const [, name, , quoted, plain] = take(parameter) ?? [];
    if (name !== undefined) {
      parameters.push({ name, offset, ...defined({ default: quoted ?? plain?.trim() }) });
      continue;
    }
    const [rest = ""] = take(other) ?? [];
    const found = JSON.stringify(rest.trim().slice(0, 40));
    fail(offset, `Invalid parameter ${found}.`, "write NAME or NAME=value, separated by commas");
  }
}

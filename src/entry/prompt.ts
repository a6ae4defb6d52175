/**
 * Expansion of prompts: statically when an entry is prepared, dynamically each time one is sent.
 */
import { DiagnosticsError } from "../document/diagnostic.ts";
import type { Entry, ExpandedPrompt, Prompt, Task } from "./model.ts";
import { PromptExpander, promptText, variablePattern } from "./prompt-expander.ts";

/**
 * Joins the lines with LF and inserts the prompt variables, to any depth. Runtime variables and `$$`
 * stay. With `requiresBooleanTool` the result must mention `job_boolean_true` or
 * `job_boolean_false`.
 *
 * @throws {DiagnosticsError} `${codePath}: Cannot find prompt variable: $name.` and the like, with
 * `/$name` appended to the path for each variable on the way.
 */
export function expandPromptStatic(
  entry: Pick<Entry, "promptVariables">,
  codePath: string,
  prompt: Prompt,
  requiresBooleanTool = false,
): ExpandedPrompt {
  const variables = entry.promptVariables ?? {};
  const expander = new PromptExpander((name) =>
    Object.hasOwn(variables, name) ? variables[name] : undefined,
  );
  const { text, faults } = expander.expand(prompt, requiresBooleanTool);
  if (faults.length > 0) {
    throw new DiagnosticsError(
      faults.map(({ trail, reason }) => ({ codePath: trailPath(codePath, trail), reason })),
    );
  }
  return [text];
}

/** The code path of a fault in a variable: `entry.tasks["a"].prompt/$outer/$inner`. */
export function trailPath(codePath: string, trail: readonly string[]): string {
  return codePath + trail.map((name) => `/$${name}`).join("");
}

/**
 * Inserts the values, whose keys have no `$`. A variable without a value becomes `<MISSING>`, and
 * `$$` becomes `$`. Values are inserted as they are, never expanded again.
 */
export function expandPromptDynamic(
  _entry: Pick<Entry, "promptVariables">,
  prompt: Prompt,
  values: Readonly<Record<string, string | undefined>>,
): ExpandedPrompt {
  if (typeof prompt !== "string" && prompt.length !== 1) {
    throw new Error("Only a prompt of exactly one item can be expanded dynamically.");
  }
  const text = promptText(prompt).replace(variablePattern, (_match, name: string | undefined) => {
    if (name === undefined) return "$";
    return (Object.hasOwn(values, name) ? values[name] : undefined) ?? "<MISSING>";
  });
  return [text];
}

/** Those that a task sends. */
export function promptsOf(task: Task | undefined): Prompt[] {
  return [
    task?.prompt,
    task?.availability?.condition,
    task?.criteria?.condition,
    task?.criteria?.failureAction.additionalPrompt,
  ].filter((prompt) => prompt !== undefined);
}

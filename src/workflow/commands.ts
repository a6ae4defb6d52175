/** EXECUTE: the scripts in an answer, and what RESULT becomes of them. */
import { fencesOf } from "../document/markdown.ts";
import type { Script, ScriptRun } from "./state.ts";
import { bothEnds, clip } from "../events/cut.ts";

const defaultTags = ["sh", "shell", "bash"];

/** The closed code fences that can be run, in order, and why others are not. */
export function scriptsIn(
  text: string,
  tags: readonly string[] = defaultTags,
): { readonly scripts: readonly Script[]; readonly skipped: readonly string[] } {
  const scripts: Script[] = [];
  const skipped: string[] = [];
  for (const { info, content, isClosed } of fencesOf(text)) {
    const tag = (/^\S*/.exec(info)?.[0] ?? "").toLowerCase();
    if (!isClosed) skipped.push("A code fence is never closed.");
    else if (tag === "") skipped.push("A code fence without a tag is not run.");
    else if (!tags.includes(tag)) skipped.push(`The code fence ${tag.slice(0, 40)} is not run.`);
    else if (content.trim() !== "") scripts.push({ tag, code: withoutPrompts(content.trimEnd()) });
  }
  return { scripts, skipped };
}

/** Without the `$ ` of a terminal, which answers imitate. A command of its own it never is. */
function withoutPrompts(code: string): string {
  return /^\s*\$ /.test(code) ? code.replaceAll(/^[ \t]*\$ /gm, "") : code;
}

/** Each command with its output, as in a terminal; both ends of what is longer than `most` characters. */
export function outputOf(runs: readonly ScriptRun[], most: number): string {
  return bothEnds(
    runs.map(({ code, output }) => `$ ${code}\n${output}`.trimEnd()).join("\n"),
    most,
  );
}

export function firstWords(code: string): string {
  const line = code.split("\n", 1)[0] ?? "";
  return clip(line, 80);
}

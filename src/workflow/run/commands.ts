/** EXECUTE: the scripts in an answer, and what RESULT becomes of them. */
import { fencesOf } from "../../document/markdown.ts";
import type { Script, ScriptRun } from "./state.ts";
import { bothEnds, clip } from "../../events/cut.ts";

const defaultTags = ["sh", "shell", "bash"];

/**
 * The code fences of an answer, in order, or why they can't be run. An answer of which only a part would run is not
 * done, so then none of it is.
 */
export function scriptsIn(
  text: string,
  tags: readonly string[] = defaultTags,
):
  | { readonly kind: "found"; readonly scripts: readonly Script[] }
  | { readonly kind: "none"; readonly reason: string } {
  const none = (reason: string) =>
    ({ kind: "none", reason: `Nothing was run: ${reason}` }) as const;
  const scripts: Script[] = [];
  for (const { info, content, isClosed } of fencesOf(text)) {
    const tag = (/^\S*/.exec(info)?.[0] ?? "").toLowerCase() || "bash";
    if (!isClosed) return none("a code fence is never closed.");
    if (!tags.includes(tag)) {
      const those = tags.join(", ");
      return none(`code fences tagged "${clip(tag, 40)}" can't be run. Supported tags: ${those}.`);
    }
    if (content.trim() !== "") scripts.push({ tag, code: withoutPrompts(content.trimEnd()) });
  }
  if (scripts.length === 0) return none("RESULT has no code fence with commands.");
  return { kind: "found", scripts };
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

import { cut } from "./truncate.ts";
import { withoutSequences } from "./terminal-sequences.ts";

/** C0, DEL and C1 controls, bidirectional controls, invisible and tag characters, lone surrogates. */
export const unsafeCharacters =
  /[\p{Cc}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\p{Surrogate}\u{E0000}-\u{E007F}]/gu;

/** The result doesn't move the cursor, and doesn't color, hide or reorder anything. Keeps LF. */
export function harmless(text: string): string {
  return harmlessCode(text).replaceAll("\t", " ");
}

/** The same with the tabs of code. */
export function harmlessCode(text: string): string {
  return withoutSequences(text.replace(/\r\n?|\u0085|\u2028|\u2029/g, "\n")).replace(
    unsafeCharacters,
    (character) => (character === "\n" || character === "\t" ? character : "\uFFFD"),
  );
}

/** Harmless and on one line of at most `length` UTF-16 units. */
export function oneLine(text: string, length: number): string {
  // Twice the length is enough to fill the line, and keeps megabytes out of the expressions below.
  const line = harmless(text.slice(0, length * 2))
    .trim()
    .split(/\s*\n\s*/)
    .join(" ⏎ ");
  if (line.length <= length && text.length <= length * 2) return line;
  return `${cut(line, Math.max(0, length - 1))}…`;
}

/** In the finished page no escape helps. A word joiner stands in them: it can't be seen, and no line is broken at it. */
const references: readonly (readonly [RegExp, string])[] = [
  [/@(?=[\p{L}\p{N}_-])/gu, "@\u2060"],
  [/#(?=\d)/g, "#\u2060"],
  [/(GH-)(?=\d)/gi, "$1\u2060"],
  [/:(?=\/\/)/g, ":\u2060"],
  [/(www)(?=\.)/gi, "$1\u2060"],
  [/(mailto|xmpp):/gi, "$1:\u2060"],
];

/** Words for which GitHub skips workflows, and lines that bots take for commands. Paths have a second slash. */
const instructions: readonly (readonly [RegExp, string])[] = [
  [/\[(?=(?:skip (?:ci|actions)|ci skip|no ci|actions skip)\])/gi, "[\u2060"],
  [/^(\s*skip-checks)(?=\s*:)/gim, "$1\u2060"],
  [/^([ \t]*)\/(?=[a-z][\w-]*(?:[ \t]|$))/gim, "$1\u2060/"],
];

/** For what others read as it is: also in code, as commit messages and bots have no Markdown. */
export function withoutInstructions(text: string): string {
  let result = text;
  for (const [instruction, broken] of instructions) result = result.replace(instruction, broken);
  return result;
}

/** No mention, reference or address is left that GitHub would link. */
export function withoutReferences(text: string): string {
  let result = text;
  for (const [reference, broken] of references) result = result.replace(reference, broken);
  return result;
}

/** GitHub's own limit is 256 for issues and pull requests. */
const MAX_TITLE = 256;
/** It becomes the subject of a commit when a pull request is squashed, where `fixes #1` closes an issue. */
export function safeTitle(text: string): string {
  const title = harmless(text.slice(0, 2 * MAX_TITLE)).trim();
  return cut(withoutInstructions(withoutReferences(title.replace(/\s+/g, " "))), MAX_TITLE);
}

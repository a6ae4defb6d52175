/** Texts of agents, or of their sources, that try to leave their place. */
import * as fc from "fast-check";
import { anyCharacter } from "../rig/any-character.ts";

const pieces = [
  ..."` `` ``` ```` ~~~ | \\ < > & * ** _ ~~ $ $$ # - + = --- === : ! [ ] ( ) ^".split(" "),
  ..."@everyone @org/team #1 GH-1 o/r#2 deadbeef www.x.example a@b.example mailto:".split(" "),
  ..."&#64;a \\@b &lt;b&gt; &#10; &#x202e; &#x1b; <img src=x> <script> </details> <!-- -->".split(
    " ",
  ),
  "https://x.example/p",
  "<https://x.example>",
  "fixes #1",
  "![a](https://x.example/b.png)",
  "[a](https://x.example)",
  "[a](https://github.com/o/r/blob/c/d.ts)",
  "[a](https://github.com/o/r/blob/../../e)",
  "[a]: https://x.example",
  "[a]",
  "[^1]: ",
  "> [!NOTE]",
  "- [ ] ",
  "&#32;",
  "&nbsp;",
  "<!-- agent-jobs:report job=review entry=e -->",
  "```suggestion",
  "```mermaid",
  "| a | b |\n| - | - |\n| c | d |\n",
  "\n",
  "\n\n",
  "\r\n",
  "    ",
  "\t",
  "\u001B[31m",
  "\u202E",
  "\u200B",
  "\0",
  "1. ",
  "2) ",
  "- ",
  "> ",
  " ",
  "word",
  "é",
  "日本",
  "\u{1F600}",
  "\uD800",
] as const;

/** Pieces of it in any order. */
export const hostile: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...pieces) },
      { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 4 }) },
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

/** All of it, one piece a line. */
export const hostileText: string = pieces.join("\n");

/** Long texts of a kind for which a parser or a serializer might take quadratic time. */
export function longTexts(length: number): readonly string[] {
  const repeated = pieces.map((piece) => piece.repeat(Math.ceil(length / piece.length)));
  const pairs: readonly (readonly [string, string])[] = [
    ["[", "](x)"],
    ["![", "](x)"],
    ["*a ", "b* "],
    ["**a _b ", " c_ d**"],
    ["~~a", "b~~"],
    ["<b>", "</b>"],
  ];
  const nested = pairs.map(([open, close]) => {
    const count = Math.floor(length / (open.length + close.length));
    return `${open.repeat(count)}x${close.repeat(count)}`;
  });
  let fences = "";
  for (let run = 1; fences.length < length; run += 1) fences += `${"`".repeat(run)} `;
  const lines = length / 2;
  return [
    ...repeated,
    ...nested,
    fences,
    `${"> ".repeat(60)}${"a\n".repeat(lines)}`,
    `|a|b|\n|-|-|\n${"|c\n".repeat(lines)}`,
    `|${"a|".repeat(lines)}\n|${"-|".repeat(lines)}\n`,
    "***a**b*".repeat(lines / 4),
    "a".repeat(length),
  ].map((text) => text.slice(0, length));
}

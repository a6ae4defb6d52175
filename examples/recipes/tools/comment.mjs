// Adds a comment to review/comments.json if review/change.diff has added its line.
import { readFileSync, writeFileSync } from "node:fs";
import { json } from "node:stream/consumers";

const { path, line, body } = await json(process.stdin);
const added = new Set(addedLines(readFileSync("review/change.diff", "utf8")));
if (!added.has(`${path}:${line}`)) {
  console.error(
    `The change has not added ${path}:${line}. Comment on one of the lines that it added.`,
  );
  process.exit(1);
}
const file = "review/comments.json";
const comments = JSON.parse(readFileSync(file, "utf8") || "[]");
comments.push({ path, line, side: "RIGHT", body });
writeFileSync(file, JSON.stringify(comments, null, 2));
console.log(`${comments.length} comments`);

/** "path:line" of each line with a plus sign. The header of a hunk says how many lines it has. */
function* addedLines(diff) {
  let path, line;
  let [removed, added] = [0, 0];
  for (const text of diff.split("\n")) {
    if (removed > 0 || added > 0) {
      if (text.startsWith("+")) yield `${path}:${line}`;
      if (!/^[-\\]/.test(text)) [line, added] = [line + 1, added - 1];
      if (!/^[+\\]/.test(text)) removed -= 1;
    } else if (text.startsWith("+++ ")) path = text.replace(/^\+\+\+ (b\/)?|\t$/g, "");
    const hunk = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk) [removed, line, added] = [hunk[1] ?? 1, hunk[2], hunk[3] ?? 1].map(Number);
  }
}

// Searches Markdown files: the lines with the most words of the query.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "node:stream/consumers";

const { query, path } = await json(process.stdin);
const words = new Set(query.toLowerCase().match(/[a-z]{4,}/g));
const matches = readdirSync(path, { recursive: true })
  .filter((file) => file.endsWith(".md"))
  .flatMap((file) => linesOf(join(path, file)))
  .sort((a, b) => b.score - a.score)
  .slice(0, 3);
console.log(JSON.stringify({ query, matches }));

function linesOf(file) {
  return readFileSync(file, "utf8")
    .split("\n")
    .map((text, at) => ({ file, line: at + 1, text, score: scoreOf(text) }))
    .filter(({ score }) => score > 0);
}

function scoreOf(text) {
  return (text.toLowerCase().match(/[a-z]+/g) ?? []).filter((word) => words.has(word)).length;
}

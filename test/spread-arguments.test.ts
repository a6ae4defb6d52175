/**
 * A call with over about 100,000 arguments exceeds the stack. So arrays are never spread into the arguments of
 * functions that take any number of them, unless something bounds their length.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** By their file, and what bounds the array. */
const bounded: Readonly<Record<string, string>> = {
  "web/run/chart-view.tsx":
    "the works that run at the same time (limits.parallel), and the two directions",
  "src/events/plain-bytes.ts": "the length of an entity (LONGEST_ENTITY)",
};

const takesAny =
  /(?:\.(?:push|unshift|splice|concat|fromCharCode|fromCodePoint)|\bMath\.(?:max|min|hypot))\(/g;

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("src/generated/"));
}

/** Whether an argument of the call whose parenthesis was opened before `start` is spread. */
function spreads(text: string, start: number): boolean {
  let depth = 1;
  for (let at = start; at < text.length && depth > 0; at += 1) {
    if (depth === 1 && text.startsWith("...", at)) return true;
    if ("([{".includes(text[at] ?? "")) depth += 1;
    else if (")]}".includes(text[at] ?? "")) depth -= 1;
  }
  return false;
}

function callsThatSpread(text: string): string[] {
  return [...text.matchAll(takesAny)].flatMap(({ 0: call, index }) =>
    spreads(text, index + call.length) ? [text.slice(index, index + 80)] : [],
  );
}

test("no array of any length is spread into arguments", () => {
  const files = ["src", "web"].flatMap(filesBelow);
  assert.ok(files.length > 300);
  const found = files
    .filter((file) => !Object.hasOwn(bounded, file))
    .flatMap((file) =>
      callsThatSpread(readFileSync(join(root, file), "utf8")).map((call) => `${file}: ${call}`),
    );
  assert.deepEqual(found, []);
});

test("the search finds a spread anywhere among the arguments of a call, and only there", () => {
  for (const text of [
    "a.push(...b)",
    "Math.max(0, ...b.map((c) => c))",
    "a\n  .push(\n  f(1), ...b)",
  ])
    assert.equal(callsThatSpread(text).length, 1, text);
  for (const text of [
    "a.push([...b])",
    "a.push({ ...b })",
    "Math.max(0, f(...b))",
    "push(a); f(...b)",
  ])
    assert.deepEqual(callsThatSpread(text), [], text);
});

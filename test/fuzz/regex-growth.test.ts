/**
 * The regular expressions of the source take linear time, whatever they are given: each is run on texts of its own
 * signs, repeated, in which it backtracks.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { holds } from "../rig/fuzz.ts";
import { onlyNightly } from "../rig/nightly.ts";

/** Expressions that only see short texts, by their beginning, with the bound. */
const bounded: Readonly<Record<string, string>> = {
  "(?<=^\\s*|[-:,[{]\\s+|[[{,])": "lines of at most 1,000 characters (quoteHint in yaml.ts)",
  "[,\\]}].*$": "the same",
  "\\s+#.*$": "the same",
  "#+$": "the last 1,000 characters of a heading (markdown.ts)",
  "\\s*\\n\\s*": "twice the length of a line that is shown (oneLine)",
  "^(`{3,}|~{3,})": "100 characters (longestFence in read-message.ts)",
  "(?:^|[{,])\\s*": "the beginning of a file (find-entries.ts)",
};

/** In the emitted code an expression stands behind one of these signs. */
const literal =
  /(?<=[(,=:[!&|?{};>\n]\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)/g;

function expressionsOf(folder: string): RegExp[] {
  const found = new Map<string, RegExp>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js") || name.startsWith("generated")) continue;
    for (const [, source = "", flags = ""] of readFileSync(join(folder, name), "utf8").matchAll(
      literal,
    )) {
      try {
        found.set(`${source}/${flags}`, new RegExp(source, flags.replace("d", "")));
      } catch {
        // A comment or a text that looks like one.
      }
    }
  }
  return [...found.values()];
}

/** Expressions that modules compose at run time. */
async function composedExpressions(): Promise<RegExp[]> {
  const found: RegExp[] = [];
  const Original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Original, {
    construct(target, given: [string, string?]) {
      const made = new target(...given);
      found.push(made);
      return made;
    },
  });
  try {
    // Their own copies of the modules: the others may have been loaded before.
    for (const name of [
      "platform/private-files",
      "text/harmless-text",
      "redaction/visible-text",
      "redaction/tokens",
    ]) {
      await import(new URL(`../../src/${name}.js?composed`, import.meta.url).href);
    }
  } finally {
    globalThis.RegExp = Original;
  }
  assert.ok(found.length > 5);
  return found;
}

/** Signs that the expression names, words of it, and one of each class. */
function piecesOf({ source }: RegExp): string[] {
  const plain = source.replace(/\\[a-zA-Z]|\\[pP]\{[^}]*\}|\(\?<?[:=!]/g, " ");
  const words = plain.match(/[\w./: -]{2,}/g) ?? [];
  const signs = `${plain.replaceAll("\\", "")}\\ \t\n\r\0a0-`;
  return [...new Set([...Array.from(signs), ...words])];
}

const sizes = [16, 20, 24, 300, 1_200, 5_000, 20_000];
const enoughMs = 50;

/** The first size that takes too long. Small sizes first: what takes exponential time never ends with the others. */
function tooLong(expression: RegExp, make: (size: number) => string): number | undefined {
  return sizes.find((size) => {
    const text = make(size);
    const time = (): number => {
      const began = process.cpuUsage();
      expression.lastIndex = 0;
      expression.test(text);
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1000;
    };
    return time() > enoughMs && time() > enoughMs && time() > enoughMs;
  });
}

const all = [
  ...expressionsOf(new URL("../../src", import.meta.url).pathname),
  ...(await composedExpressions()),
].filter(
  ({ source }) =>
    /[*+]|\{\d*,/.test(source) &&
    !Object.keys(bounded).some((beginning) => source.startsWith(beginning)),
);

const attack = fc.constantFrom(...all).chain((expression) => {
  const piece = fc.constantFrom(...piecesOf(expression));
  const few = (most: number): fc.Arbitrary<string> =>
    fc.array(piece, { maxLength: most }).map((parts) => parts.join(""));
  return fc.tuple(
    fc.constant(expression),
    few(2),
    fc.array(piece, { minLength: 1, maxLength: 2 }).map((parts) => parts.join("")),
    fc.oneof(few(2), fc.constant("\0!")),
  );
});

test("no regular expression takes more than linear time", onlyNightly, async (t) => {
  assert.ok(all.length > 100, `${all.length} expressions`);
  const property = fc.property(attack, ([expression, begin, middle, end]) => {
    const size = tooLong(
      expression,
      (length) => begin + middle.repeat(Math.ceil(length / middle.length)) + end,
    );
    assert.equal(size, undefined, `${String(expression)} is slow for size ${size}`);
  });
  await holds(t, property, 1_500);
});

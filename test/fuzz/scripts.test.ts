import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as fc from "fast-check";
import { readAnswer, type RequestFiles } from "../../src/workflow/run/bash-protocol.ts";
import { EndsOfText } from "../../src/workflow/run/script-output.ts";
import { shellQuoted } from "../../src/workflow/value.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { holds } from "../rig/fuzz.ts";
import { scriptsRig } from "../workflow/run/scripts-rig.ts";

const octal = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

/** Bytes, among them such as end things: NULs, line breaks, what the answers of the shell consist of. */
const output = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .constantFrom(
          "\0",
          "\n",
          "\0/\0",
          ["stays", "1", "0", "/", ""].join("\0"),
          "exits\0",
          "\r\n",
          "$ ",
          "EOF\n",
          "é",
          "%s",
          "\\0",
        )
        .map((text) => new TextEncoder().encode(text)),
    ),
    { maxLength: 6 },
  )
  .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));

test("random bytes and exit codes come back exactly, in one shell", async (t) => {
  const { run } = await scriptsRig(t);
  const ending = fc.constantFrom("exit", "return", "(exit", "set -e; (exit");
  await holds(
    t,
    fc.asyncProperty(output, fc.integer({ min: 0, max: 255 }), ending, async (bytes, code, end) => {
      const close = end.includes("(") ? ")" : "";
      const result = await run(`printf '${octal(bytes)}'; ${end} ${code}${close}`);
      assert.equal(result.exitCode, code);
      assert.deepEqual(new Uint8Array(await readFile(result.outputFile)), bytes);
      assert.equal(result.output, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    }),
    40,
  );
});

test("random variables and directories survive a change of the shell", async (t) => {
  const { run, runner, workspace } = await scriptsRig(t);
  const value = fc
    .string({ unit: anyCharacter, maxLength: 30 })
    .map((text) => text.replaceAll("\0", ""));
  const folder = value.filter(
    (text) => !text.includes("/") && text !== "." && text !== ".." && text !== "",
  );
  const name = fc.stringMatching(/^[A-Z][A-Z_0-9]{0,5}x$/);
  await holds(
    t,
    fc.asyncProperty(
      fc.dictionary(name, value, { maxKeys: 4 }),
      folder,
      async (variables, path) => {
        const lines = Object.entries(variables).map(
          ([key, text]) => `export ${key}=${shellQuoted(text)}`,
        );
        const place = shellQuoted(`${workspace}/${path}`);
        await run([...lines, `mkdir -p -- ${place}`, `cd -- ${place}`, "exit"].join("\n"));
        const names = Object.keys(variables);
        const print = names.map((key) => `printf '%s\\0' "$${key}"`).join("; ");
        const { outputFile } = await run(`${print || ":"}; printf '%s' "$PWD"`);
        const seen = (await readFile(outputFile, "utf8")).split("\0");
        assert.deepEqual(seen, [...Object.values(variables), `${workspace}/${path}`]);
        const { variables: kept, workingDirectory } = runner.checkpoint();
        for (const key of names) assert.equal(kept[key], variables[key]);
        assert.equal(workingDirectory, `${workspace}/${path}`);
      },
    ),
    15,
  );
});

const files: RequestFiles = { script: "/s", answer: "/a", output: "/o" };

test("an answer of the shell is complete at its end, and not before", async (t) => {
  const text = fc
    .constantFrom("", "/", "a", "\n/", "declare -x", "stays", "0")
    .chain((one) => fc.string({ maxLength: 3 }).map((two) => (one + two).replaceAll("\0", "")));
  const name = fc.constantFrom("A", "end", "_x", "PATH");
  await holds(
    t,
    fc.property(
      fc.constantFrom("stays", "exits"),
      fc.integer({ min: 0, max: 255 }),
      text,
      text,
      fc.array(fc.tuple(name, text), { maxLength: 4 }),
      (how, code, trap, functions, pairs) => {
        const fields = [how, "1", String(code), "/w", trap, functions, ...pairs.flat(), "/"];
        const bytes = new TextEncoder().encode(fields.map((field) => `${field}\0`).join(""));
        const answer = readAnswer(bytes, files);
        assert.deepEqual(
          [answer?.exits, answer?.exitCode, answer?.functions],
          [how === "exits", code, functions],
        );
        assert.deepEqual(answer?.environment, new Map(pairs));
        for (let cut = 0; cut < bytes.length; cut += 1) {
          assert.equal(readAnswer(bytes.subarray(0, cut), files), undefined, `cut at ${cut}`);
        }
      },
    ),
    300,
  );
});

test("what is left of a long text are its ends, however it was cut into pieces", async (t) => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n"), maxLength: 30 });
  await holds(
    t,
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.integer({ min: 1, max: 100 }),
      (pieces, most) => {
        const whole = pieces.join("");
        const ends = new EndsOfText(most);
        for (const one of pieces) ends.add(one);
        const once = new EndsOfText(most);
        once.add(whole);
        assert.equal(ends.text, once.text);
        assert.equal(ends.length, whole.length);
        if (whole.length <= most) return assert.equal(ends.text, whole);
        const [, head = "", left = "", tail = ""] =
          /^([^]*)\n\[(\d+) characters left out\]\n([^]*)$/.exec(ends.text) ?? [];
        assert.ok(whole.startsWith(head) && whole.endsWith(tail));
        assert.equal(head.length + Number(left) + tail.length, whole.length);
        assert.ok(head.length + tail.length <= most);
      },
    ),
    300,
  );
});

/** Texts of a model, a tool or a server are shown and sent in linear time, whatever they are made of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf } from "../../src/tools/mcp/result.ts";
import { escapeLabel } from "../../src/entry/mermaid.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { privateGlobs } from "../../src/permissions/private-files.ts";
import { fenced, inline, logLine, withoutCommands } from "../../src/reports/github/escape.ts";
import { oneLine, paragraph } from "../../src/reports/text.ts";
import { failureWords } from "../../src/sessions/model-error.ts";
import { searchHooks } from "../../src/sessions/search-results.ts";
import { linearInTime } from "../rig/growth.ts";

const redactor = createRedactor(["the-secret-value-1"]);
const plain = (text: string): string => text;
const hooks = searchHooks("read-only", {
  workingDirectory: "/repo",
  realpath: plain,
  isThere: () => true,
  linkTarget: () => undefined,
});

function searched(text: string): unknown {
  const toolArgs = { exclude_globs: privateGlobs };
  const toolResult = { textResultForLlm: text, resultType: "success" } as const;
  const input = { sessionId: "s", timestamp: new Date(0), workingDirectory: "/repo" };
  const hook = hooks.onPostToolUse;
  return hook?.({ ...input, toolName: "grep", toolArgs, toolResult }, { sessionId: "s" });
}

function resultOf(data: string): unknown {
  return outcomeOf({ content: [{ type: "image", mimeType: "image/png", data }] }, redactor.stream);
}

/** What is done with a text, and texts that cost an expression its time. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  withoutCommands,
  logLine: (text) => logLine(text, 1_000),
  inline: (text) => inline(text, 100_000),
  fenced: (text) => fenced(text, "text"),
  oneLine: (text) => oneLine(text, 300),
  paragraph: (text) => paragraph(text, 20, 2_000),
  escapeLabel,
  redact: (text) => redactor.text(text),
  failureWords,
  "the result of a search": searched,
  "an image of an MCP server": resultOf,
};

const texts: Readonly<Record<string, readonly [begin: string, middle: string, end: string]>> = {
  tabs: ["", "\t", "!"],
  "tabs before a colon": ["", "\t", ":"],
  "line breaks": ["x", "\n", "x"],
  "carriage returns": ["x", "\r\n", "x\r"],
  "hidden characters": ["", "\0\u200b", "["],
  "half markers": ["", "#\0#", "["],
  "hidden characters in words": ["", "a\u200b", ""],
  brackets: ["##", "[", ""],
  digits: ["", "0", ")"],
  equals: ["", "=", "!"],
  backticks: ["", "` ", ""],
  dots: ["eyJhbGciOi", ".", "!"],
  "beginnings of tokens": ["", "eyJ.", ""],
  "beginnings of keys": ["", "-----BEGIN PRIVATE KEY-----\n", ""],
  "escaped line breaks": ["-----BEGIN PRIVATE KEY-----", `\\${"n".repeat(20)}`, "\0"],
  "names of files of credentials": ["", "gha-creds-.json", ":"],
  "words of a search": ["[grep content", " under a; b", "["],
  "ends of system errors": ["", "a (os error 1) [E", ""],
  secrets: ["", "the-secret-value-1 ", ""],
  "secrets with hidden characters": ["", "the-secret-\u200bvalue-1 ", ""],
};

for (const [name, read] of Object.entries(readers)) {
  test(`${name}: in linear time`, () => {
    for (const [kind, [begin, middle, end]] of Object.entries(texts)) {
      const make = (size: number): string =>
        begin + middle.repeat(Math.ceil(size / middle.length)) + end;
      // First what never ends where the time is exponential.
      linearInTime({ name: `${name}, ${kind}`, make, run: read, sizes: [12, 24] });
      linearInTime({ name: `${name}, ${kind}`, make, run: read, sizes: [2_000, 32_000] });
    }
  });
}

test("a text may have more matches than a call can have arguments", () => {
  const many = "the-secret-\u200bvalue-1 the-secret-value-1 `".repeat(100_000);
  assert.ok(!redactor.text(many).includes("value-1"));
  assert.ok(fenced(many, "text").startsWith("```text\n"));
});

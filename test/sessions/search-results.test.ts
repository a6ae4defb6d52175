import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { searchTools } from "../../src/permissions/rules.ts";
import { privateGlobs } from "../../src/permissions/private-files.ts";
import { searchHooks, withoutPrivateFiles } from "../../src/sessions/search-results.ts";

const place = {
  workingDirectory: "/repo",
  isThere: (path: string) => /^\/repo\/(?:a:b\/)?[^:]*$/.test(path),
  realpath: (path: string) => path,
  linkTarget: (): undefined => undefined,
};
const input = {
  toolName: "grep",
  sessionId: "s",
  timestamp: new Date(0),
  workingDirectory: "/repo",
};

interface After {
  readonly toolName: string;
  readonly toolArgs: unknown;
  readonly context: typeof place;
}

const heldBack = {
  modifiedResult: {
    textResultForLlm: "The result of this search couldn't be checked. Search in a smaller folder.",
    resultType: "success",
  },
};

/** The arguments that the tool gets. */
function before(toolName: string, toolArgs: unknown): unknown {
  const output = searchHooks("read-only", place).onPreToolUse?.(
    { ...input, toolName, toolArgs },
    { sessionId: "s" },
  );
  return output === undefined || output instanceof Promise ? output : output.modifiedArgs;
}

const nothing = (): boolean => false;
const filtered = (text: string): string => withoutPrivateFiles(text, nothing, place);

describe("the result of a search", () => {
  for (const line of [
    ".netrc:machine a",
    "./.env:A=1",
    "./sub/.env",
    "sub/.env.local:3:A=1",
    "/repo/.env-3-A=1",
    "/repo/.git/config:token",
    "a:b/.ENV:1:x",
    "x/.git-credentials:1",
  ]) {
    it(`has no line such as ${line}`, () => {
      assert.equal(filtered(`src/a.ts:1:x\n${line}\nsrc/b.ts:2:y`), "src/a.ts:1:x\nsrc/b.ts:2:y");
      assert.equal(filtered(line), "No matches found.");
    });
  }

  it("keeps every other line, also one that speaks of such a file", () => {
    const text = [
      "src/env.ts:1:process.env",
      "README.md:3:put it into ~/.netrc: one line",
      "docs/a.md:cp .env.example config/.env",
      ".env.example:A=",
      ".github/workflows/ci.yml:1:on: push",
      ".gitignore:.env",
      "--",
    ].join("\n");
    assert.equal(filtered(text), text);
  });

  it("says nothing of what was taken out, not even that something was", () => {
    assert.equal(filtered("./.env:A=1\n--\n./.env:B=1"), "No matches found.");
  });

  const after = (
    permissions: Permissions,
    text: string,
    { toolName = "grep", toolArgs = {}, context = place }: Partial<After> = {},
  ): unknown =>
    searchHooks(permissions, context).onPostToolUse?.(
      {
        ...input,
        toolName,
        toolArgs,
        toolResult: { textResultForLlm: text, resultType: "success" },
      },
      { sessionId: "s" },
    );

  for (const toolName of searchTools) {
    it(`of ${toolName} is whole where the permissions name the file, or allow everything`, () => {
      const text = ".env:A=1\nsub/.env:B=2";
      assert.equal(after("all", text, { toolName }), undefined);
      assert.equal(after({ read: ["**/.env"] }, text, { toolName }), undefined);
      assert.deepEqual(after({ read: [".env"] }, text, { toolName }), {
        modifiedResult: { textResultForLlm: ".env:A=1", resultType: "success" },
      });
    });
  }

  it("is held back as a whole if it can't be checked", () => {
    const throws = (): never => {
      throw new Error("no");
    };
    const context = { ...place, realpath: throws, isThere: throws };
    assert.deepEqual(after("read-only", "a:b/.env:A=1", { context }), heldBack);
  });
});

describe("the result of a large search", () => {
  const toolArgs = before("grep", { pattern: "x" });
  const grouped = [
    "[grep content: 62 matches across 3 file(s) under ./packages]",
    "",
    "api/code.ts (60 match(es)):",
    "  1: put it into ./.env: one line",
    "  ... 40 more match(es) omitted in this file",
    "api/one.ts:4: y",
    "",
    "[extensions: .ts=2]",
  ].join("\n");
  const after = (text: string, args: unknown = toolArgs, context = place): unknown =>
    searchHooks("read-only", context).onPostToolUse?.(
      { ...input, toolArgs: args, toolResult: { textResultForLlm: text, resultType: "success" } },
      { sessionId: "s" },
    );

  it("is shown if the search has left files of credentials out", () => {
    for (const text of [
      grouped,
      grouped.replace(" under ./packages]", " under ./packages; compact summary]"),
      "[grep-paths: 100 path(s) under ./x; grouped by directory]\n\n./x/ (100 path(s))\n  a.ts",
      "[grep count: 100 match(es) across 100 file(s) with matches]\n\n       1  ./x/a.ts",
    ]) {
      assert.equal(after(text), undefined);
      assert.deepEqual(after(text, { pattern: "x" }), heldBack, "the hook before it has failed");
      assert.deepEqual(after(text, { exclude_globs: [".env"] }), heldBack);
    }
  });

  for (const lines of [
    "api/.env (2 match(es)):\n  1: A=1",
    "api/.env.local (2 match(es)):\n   A=1",
    "api/.env:3: A=1",
    "api/.env-A=1",
    ".git/config (1 match(es)):\n   A=1",
    "something else\n  1: A=1",
  ]) {
    it(`is held back as a whole with ${JSON.stringify(lines)}`, () => {
      assert.deepEqual(after(`${grouped}\n${lines}`), heldBack);
    });
  }

  it("is held back if all of it is in a private folder, or its first line is unknown", () => {
    assert.deepEqual(after(grouped.replace("./packages", "./.git")), heldBack);
    assert.deepEqual(after(grouped.replace("]", "")), heldBack);
  });
});

describe("a search", () => {
  it("is told to leave files of credentials out, whatever the model says about that", () => {
    for (const toolName of searchTools)
      assert.deepEqual(before(toolName, { pattern: "x", glob: ".env", exclude_globs: [".env"] }), {
        pattern: "x",
        glob: ".env",
        exclude_globs: privateGlobs,
      });
    assert.equal(before("view", { path: "x" }), undefined);
  });
});

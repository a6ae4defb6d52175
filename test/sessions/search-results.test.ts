import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { searchFilter, withoutPrivateFiles } from "../../src/sessions/search-results.ts";

const place = {
  workingDirectory: "/repo",
  isThere: (path: string) => /^\/repo\/(?:a:b\/)?[^:]*$/.test(path),
  realpath: (path: string) => path,
  linkTarget: (): undefined => undefined,
};
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

  it("is whole where the permissions name the file, or allow everything", () => {
    const result = (permissions: Parameters<typeof searchFilter>[0]): unknown =>
      searchFilter(permissions, place)(
        {
          toolName: "grep",
          toolArgs: {},
          toolResult: { textResultForLlm: ".env:A=1\nsub/.env:B=2", resultType: "success" },
          sessionId: "s",
          timestamp: new Date(0),
          workingDirectory: "/repo",
        },
        { sessionId: "s" },
      );
    assert.equal(result("all"), undefined);
    assert.equal(result({ read: ["**/.env"] }), undefined);
    assert.deepEqual(result({ read: [".env"] }), {
      modifiedResult: { textResultForLlm: ".env:A=1", resultType: "success" },
    });
  });

  it("is held back as a whole if it can't be checked", () => {
    const broken = {
      ...place,
      realpath: (): string => {
        throw new Error("no");
      },
      isThere: (): boolean => {
        throw new Error("no");
      },
    };
    const output = searchFilter("read-only", broken)(
      {
        toolName: "grep",
        toolArgs: {},
        toolResult: { textResultForLlm: "a:b/.env:A=1", resultType: "success" },
        sessionId: "s",
        timestamp: new Date(0),
        workingDirectory: "/repo",
      },
      { sessionId: "s" },
    );
    assert.doesNotMatch(JSON.stringify(output), /A=1/);
    assert.match(JSON.stringify(output), /could not be checked/);
  });
});

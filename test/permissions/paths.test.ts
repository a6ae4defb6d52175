/** Where a path leads, part by part, and what the file system is asked for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type PathContext, realLocations } from "../../src/permissions/paths.ts";
import { decidePermission } from "../../src/permissions/policy.ts";

const links: Readonly<Record<string, string>> = {
  "/repo/link": "/outside",
  "/repo/src/up": "../..",
  "/repo/round": "round",
  "/repo/deep": "a/".repeat(1_500),
};
const there = new Set("/repo /repo/link /repo/src /repo/src/up /outside /etc /dev".split(" "));

function context(asked: string[] = []): PathContext {
  return {
    workingDirectory: "/repo",
    realpath: (path) => path,
    isThere: (path) => (asked.push(path), there.has(path)),
    linkTarget: (path) => (asked.push(path), links[path]),
  };
}

describe("a path", () => {
  it("goes on as it is written from the first part that does not exist", () => {
    const asked: string[] = [];
    assert.deepEqual(realLocations("new/link/src/x", context(asked)), ["/repo/new/link/src/x"]);
    assert.deepEqual(
      asked.filter((path) => path.startsWith("/repo/") && path !== "/repo/new"),
      [],
    );
    assert.deepEqual(realLocations("new/../link/x", context()), ["/outside/x"]);
    assert.deepEqual(realLocations("new/a/../../../etc/x", context()), ["/etc/x"]);
  });

  it("is not resolved if it is longer than any system takes", () => {
    const asked: string[] = [];
    for (const path of ["a/".repeat(2_049), `/repo/${"é".repeat(2_048)}`])
      assert.equal(realLocations(path, context(asked)), undefined);
    assert.deepEqual(asked, []);
    assert.deepEqual(realLocations("é".repeat(2_048), context()), [`/repo/${"é".repeat(2_048)}`]);
  });

  it("is not resolved if it has so many parts that the system takes long, by itself or through a link", () => {
    for (const path of ["a/".repeat(1_500), "deep/x"]) {
      const asked: string[] = [];
      const all = { ...context(asked), isThere: (one: string) => (asked.push(one), true) };
      assert.equal(realLocations(path, all), undefined);
      assert.ok(asked.length <= 600, `${asked.length} questions`);
    }
    assert.deepEqual(realLocations("a/".repeat(100), context()), [`/repo${"/a".repeat(100)}`]);
    const request = { kind: "read", paths: ["a/".repeat(1_500)], deep: false } as const;
    const denied = decidePermission("workspace", request, context());
    assert.match(denied.kind === "denied" ? denied.reason : "", /it has more than 128 parts/);
  });

  it("has two places where a program may tidy it up first", () => {
    assert.deepEqual(realLocations("link/../x", context()), ["/repo/x", "/x"]);
    assert.deepEqual(realLocations("link\\..\\x", context()), ["/repo/link\\..\\x", "/x"]);
  });
});

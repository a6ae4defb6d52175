import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { PermissionRules, Permissions } from "../../src/entry/model.ts";
import { mayDelegate, toolsFor } from "../../src/permissions/rules.ts";
import { type PermissionRequest, decidePermission } from "../../src/permissions/policy.ts";
import { holds } from "../rig/fuzz.ts";

describe("mayDelegate", () => {
  const cases: readonly (readonly [Permissions, Permissions, boolean])[] = [
    ["read-only", "read-only", true],
    ["workspace", "read-only", true],
    ["workspace", "workspace", true],
    ["all", "workspace", true],
    ["all", { preset: "all", tools: ["!build"] }, true],
    ["read-only", "workspace", false],
    ["workspace", "all", false],
    ["read-only", { tools: ["build"] }, false],
    [{ tools: ["build"] }, { tools: ["build"] }, true],
    [{ tools: ["delegate/help"] }, "all", true],
    [{ tools: ["delegate/*"] }, "all", true],
    [{ tools: ["delegate"] }, "all", true],
    [{ tools: ["*"] }, "all", false],
    [{ tools: ["*"] }, "read-only", true],
    [{ tools: ["*", "delegate/help"] }, "all", true],
    [{ preset: "all", tools: ["!*"] }, "read-only", false],
    [{ tools: ["delegate/helper"] }, "all", false],
    [{ tools: ["*", "!delegate/help"] }, "read-only", false],
    [{ preset: "all", tools: ["!delegate"] }, "read-only", false],
    [{ preset: "all", tools: ["!delegate/*"] }, "read-only", false],
    [{ preset: "all", tools: ["!docs/search"] }, "all", false],
    [{ preset: "all", tools: ["!docs/search"] }, "read-only", true],
    [{ preset: "all", hosts: ["!a.example"] }, "all", false],
    ["workspace", { hosts: ["a.example"] }, false],
    [{ preset: "workspace", read: ["!secret/**"] }, "read-only", false],
    [{ preset: "workspace", tools: ["!grep"] }, "read-only", false],
    ["workspace", { preset: "read-only", read: ["../other/**"] }, false],
    ["workspace", { preset: "read-only", read: ["!secret/**"] }, true],
    ["workspace", { preset: "workspace", sandbox: "off" }, false],
    ["all", { preset: "all", sandbox: "off" }, false],
    [{ preset: "workspace", sandbox: "off" }, { preset: "workspace", sandbox: "off" }, true],
    [{ preset: "all", hosts: ["!a.example"] }, "all", false],
  ];
  for (const [caller, other, allowed] of cases) {
    it(`${JSON.stringify(caller)} ${allowed ? "may" : "may not"} delegate to ${JSON.stringify(other)}`, () => {
      assert.equal(mayDelegate(caller, "help", other), allowed);
    });
  }

  it("never allows a task that may do more, unless the caller names it", async (t) => {
    const list = (...patterns: string[]): fc.Arbitrary<string[]> =>
      fc.uniqueArray(fc.constantFrom(...patterns, ...patterns.map((one) => `!${one}`)), {
        maxLength: 2,
      });
    const rules = fc.record(
      {
        preset: fc.constantFrom("read-only", "workspace", "all"),
        read: list("src/**", "../x/**", ".env"),
        write: list("src/**", "../x/**"),
        shell: fc.oneof(fc.constant(true as const), list("git log", "rm *")),
        url: list("https://a.example/*"),
        tools: list("build", "docs/*", "docs/search", "grep", "web_fetch"),
      },
      { requiredKeys: [] },
    );
    const permissions: fc.Arbitrary<Permissions> = fc.oneof(
      fc.constantFrom("read-only", "workspace", "all"),
      rules as fc.Arbitrary<PermissionRules>,
    );
    const requests: readonly PermissionRequest[] = [
      ...["/w/src/a", "/w/.env", "/w/b", "/x/a"].flatMap((path) => [
        { kind: "read" as const, paths: [path], deep: false },
        { kind: "write" as const, paths: [path] },
      ]),
      ...["git log", "rm -r src", "npm test"].map((command) => ({
        kind: "shell" as const,
        command,
      })),
      ...["https://a.example/b", "https://b.example/"].map((url) => ({
        kind: "url" as const,
        url,
      })),
      ...["build", "docs/search", "docs/x", "other"].map((name) => ({
        kind: "tool" as const,
        name,
      })),
    ];
    const context = {
      workingDirectory: "/w",
      realpath: (path: string) => path,
      isThere: () => true,
      linkTarget: () => undefined,
    };
    let delegated = 0;
    const property = fc.property(permissions, permissions, (caller, other) => {
      if (!mayDelegate(caller, "help", other)) return;
      delegated += 1;
      for (const request of requests) {
        if (decidePermission(other, request, context).kind !== "allowed") continue;
        assert.equal(
          decidePermission(caller, request, context).kind,
          "allowed",
          JSON.stringify(request),
        );
      }
      const offered = toolsFor(caller);
      if (offered.includes("builtin:*")) return;
      for (const name of toolsFor(other)) assert.ok(offered.includes(name), name);
    });
    await holds(t, property, 500);
    assert.ok(delegated > 4, String(delegated));
  });
});

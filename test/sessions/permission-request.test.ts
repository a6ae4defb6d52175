/** No wording of the runtime allows more: what a request would do is proven from its data, or refused. */
import type { PermissionRequest } from "@github/copilot-sdk";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decidePermission } from "../../src/permissions/policy.ts";
import { fromRuntime } from "../../src/sessions/permission-handler.ts";
import { diffOf } from "../rig/diff.ts";

const context = {
  workingDirectory: "/repo",
  realpath: (path: string) => path,
  isThere: () => true,
  linkTarget: () => undefined,
};

function allowed(request: PermissionRequest): boolean {
  return decidePermission("workspace", fromRuntime(request), context).kind === "allowed";
}

function write(fileName: string, diff: string, intention: string): PermissionRequest {
  return { kind: "write", fileName, diff, intention, canOfferSessionApproval: false };
}

describe("requests of the runtime", () => {
  it("a write is judged by its diff, whatever the runtime calls it, and refused if that proves nothing", () => {
    for (const intention of ["Edit file", "Move and update file", "", "Передвинуть"]) {
      for (const from of ["/repo/b", "/outside/b", "/repo/.env"]) {
        const moved = write("/repo/a", diffOf(from, "/repo/a"), intention);
        assert.equal(allowed(moved), from === "/repo/b", `${intention} ${from}`);
      }
      const head = diffOf("/repo/a");
      for (const diff of [
        "",
        "@@ -1 +1 @@\n-a\n+b\n",
        "--- a/repo/a\n+++ b/repo/a\n@@ -1 +1 @@\n",
        head.replace("--- a/repo/a\n", ""),
        head.replace("+++ b/repo/a\n", ""),
        head.replace("diff --git a/repo/a", "diff --git a/outside/a"),
        diffOf("/dev/null"),
        // Two files, in one head.
        `${diffOf("/repo/a").replace(/@@.*\n/, "")}${diffOf("/outside/a")}`,
        // Names with a line break that look like the head of another diff.
        diffOf("/outside/x\n--- a/repo/a\n+++ b/repo/a\n@@ -1 +1 @@", "/repo/a"),
        diffOf("/outside/x\n--- a/repo/a\n+++ b/repo/a\nq", "/repo/a"),
      ]) {
        const request = write("/repo/a", diff, intention);
        assert.equal(allowed(request), false, JSON.stringify([intention, diff]));
        assert.equal(fromRuntime(request).kind, "other", JSON.stringify([intention, diff]));
      }
    }
  });

  it("a read is taken for a search of all below unless its words are known to mean less", () => {
    for (const intention of ["Look at file: /repo", "", "Search in directory: /repo"]) {
      const request = fromRuntime({ kind: "read", path: "/repo", intention });
      assert.ok(request.kind === "read" && request.deep, intention);
    }
  });
});

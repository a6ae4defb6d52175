/** The places that a context of a session adds: files of the run, folders to read, where the shell is. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { decidePermission, type PermissionContext } from "../../src/permissions/policy.ts";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realPathOf, removeDirectory } from "../../src/platform/files.ts";
import { makeRunFolder } from "../../src/platform/run-folder.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const links: Readonly<Record<string, string>> = { "/repo/link": "/run", "/alias": "/run" };
const files = {
  workingDirectory: "/repo",
  platform: "linux",
  realpath: (path: string): string => path,
  isThere: (): boolean => true,
  linkTarget: (path: string): string | undefined => links[path],
} as const;

type Places = Partial<PermissionContext>;

function may(
  kind: "read" | "write",
  path: string,
  permissions: Permissions,
  places: Places,
): boolean {
  const request = kind === "read" ? { kind, paths: [path], deep: false } : { kind, paths: [path] };
  return decidePermission(permissions, request, { ...files, ...places }).kind === "allowed";
}

const open: readonly Permissions[] = ["all", { write: ["/**"], read: ["/**"] }];

describe("a file that the run writes", () => {
  it("is not written to, whatever it is called, and may be read", () => {
    for (const permissions of open) {
      for (const kept of ["/run/journal.jsonl", "/alias/journal.jsonl"]) {
        const places = { kept: [kept] };
        for (const path of ["/run/journal.jsonl", "link/journal.jsonl", "/RUN/Journal.JSONL"])
          assert.equal(may("write", path, permissions, places), false, `${kept} ${path}`);
        assert.equal(may("write", "/run/journal.jsonl.txt", permissions, places), true);
        assert.equal(may("read", "/run/journal.jsonl", permissions, places), true);
      }
      assert.equal(may("write", "/run/a/b", permissions, { kept: ["/run"] }), false, "a folder");
    }
  });
  it("may be known by a question about its real path only", () => {
    for (const permissions of open) {
      const places = { isOfRun: (path: string): boolean => path.startsWith("/run/") };
      assert.equal(may("write", "link/x", permissions, places), false);
      assert.equal(may("read", "link/x", permissions, places), true);
      assert.equal(may("write", "x", permissions, { isOfRun: () => true }), true, "inside");
    }
  });
});

describe("a folder that may be read", () => {
  const places = { readable: ["/alias"] };
  it("is read with all that it holds, and never written to", () => {
    for (const path of ["/run/a", "/run/sub/.env", "link/a"]) {
      assert.equal(may("read", path, "workspace", places), true, path);
      assert.equal(may("write", path, "workspace", places), false, path);
      assert.equal(may("read", path, "workspace", {}), false, path);
    }
    assert.equal(may("read", "/runs/a", "workspace", places), false);
    assert.equal(may("read", "/RUN/a", "workspace", places), false);
  });
  it("is not read where a rule denies it", () => {
    assert.equal(may("read", "/run/a", { read: ["!/run/a"] }, places), false);
  });
});

describe("a private file outside of the working directory", () => {
  it("needs a pattern that names it, however short the names are", () => {
    for (const path of ["/o/.env", "/.env", "/o/.git/config"])
      assert.equal(may("read", path, { read: ["/**"] }, {}), false, path);
    assert.equal(may("read", "/o/.env", { read: ["/o/.env"] }, {}), true);
    assert.equal(
      may("read", "a", { preset: "workspace" }, { workingDirectory: "/home/.ssh/repo" }),
      true,
      "the working directory itself may be in a private folder",
    );
  });
});

it("a command is refused where no command is allowed", () => {
  for (const permissions of ["read-only", { shell: [] }] as const) {
    const request = { kind: "shell", command: "ls" } as const;
    const decision = decidePermission(permissions, request, files);
    assert.match(JSON.stringify(decision), /denied.*allow no shell commands/);
  }
});

/** File tools write to no folder of a run, which holds programs that run and says which processes may be ended. */
const mayWrite = (permissions: Permissions, path: string, workingDirectory: string): boolean =>
  may("write", path, permissions, { ...realFiles, workingDirectory });

for (const permissions of open) {
  test(`a folder of a run is not written to: ${JSON.stringify(permissions)}`, async (t) => {
    const { path: workingDirectory } = await makeWorkspace(t);
    const run = await makeRunFolder("tools-");
    t.after(() => removeDirectory(run.path));
    const path = realPathOf(run.path);
    for (const name of ["module-worker.mjs", "owner.json", "results/1.txt", "", "x/../owner.json"])
      assert.equal(mayWrite(permissions, `${path}/${name}`, workingDirectory), false, name);
    assert.equal(mayWrite(permissions, join(`${run.path}//results`, "x"), workingDirectory), false);
    // It may be the parent of a rehearsal's workspace.
    await mkdir(join(path, "workspace"));
    assert.equal(mayWrite(permissions, "a.txt", join(path, "workspace")), true);
    assert.equal(mayWrite(permissions, "../owner.json", join(path, "workspace")), false);
  });

  test(`no folder is made to look like one of a run: ${JSON.stringify(permissions)}`, async (t) => {
    const { path: workingDirectory } = await makeWorkspace(t);
    const folder = join(realPathOf(tmpdir()), `agent-jobs-${process.pid}-made-up`);
    t.after(() => rm(folder, { recursive: true, force: true }));
    assert.equal(mayWrite(permissions, join(folder, "owner.json"), workingDirectory), false);
    assert.equal(mayWrite(permissions, join(folder, "notes.md"), workingDirectory), true);
  });
}

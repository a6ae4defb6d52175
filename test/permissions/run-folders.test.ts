/** File tools write to no folder of a run, which holds programs that run and says which processes may be ended. */
import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { realPathOf, removeDirectory } from "../../src/platform/files.ts";
import { makeRunFolder } from "../../src/platform/run-folder.ts";
import { decidePermission } from "../../src/permissions/policy.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const open: readonly Permissions[] = ["all", { write: ["/**"] }];

function mayWrite(permissions: Permissions, path: string, workingDirectory: string): boolean {
  const request = { kind: "write", paths: [path] } as const;
  const context = { ...realFiles, workingDirectory };
  return decidePermission(permissions, request, context).kind === "allowed";
}

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

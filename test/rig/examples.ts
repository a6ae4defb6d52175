import assert from "node:assert/strict";
import { it } from "node:test";
import { runCli } from "./cli.ts";

/** Registers the tests. `names`: the files in the folder. */
export function examplesHold(folder: string, names: readonly string[]): void {
  it("are valid, without a warning", async () => {
    const { code, stdout } = await runCli(["validate", "--strict", ...names], { cwd: folder });
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /warning/);
  });

  it("have rehearsals that pass", async () => {
    const rehearsals = names.filter((name) => name.endsWith(".rehearsal.yml"));
    const { code, stdout, stderr } = await runCli(["rehearse", ...rehearsals], { cwd: folder });
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`^${rehearsals.length} passed, 0 failed$`, "m"));
  });
}

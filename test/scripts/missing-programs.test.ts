/** Tests on a machine that has nothing but Node, git and what every system has. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../src/platform/search-path.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { runScript } from "./rig.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const build = fileURLToPath(new URL("../../", import.meta.url));

it("a test whose program is missing is skipped, and the last lines say so; in CI it fails", async (t) => {
  const { path: PATH } = await makeWorkspace(t);
  for (const name of "bash cat cp git ln mkdir mv rm sh touch".split(" "))
    await symlink(findProgram(name, process.env) ?? name, join(PATH, name));
  const files = ["action/step-files", "browser/actions", "cli/own-files"];
  const play = (env: Readonly<Record<string, string>>): ReturnType<typeof runScript> =>
    runScript(
      "--test",
      [
        `--test-reporter=${join(root, "scripts/test-reporter.mjs")}`,
        ...files.map((name) => join(build, "test", `${name}.test.js`)),
      ],
      { PATH, ...env },
    );
  const alone = await play({ CI: "" });
  assert.equal(alone.code, 0, alone.stdout);
  assert.match(alone.stdout, /\d passed, 0 failed, 3 skipped/);
  assert.match(
    alone.stdout,
    /^1 skipped: bubblewrap is not installed\. Install it with `sudo apt-get install bubblewrap`\n2 skipped: Chromium or Chrome is not installed\. Install it with `sudo apt-get install chromium`$/m,
  );
  const inCi = await play({ CI: "true" });
  assert.equal(inCi.code, 1);
  assert.match(inCi.stdout, / 0 skipped, /);
  for (const name of files) assert.match(inCi.stdout, new RegExp(`^✖ .*${name}`, "m"));
});

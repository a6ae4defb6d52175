/** The last lines of `npm test` say which tests failed, and which a machine couldn't run. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../src/platform/search-path.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { runScript, type Ended } from "./rig.ts";

const script = fileURLToPath(new URL("../../../scripts/test.mjs", import.meta.url));
const endOf = ({ stdout }: Ended): readonly string[] =>
  stdout
    .slice(stdout.search(/^\d+ passed/m))
    .trimEnd()
    .split("\n");

it("ends with counts, the reasons of skipped tests, and the names of all that failed", async (t) => {
  const { path } = await makeWorkspace(t, {
    "package.json": '{ "type": "module" }',
    "a.test.js": `
      import { describe, it, test } from "node:test";
      describe("group", () => {
        it("works", () => {});
        it("fails", () => { throw new Error("because of this"); });
        it("measures", { skip: "only in the nightly workflow" }, () => {});
        for (const name of ["x", "y"]) it(name, { skip: "z is not installed" }, () => {});
      });
      test("parent", (t) => t.test("child", () => { throw new Error("or that"); }));
    `,
    "b.test.js": 'import "./nowhere.js";',
    "c.test.js": 'import { test } from "node:test"; test("works too", () => {});',
  });
  const ended = await runScript(
    script,
    ["a", "b", "c"].map((name) => join(path, name)),
  );
  assert.equal(ended.code, 1);
  for (const reason of ["because of this", "or that", "nowhere.js"])
    assert.ok(ended.stdout.includes(reason), reason);
  const [counts = "", reason, ...rest] = endOf(ended);
  assert.match(
    counts,
    /^2 passed, 3 failed, 2 skipped \(and 1 left to the nightly workflow\), in \d+\.\d minutes$/,
  );
  assert.equal(reason, "2 skipped: z is not installed");
  assert.deepEqual(
    rest
      .filter((line) => line.startsWith("✖"))
      .map((line) => line.replace(/^✖ .*?([abc]\.test\.js)/, "$1")),
    ["a.test.js: group > fails", "a.test.js: parent > child", "b.test.js"],
  );
});

it("skips a test whose program is missing, and says how to install it; in CI it fails", async (t) => {
  const { path: PATH } = await makeWorkspace(t);
  for (const name of "bash cat cp git ln mkdir mv rm sh touch".split(" "))
    await symlink(findProgram(name, process.env) ?? name, join(PATH, name));
  const files = ["action/step-files", "browser/actions", "cli/own-files"];
  const alone = await runScript(script, files, { PATH, CI: "" });
  assert.equal(alone.code, 0, alone.stdout);
  const [counts = "", ...reasons] = endOf(alone);
  assert.match(counts, /\d passed, 0 failed, 3 skipped, in /);
  assert.deepEqual(reasons, [
    "1 skipped: bubblewrap is not installed. Install it with `sudo apt-get install bubblewrap`",
    "2 skipped: Chromium or Chrome is not installed. Install it with `sudo apt-get install chromium`",
  ]);
  const inCi = await runScript(script, files, { PATH, CI: "true" });
  assert.equal(inCi.code, 1);
  assert.match(inCi.stdout, / 0 skipped, /);
  for (const name of files) assert.match(inCi.stdout, new RegExp(`^✖ .*${name}`, "m"));
});

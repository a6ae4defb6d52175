/** Whoever reads the end of a log learns which tests failed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeWorkspace } from "../rig/workspace.ts";
import { runScript } from "./rig.ts";

const reporter = fileURLToPath(new URL("../../../scripts/test-reporter.mjs", import.meta.url));

it("the reporter of npm test ends with the names of all that failed", async (t) => {
  const workspace = await makeWorkspace(t, {
    "package.json": '{ "type": "module" }',
    "a.test.js": `
      import { describe, it, test } from "node:test";
      describe("group", () => {
        it("works", () => {});
        it("fails", () => { throw new Error("because of this"); });
        it.skip("comes later", () => {});
      });
      test("parent", (t) => t.test("child", () => { throw new Error("or that"); }));
    `,
    "b.test.js": 'import "./nowhere.js";',
    "c.test.js": 'import { test } from "node:test"; test("works too", () => {});',
  });
  const files = ["a", "b", "c"].map((name) => join(workspace.path, `${name}.test.js`));
  const { code, stdout } = await runScript("--test", [`--test-reporter=${reporter}`, ...files]);
  assert.equal(code, 1);
  for (const reason of ["because of this", "or that", "nowhere.js"])
    assert.ok(stdout.includes(reason), reason);
  const end = stdout.slice(stdout.indexOf("2 passed, 3 failed, 1 skipped"));
  const [, ...names] = end.trimEnd().split("\n");
  assert.deepEqual(
    names.map((line) => line.replace(/^✖ .*?([abc]\.test\.js)/, "$1")),
    ["a.test.js: group > fails", "a.test.js: parent > child", "b.test.js"],
  );
});

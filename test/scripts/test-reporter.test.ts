/** Whoever reads the end of a log learns which tests failed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeWorkspace } from "../rig/workspace.ts";
import { runScript } from "./rig.ts";

const repeat = fileURLToPath(new URL("../../../scripts/repeat-failed-tests.mjs", import.meta.url));
const reporter = fileURLToPath(new URL("../../../scripts/test-reporter.mjs", import.meta.url));

it("the reporter of npm test ends with the names of all that failed", async (t) => {
  const workspace = await makeWorkspace(t, {
    "package.json": '{ "type": "module" }',
    "a.test.js": `
      import { describe, it, test } from "node:test";
      const onlyNightlyHere = { skip: "only in the nightly workflow" };
      describe("group", () => {
        it("works", () => {});
        it("fails", () => { throw new Error("because of this"); });
        it.skip("comes later", () => {});
        it("measures", onlyNightlyHere, () => {});
        for (const name of ["x", "y"]) it(name, { skip: "z is not installed" }, () => {});
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
  const end = stdout.slice(
    stdout.indexOf("2 passed, 3 failed, 3 skipped (and 1 left to the nightly workflow)"),
  );
  const [, reason, ...names] = end.trimEnd().split("\n");
  assert.equal(reason, "2 skipped: z is not installed");
  assert.deepEqual(
    names.map((line) => line.replace(/^✖ .*?([abc]\.test\.js)/, "$1")),
    ["a.test.js: group > fails", "a.test.js: parent > child", "b.test.js"],
  );
});

it("a file that failed is run again alone, and only one that fails again fails", async (t) => {
  const workspace = await makeWorkspace(t, {
    "package.json": '{ "type": "module" }',
    "flaky.test.js": `
      import { existsSync, writeFileSync } from "node:fs";
      import { test } from "node:test";
      const mark = new URL("mark", import.meta.url);
      test("fails once", () => {
        if (existsSync(mark)) return;
        writeFileSync(mark, "");
        throw new Error("beside others");
      });
    `,
    "broken.test.js":
      'import { test } from "node:test"; test("fails", () => { throw new Error(); });',
    "shared.js": `
      import { test } from "node:test";
      export const define = () => test("fails", () => { throw new Error(); });
    `,
    "user.test.js": 'import { define } from "./shared.js"; define();',
    "fine.test.js": 'import { test } from "node:test"; test("works", () => {});',
  });
  const list = join(workspace.path, "failed.json");
  const play = (...names: readonly string[]): ReturnType<typeof runScript> =>
    runScript(
      "--test",
      [`--test-reporter=${reporter}`, ...names.map((name) => join(workspace.path, name))],
      { AGENT_JOBS_FAILED_TESTS: list },
    );

  assert.equal((await play("flaky.test.js", "fine.test.js")).code, 1);
  const flaky = await runScript(repeat, [list]);
  assert.equal(flaky.code, 0, flaky.stdout);
  assert.match(flaky.stdout, /Flaky: .*flaky\.test\.js failed beside other files/);
  assert.doesNotMatch(flaky.stdout, /fine\.test\.js/);

  for (const name of ["broken.test.js", "user.test.js"]) {
    assert.equal((await play(name)).code, 1);
    assert.equal((await runScript(repeat, [list])).code, 1, name);
  }
});

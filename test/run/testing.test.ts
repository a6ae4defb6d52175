/** `agent-jobs/testing`, as a project uses it that has installed the package. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { installPackage } from "../rig/dist.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

const suite = `import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse, rehearsalFiles, RehearsalError, type Rehearsed } from "agent-jobs/testing";

for (const file of await rehearsalFiles("good")) {
  test(file, async () => {
    const { rehearsals, coverage }: Rehearsed = await rehearse(file);
    assert.deepEqual([rehearsals.map((one) => one.jobName), coverage.percent], [["job"], 100]);
  });
}
test("bad", () =>
  assert.rejects(rehearse(["good", "bad/*"]), (error: unknown) => {
    assert.ok(error instanceof RehearsalError);
    assert.match(error.message, /^bad.b\\.rehearsal\\.yml failed:\\n {2}.*no rule expects/);
    assert.deepEqual(Object.keys(error.failures), ["bad/b.rehearsal.yml"]);
    return true;
  }));
test("nothing", () => assert.rejects(rehearse("none*.yml"), /No rehearsal matches/));
`;

test("a suite of node:test in another project rehearses with the installed package", async (t) => {
  const rehearsal = (says: string): string =>
    `entry: ../e.yml\nsessions: [{ turns: [{ prompt: ${says}, text: Done. }] }]\n`;
  const { path: cwd } = await makeWorkspace(t, {
    "package.json": '{ "type": "module" }',
    "e.yml":
      "models: { driving: m }\ntasks: { a: { model: { category: driving }, prompt: Say A } }\njobs: { job: { work: { kind: Ref, taskId: a } } }\n",
    "good/a.rehearsal.yml": rehearsal("Say A"),
    "bad/b.rehearsal.yml": rehearsal("Say B"),
    "suite.test.ts": suite,
    "node_modules/.keep": "",
  });
  const modules = join(cwd, "node_modules");
  await installPackage(cwd);
  await symlink(join(root, "node_modules/@types"), join(modules, "@types"));
  const compiler = join(root, "node_modules/.bin/tsc");
  const strict = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", "node"];
  await run(compiler, ["--ignoreConfig", ...strict, "suite.test.ts"], { cwd }).catch((error) =>
    assert.fail(String(error.stdout)),
  );
  // Otherwise it would report to this test's runner.
  const { NODE_TEST_CONTEXT: _runner, ...env } = process.env;
  const child = spawn(process.execPath, ["--test", "suite.test.js"], { cwd, env });
  const [printed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.match(printed, /pass 3\b/, printed);
  assert.match(printed, /fail 0\b/, printed);
});

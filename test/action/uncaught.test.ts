import assert from "node:assert/strict";
import { test } from "node:test";
import { runBundledStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { files, inputs } from "./rig.ts";

test("a step can't be made to issue a command by an error that nothing catches", async (t) => {
  const workspace = await makeWorkspace(t, {
    ...files,
    "throws.cjs": `process.on("newListener", (name) => {
      if (name === "uncaughtException")
        setImmediate(() => { throw new Error("x\\n::set-env name=x::y\\n##[error]z"); });
    });`,
  });
  const result = await runBundledStep(t, {
    workspace: workspace.path,
    inputs,
    env: { NODE_OPTIONS: `--require=${workspace.path}/throws.cjs` },
  });
  assert.equal(result.code, 1);
  const names = result.commands.map(({ name }) => name);
  assert.ok(!names.some((name) => ["set-env", "error]z"].includes(name)), names.join());
  assert.deepEqual(
    [result.outputs["result"], result.outputs["reason"]?.startsWith("This is a bug")],
    ["failure", true],
    result.raw,
  );
  assert.match(result.summary, /This is a bug in agent-jobs/);
});

test("a step ends at once if it can't report an error that nothing catches without the next one", async (t) => {
  const workspace = await makeWorkspace(t, {
    ...files,
    "throws.cjs": `let thrown = 0;
    const fail = () => {
      if (++thrown > 1_000) process.kill(process.pid, "SIGKILL");
      process.nextTick(() => { throw new Error("again"); });
    };
    process.on("newListener", (name) => {
      if (name === "uncaughtException") setImmediate(() => {
        const { write } = process.stdout;
        process.stdout.write = (...given) => { fail(); return write.apply(process.stdout, given); };
        fail();
      });
    });`,
  });
  const result = await runBundledStep(t, {
    workspace: workspace.path,
    inputs,
    env: { NODE_OPTIONS: `--require=${workspace.path}/throws.cjs` },
  });
  assert.equal(result.code, 1);
  assert.equal(result.outputs["result"], "failure");
});

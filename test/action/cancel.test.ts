import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isRunning, processesMarked, sendSignal } from "../../src/platform/processes.ts";
import { readReport } from "../reports/rig.ts";
import { bash, modelServer } from "../rig/model-server.ts";
import { runBundledStep, runPost, startStep, type Step, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entry, files, inputs, type Test } from "./rig.ts";

/** A step whose agent waits in a shell that does not want to end, and has left another one behind. */
async function startWaiting(
  t: Parameters<typeof startStep>[0],
  permissions = "all",
): Promise<{
  readonly step: Step;
  /** The processes that are left of its run. */
  readonly marked: () => Promise<readonly number[]>;
  readonly path: string;
}> {
  const command = `nohup sleep 311 >/dev/null 2>&1 & trap "" TERM; touch started; sleep 312`;
  const server = await modelServer(t, () => ({ toolCalls: [bash(command)] }));
  const workspace = await makeWorkspace(t, {
    ...files,
    "entries/hello.yml": `${entry}permissions: ${permissions}\n`,
  });
  // A private folder: otherwise, any other run that starts on this machine would end what a killed one has left.
  const temporary = await makeWorkspace(t);
  const step = await startStep(t, {
    workspace: workspace.path,
    env: { TMPDIR: temporary.path, GITHUB_RUN_ATTEMPT: "1", GITHUB_JOB: "greet" },
    inputs: {
      entry: "entries/hello.yml",
      "user-input": "you",
      "output-dir": "out",
      "provider-base-url": server.baseUrl,
    },
  });
  t.after(() => sendSignal(step.pid, "SIGKILL"));
  while ((await workspace.read("started").catch(() => undefined)) === undefined) {
    assert.ok(isRunning(step.pid), "It ended early.");
    await sleep(50);
  }
  const { run = "" } = await step.state();
  const marked = () => processesMarked("AGENT_JOBS_RUN", run);
  t.after(async () => {
    for (const pid of await marked()) sendSignal(pid, "SIGKILL");
  });
  assert.ok((await marked()).length >= 3);
  return { step, marked, path: workspace.path };
}

/** The runs in the report of the step. */
async function reported(path: string): Promise<readonly unknown[]> {
  const { boot, events } = readReport(await readFile(join(path, "out/report.html"), "utf8"));
  assert.ok(events.some(({ type }) => type === "turn.started"));
  return boot.runs.map(({ jobName, status }) => [jobName, status]);
}

describe("a step that is canceled", () => {
  it("by SIGTERM ends with summary, outputs and report, and leaves nothing", async (t) => {
    const { step, marked, path } = await startWaiting(t);
    step.signal("SIGTERM");
    const result = await step.ended;
    assert.equal(result.code, 1, result.raw);
    assert.equal(result.outputs["result"], "cancelled");
    assert.match(result.outputs["reason"] ?? "", /SIGTERM/);
    assert.match(result.summary, /cancel/i);
    assert.deepEqual(await reported(path), [["hello", "canceled"]]);
    assert.deepEqual(await marked(), []);
  });

  it("does the same if it has only begun to load, however long that takes", async (t) => {
    const hook = `export async function load(url, context, next) {
      if (!url.endsWith("/action/action.js")) return next(url, context);
      process.kill(process.pid, "SIGINT");
      return new Promise(() => {});
    }`;
    const script = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
    const register = `import { register } from "node:module"; register(${JSON.stringify(script(hook))});
      setInterval(() => {}, 60_000);`;
    const { path } = await makeWorkspace(t, files);
    const result = await runBundledStep(t, {
      workspace: path,
      mode: "rehearse",
      inputs,
      env: { NODE_OPTIONS: `--import=${script(register)}` },
      // In a bundle there is no such module.
      main: fileURLToPath(new URL("../../src/action/mains/rehearse.js", import.meta.url)),
    });
    assert.equal(result.code, 1, result.raw);
    assert.equal(result.outputs["result"], "cancelled");
    assert.match(result.outputs["reason"] ?? "", /SIGINT/);
    assert.match(result.summary, /cancel/i);
  });

  it("does the same with a runtime that has stopped answering", async (t) => {
    const { step, marked, path } = await startWaiting(t);
    for (const pid of await marked()) sendSignal(pid, "SIGSTOP");
    step.signal("SIGINT");
    const result = await step.ended;
    assert.equal(result.outputs["result"], "cancelled");
    assert.match(result.summary, /cancel/i);
    assert.equal((await reported(path)).length, 1);
    assert.deepEqual(await marked(), []);
  });
});

it("a step whose log nobody reads any more ends as one that is canceled", async (t) => {
  const server = await modelServer(t, () => ({ text: "Done." }));
  const task = { prompt: "go", model: { category: "driving" } };
  const iteration = { kind: "Ref", taskId: "t" };
  const entry = {
    models: { driving: "m1" },
    tasks: { t: task },
    limits: { loopIterations: 10_000, modelCalls: 10_000 },
    jobs: { hello: { work: { kind: "Loop", body: iteration, postCondition: [true, iteration] } } },
  };
  const { path } = await makeWorkspace(t, { "e.json": JSON.stringify(entry) });
  const step = await startStep(t, {
    workspace: path,
    inputs: {
      entry: "e.json",
      "output-dir": "out",
      "provider-base-url": server.baseUrl,
    },
  });
  await step.printed("::endgroup::");
  step.stopReading();
  const result = await step.ended;
  assert.equal(result.code, 1);
  assert.equal(result.outputs["result"], "cancelled");
  assert.match(result.outputs["reason"] ?? "", /^the log can't be written: .*(?:EPIPE|ECONNRESET)/);
  assert.deepEqual(await reported(path), [["hello", "canceled"]]);
});

describe("the post step", () => {
  it("ends what a killed step left, and no other process", async (t) => {
    // In a sandbox, the system ends everything with the step.
    const unconfined = "{ preset: all, sandbox: off }";
    const { step, marked, path } = await startWaiting(t, unconfined);
    const other = await startWaiting(t, unconfined);
    const state = await step.state();
    step.signal("SIGKILL");
    // A later step uploads the journal by these, whatever killed this one.
    const { outputs } = await step.ended;
    assert.equal(outputs["journal"], "out/journal.jsonl");
    assert.match(outputs["journal-artifact"] ?? "", /^agent-jobs-[0-9a-f]{8}-greet-1$/);
    assert.match(await readFile(join(path, "out/journal.jsonl"), "utf8"), /"type":"turn.started"/);
    assert.notDeepEqual(await marked(), []);
    const result = await runPost(path, state);
    assert.equal(result.code, 0, result.raw);
    assert.match(result.log, /Ended \d+ processes that the run left behind\./);
    assert.deepEqual(await marked(), []);
    assert.ok((await other.marked()).length >= 3);
    assert.ok(isRunning(other.step.pid));
  });

  it("ends nothing without a mark of ours", async (t) => {
    const { path } = await makeWorkspace(t);
    for (const run of ["CI=true", "00000000-0000-0000-0000-000000000000\n"]) {
      const result = await runPost(path, { run });
      assert.equal(result.code, 0);
      assert.doesNotMatch(result.log, /Ended|Nothing is left/);
    }
  });
});

/** A step whose process runs `listening` as soon as errors that nothing catches are listened for. */
async function throwing(t: Test, listening: string): Promise<StepResult> {
  const workspace = await makeWorkspace(t, {
    ...files,
    "throws.cjs": `process.on("newListener", (name) => {
      if (name === "uncaughtException") setImmediate(() => { ${listening} });
    });`,
  });
  const env = { NODE_OPTIONS: `--require=${workspace.path}/throws.cjs` };
  return runBundledStep(t, { workspace: workspace.path, mode: "rehearse", inputs, env });
}

test("a step can't be made to issue a command by an error that nothing catches", async (t) => {
  const result = await throwing(t, 'throw new Error("x\\n::set-env name=x::y\\n##[error]z");');
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
  const result = await throwing(
    t,
    `let thrown = 0;
    const fail = () => {
      if (++thrown > 1_000) process.kill(process.pid, "SIGKILL");
      process.nextTick(() => { throw new Error("again"); });
    };
    const { write } = process.stdout;
    process.stdout.write = (...given) => { fail(); return write.apply(process.stdout, given); };
    fail();`,
  );
  assert.equal(result.code, 1);
  assert.equal(result.outputs["result"], "failure");
});

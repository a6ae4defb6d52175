/** `runWorkflow`: a workflow as a promise, with what the application gives and gets. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { runWorkflow, type RunWorkflowOptions } from "../../src/host/run-workflow.ts";
import { loadWorkflow } from "../../src/run/workflow-run.ts";
import type { RunEvent } from "../../src/events/event.ts";
import type { Workflow } from "../../src/workflow/model.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const greeting = `# Greeting\n\n${workflowText(`PARAMS["NAME, TONE=kind"]
START --> SET_A["WHO={{NAME}} ({{TONE}})"] --> ASK_OK["Greet {{WHO}}?"] --> CHECK_OK{RESULT == yes}
CHECK_OK -->|yes| SUCCESS
CHECK_OK -->|no| FAILED`)}`;

function loaded(text: string, file: string): Workflow {
  const result = loadWorkflow(text, file);
  assert.ok(result.kind === "loaded", JSON.stringify(result));
  return result.workflow;
}

async function makeRun(t: TestContext, text: string) {
  const workspace = await makeWorkspace(t, { "greeting.wf.md": text });
  const { path: folder } = workspace;
  const file = join(folder, "greeting.wf.md");
  const workflow = loaded(await workspace.read("greeting.wf.md"), file);
  const run = (options: RunWorkflowOptions = {}) =>
    runWorkflow(workflow, {
      environment: { PATH: process.env["PATH"] },
      workingDirectory: folder,
      ...options,
    });
  return { folder, file, workflow, run };
}

const NAME = "Ada";
const params = { NAME };

describe("runWorkflow", () => {
  it("gives the status, RESULT and the variables", async (t) => {
    const { run } = await makeRun(t, greeting);
    const { status, result, variables, reason, runId, view } = await run({
      params,
      answers: { ASK_OK: ["yes"] },
    });
    assert.deepEqual([status, result, reason], ["succeeded", "yes", undefined]);
    assert.equal(variables["WHO"], "Ada (kind)");
    assert.match(runId, /^[0-9a-f-]{36}$/);
    assert.equal(view.works.get(0)?.status, "succeeded");
  });

  it("says of an output that was cut more than once how much of the original is missing", async (t) => {
    const text = workflowText('START --> EXECUTE_A["seq 200000"]');
    const { run } = await makeRun(t, `---\npermissions: { shell: true }\n---\n${text}`);
    const { result, view } = await run();
    const whole = "$ seq 200000\n".length + 1_288_894;
    const step = view.works.get(0)?.flow?.steps.at(-1);
    for (const kept of [result, step?.result ?? ""]) {
      const [, head = "", left, tail = ""] =
        /^([^]*)\n\[(\d+) characters left out\]\n([^]*)$/.exec(kept) ?? [];
      assert.doesNotMatch(head, /left out/);
      assert.ok(
        Math.abs(head.length + Number(left) + tail.length - whole) <= 1,
        `${left} left out`,
      );
    }
  });

  it("asks a function what the answers don't answer", async (t) => {
    const { run } = await makeRun(t, greeting);
    const asked: string[] = [];
    const { status, result, reason } = await run({
      params: { NAME, TONE: "cold" },
      ask: (question) => {
        asked.push(`${question.activity} ${question.times}: ${question.question}`);
        return Promise.resolve({ kind: "answered", text: "no" });
      },
    });
    assert.deepEqual(asked, ["ASK_OK 0: Greet Ada (cold)?"]);
    assert.deepEqual([status, result], ["failed", "no"]);
    assert.match(reason ?? "", /FAILED/);
  });

  it("yields to the event loop while activities follow one another that wait for nothing", async (t) => {
    const text = `---\nlimits:\n  activityHits: 20\n---\n${workflowText("START --> SET_A[A=a] --> SET_A")}`;
    const { run } = await makeRun(t, text);
    let waiting = 0;
    let steps = 0;
    // Each takes so long that others must get their turn before the next one.
    const report = (event: RunEvent): void => {
      if (event.type !== "step.started") return;
      assert.equal(waiting, 0);
      waiting += 1;
      setImmediate(() => (waiting -= 1));
      for (const began = performance.now(); performance.now() - began < 10;);
      steps += 1;
    };
    const { reason } = await run({ reporters: [{ name: "others", report }] });
    assert.match(reason ?? "", /activityHits/);
    assert.ok(steps >= 20);
  });

  it("sends prompts, and passes every event to the reporters and the journal", async (t) => {
    const server = await modelServer(t, ({ prompt }) => ({ text: `You said: ${prompt}` }));
    const text = `---\nmodel: m\n---\n${workflowText("START --> PROMPT_A[User Hi]", "## User Hi\n\nHello, {{USER_INPUT}}.\n")}`;
    const { run, folder } = await makeRun(t, text);
    const types: string[] = [];
    const [journal, history] = [join(folder, "run.jsonl"), join(folder, "steps")];
    const { status, result, view } = await run({
      provider: { baseUrl: server.baseUrl },
      userInput: "you",
      reporters: [{ report: ({ type }) => void types.push(type) }],
      journal,
      history,
    });
    assert.match(await readFile(join(history, "002-PROMPT_A.md"), "utf8"), /You said/);
    assert.deepEqual([status, result], ["succeeded", "You said: Hello, you."]);
    assert.equal(view.totals.modelCalls, 1);
    assert.ok(types.includes("step.ended") && types.at(-1) === "run.ended");
    assert.match(await readFile(journal, "utf8"), /"type":"step.ended"/);
  });

  it("has failed if its journal or its history is incomplete", async (t) => {
    for (const name of ["journal", "history"]) {
      const { run, folder } = await makeRun(t, greeting);
      const path = join(folder, "kept");
      const { status, reason, result } = await run({
        params,
        [name]: path,
        ask: async () => {
          await rm(path, { recursive: true });
          return { kind: "answered", text: "yes" };
        },
      });
      assert.deepEqual([status, result], ["failed", "yes"], name);
      assert.match(reason ?? "", /^The .*(journal|history).* is incomplete: ./);
    }
  });

  it("continues from the journal of an earlier run", async (t) => {
    const { run, folder } = await makeRun(t, greeting);
    const journal = join(folder, "first.jsonl");
    const first = await run({ params, journal });
    assert.match(first.reason ?? "", /ASK_OK has no answer/);
    const again = await run({ resume: journal, answers: { ASK_OK: ["yes"] } });
    assert.equal(again.variables["WHO"], "Ada (kind)");
    const [head = "", started = "", ...rest] = (await readFile(journal, "utf8")).split("\n");
    const rehearsed = started.replace(/\}$/, ',"rehearsed":true}');
    await writeFile(journal, [head, rehearsed, ...rest].join("\n"));
    await assert.rejects(
      run({ resume: journal, answers: { ASK_OK: ["yes"] } }),
      /it is of a rehearsal: a script played the model/,
    );
  });

  it("is canceled by its signal, also while a question waits", async (t) => {
    const { run } = await makeRun(t, greeting);
    const abort = new AbortController();
    const { status, result, variables } = await run({
      params,
      signal: abort.signal,
      ask: (_, signal) => {
        abort.abort();
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve({ kind: "unanswered", reason: "gone" })),
        );
      },
    });
    assert.deepEqual([status, result, variables["NAME"]], ["canceled", "", "Ada"]);
  });

  it("rejects what can't begin", async (t) => {
    const { run, file, folder } = await makeRun(t, greeting);
    await assert.rejects(run(), { name: "DiagnosticsError", message: /NAME has no value/ });
    await assert.rejects(run({ params, journal: file }), /would overwrite/);
    await assert.rejects(run({ params, resume: join(folder, "none.jsonl") }), /none\.jsonl/);
    // A program without types.
    const misspelt: object = { params, jurnal: "a" };
    await assert.rejects(run(misspelt), TypeError);
    for (const [field, value] of Object.entries({
      rerun: "false",
      params: ["Ada"],
      workingDirectory: "",
      signal: {},
    })) {
      await assert.rejects(
        run({ params, [field]: value }),
        (error) => error instanceof TypeError && error.message.includes(`: ${field} must`),
        field,
      );
    }
    const prompts = await makeRun(
      t,
      workflowText("START --> PROMPT_A[User Hi]", "## User Hi\n\nHi\n"),
    );
    await assert.rejects(prompts.run({ params }), /names no model.*model: ID/);
  });

  it("runs as its documentation shows", async (t) => {
    const { folder } = await makeRun(t, greeting);
    await writeFile(join(folder, "greet.wf.md"), greeting);
    const root = join(import.meta.dirname, "../../..");
    const page = await readFile(join(root, "docs/library.md"), "utf8");
    const examples = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
    const example = examples.find((code) => code.includes("await runWorkflow("));
    const program = `import { readFileSync } from "node:fs";
import { DiagnosticsError, loadWorkflow, runWorkflow } from ${JSON.stringify(join(root, "build/src/index.js"))};
const prompt = async (question) => (question === "Greet Ada (kind)?" ? "yes" : "no");
${example}
console.log(status, result);`;
    await writeFile(join(folder, "example.mjs"), program);
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["example.mjs"], { cwd: folder });
    assert.equal(stdout, "succeeded yes\n");
  });

  it("runs fences by executors of the application", async (t) => {
    const text = `---\npermissions: { shell: true }\n---\n${workflowText("START --> ASSIGN_A[Assistant Code] --> EXECUTE_A[ ]", "## Assistant Code\n\n~~~shout\nhello\n~~~\n")}`;
    const { run } = await makeRun(t, text);
    const { status, result } = await run({
      executors: [
        {
          tags: ["shout"],
          run: (code, { write }) => {
            write({ stream: "stdout", bytes: new TextEncoder().encode(code.toUpperCase()) });
            return Promise.resolve({ kind: "exited", exitCode: 0 });
          },
        },
      ],
    });
    assert.equal(status, "succeeded");
    assert.match(result, /HELLO/);
  });
});

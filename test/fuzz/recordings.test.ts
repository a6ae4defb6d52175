/** Whatever a model calls in a run, the recording of the run rehearses to the same end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Task, Work } from "../../src/entry/model.ts";
import { cliExits, runCli } from "../rig/cli.ts";
import { ref } from "../rig/engine.ts";
import { holds } from "../rig/fuzz.ts";
import { startModelServer, type Reply, type ScriptedCall } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const jobTools = [
  "job_prepare_document",
  "job_boolean_true",
  "job_boolean_false",
  "job_prerequisite_failed",
];
const others = ["job_report", "job_verdict", "job_annotate", "job_propose", "job_remember"];
const good: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  job_report: { markdown: "All is well." },
  job_verdict: { verdict: "pass", reason: "It is so." },
  job_annotate: { path: "a.txt", line: 1, severity: "error", message: "It is wrong." },
};

const calls: fc.Arbitrary<ScriptedCall> = fc
  .record({
    name: fc.constantFrom(...jobTools, ...jobTools, ...others, "view", "bash", "no_such_tool"),
    isGood: fc.boolean(),
  })
  .map(({ name, isGood }) => ({
    name,
    arguments: isGood ? (good[name] ?? { argument: "because", path: "nope" }) : { wrong: 1 },
  }));

const replies: fc.Arbitrary<Reply> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ toolCalls: fc.array(calls, { minLength: 1, maxLength: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Reply>(
      { text: "done" },
      { text: "" },
      { text: "half", finishReason: "length" },
      { text: "I will", finishReason: "tool_calls" },
      { status: 400 },
    ),
  },
);

const texts = fc
  .subarray([...jobTools.slice(0, 2), "job_report", "job_annotate"])
  .map((names) => `Work. ${names.join(", ")}`);
const tasks: fc.Arbitrary<Task> = fc
  .record({ prompt: texts, condition: fc.boolean(), before: fc.boolean(), apart: fc.boolean() })
  .map(({ prompt, condition, before, apart }) => ({
    model: { category: "driving" },
    prompt,
    ...(before && { availability: { condition: "Before? job_boolean_true" } }),
    ...(condition && {
      criteria: {
        condition: "Done? job_boolean_true",
        runConditionInSameSession: !apart,
        failureAction: { retryTimes: 1 },
      },
    }),
  }));
const works: fc.Arbitrary<Work> = fc.constantFrom<Work>(
  ref("a"),
  { kind: "Seq", works: [ref("a"), ref("b")] },
  { kind: "Alt", condition: ref("a"), trueWork: ref("b") },
);

test("a recording of any run rehearses to the same end", async (t) => {
  const cases = fc.record({
    a: tasks,
    b: tasks,
    work: works,
    answers: fc.array(replies, { maxLength: 12 }),
  });
  const property = fc.asyncProperty(cases, async ({ a, b, work, answers }) => {
    const workspace = await makeWorkspace(t, {
      "a.txt": "one\n",
      "entry.json": JSON.stringify({
        models: { driving: "gpt-test" },
        tasks: { a, b },
        jobs: { job: { work } },
        outputs: { findings: {} },
      }),
    });
    const model = await startModelServer(({ index }) => answers[index] ?? { text: "done" });
    t.after(() => model.close());
    const cwd = workspace.path;
    const live = ["run", "entry.json", "--record", "live.yml", "--provider-base-url"];
    const { code, stdout, stderr } = await runCli([...live, model.baseUrl], { cwd });
    assert.ok(code === 0 || code === 1, stdout + stderr);
    const recording = await workspace
      .read("live.yml")
      .catch(() => `no recording: ${stdout}${stderr}`);
    await cliExits(0, ["rehearse", "live.yml"], { cwd }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${recording}`);
    });
  });
  await holds(t, property, 120);
});

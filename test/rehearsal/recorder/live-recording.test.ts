/** `--record` on the real runtime: what it writes replays to the same result. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { rehearseFiles } from "../../../src/run/rehearse.ts";
import { prepareRun } from "../../../src/run/prepare.ts";
import { executeRun } from "../../../src/run/execute.ts";
import { makeWorkspace } from "../../rig/workspace.ts";

const entry = `
models: { driving: gpt-test, other: claude-test }
permissions: workspace
tasks:
  look:
    prompt: Look around
    model: { category: other }
    criteria:
      toolExecuted: [job_prepare_document]
      condition: ["Was $reported-document read?", "Call job_boolean_true or job_boolean_false."]
      runConditionInSameSession: false
      failureAction: { retryTimes: 1, additionalPrompt: "because $reported-false-reason" }
  write:
    prompt: Write it down
    model: { category: driving }
  ask:
    prompt: Is it done?
    model: { category: driving }
    criteria:
      toolExecuted: [job_boolean_true]
      failureAction: { retryTimes: 0 }
jobs:
  job:
    work:
      kind: Seq
      works:
        - { kind: Par, works: [{ kind: Ref, taskId: look }, { kind: Ref, taskId: write }] }
        - kind: Loop
          body: { kind: Ref, taskId: write }
          postCondition: [false, { kind: Ref, taskId: ask }]
        - { kind: Alt, condition: { kind: Ref, taskId: ask }, falseWork: { kind: Ref, taskId: look } }
`;

const succeeds = `
  - task: look
    role: task
    turns:
      - replies:
          - tools: [{ name: view, arguments: { path: "\${workingDirectory}/entry.yml" } }]
          - tools: [{ name: job_prepare_document, arguments: { argument: entry.yml } }]
  - task: look
    role: driving
    turns: [{ tools: [{ name: job_boolean_false, arguments: { argument: not to its end } }] }]
  - task: look
    role: task
    retry: 1
    turns: [{ prompt: because not to its end, tools: [{ name: job_prepare_document, arguments: { argument: all } }] }]
  - { task: write, workId: 1, turns: [{ error: 408 }] }
  - { task: write, workId: 1, attempt: 2, turns: [I wrote it] }
  - { task: write, workId: 2, turns: [{ text: One, usage: { input: 5, output: 3 } }] }
  - { task: ask, workId: 3, turns: [{ tools: [{ name: nonsense, unknown: true }] }] }
  - { task: write, workId: 2, iteration: 2, turns: [{ die: true }] }
  - { task: write, workId: 2, iteration: 2, attempt: 2, turns: [Two] }
  - { task: ask, workId: 3, turns: [{ tools: [{ name: job_boolean_true, arguments: { argument: a } }] }] }
  - { task: ask, workId: 4, turns: [{ tools: [{ name: job_boolean_true, arguments: { argument: a } }] }] }
  - task: look
    role: driving
    turns: [{ tools: [{ name: job_boolean_true, arguments: { argument: it was } }] }]
`;
/** The recording of a rehearsed run, and what a replay of it says. */
async function recorded(
  t: TestContext,
  rules: string,
): Promise<{ outcome: string; recording: string; replay: unknown }> {
  const workspace = await makeWorkspace(t, { "entry.yml": entry });
  await workspace.write("script.yml", `entry: entry.yml\nsessions:${rules.trimEnd()}\n`);
  const record = join(workspace.path, "recordings", "made.yml");
  const options = {
    entryFile: join(workspace.path, "entry.yml"),
    rehearse: join(workspace.path, "script.yml"),
    workingDirectory: workspace.path,
    environment: process.env,
    record,
  };
  const { outcome, rehearsalFailures } = await executeRun(await prepareRun(options), options);
  // The script of a run that fails says nothing of its end.
  assert.deepEqual(
    rehearsalFailures.filter((failure) => !/^expect |was never used/.test(failure)),
    [],
  );
  const { environment } = options;
  const replays = rehearseFiles(
    [record],
    { environment, workingDirectory: "/nowhere", inPlace: false },
    {},
  );
  const reports: unknown[] = [];
  for await (const { kind, ...report } of replays) {
    reports.push(kind, "failures" in report ? report.failures : []);
  }
  return {
    outcome: outcome.kind,
    recording: await workspace.read("recordings/made.yml"),
    replay: reports,
  };
}

test("a run with retries, crashes, a loop and a dead runtime replays to the same success", async (t) => {
  const { outcome, recording, replay } = await recorded(t, succeeds);
  assert.equal(outcome, "succeeded");
  assert.deepEqual(replay, ["passed", []], recording);
  assert.match(recording, /^entry: \.\.\/entry\.yml\njob: job\nworkingDirectory: \.\.\n/);
  assert.match(recording, /path: \$\{workingDirectory\}\/entry\.yml/);
  assert.match(recording, /die: true/);
});

test("an answer that was cut, or blocked by a filter, is that again in the replay", async (t) => {
  const rules = `
  # The runtime asks for the rest of a cut answer by itself.
  - { task: write, workId: 1, turns: [{ replies: [{ text: half an, finish: length }, answer] }] }
  - task: look
    role: task
    turns:
      - replies:
          - { tools: [{ name: view, arguments: { path: "\${workingDirectory}" } }] }
          - &cut { text: Now I would, finish: length }
          - *cut
          - *cut
  - { task: look, role: task, retry: 1, turns: [{ text: nothing to see, finish: content_filter }] }
  - task: look
    role: task
    retry: 1
    attempt: 2
    turns: [{ tools: [{ name: job_prepare_document, arguments: { argument: all } }] }]
  - task: look
    role: driving
    turns: [{ replies: [*cut, *cut, *cut] }]
`;
  const { outcome, recording, replay } = await recorded(t, rules);
  assert.equal(outcome, "failed");
  assert.deepEqual(replay, ["passed", []], recording);
  assert.match(recording, /finish: length/);
});

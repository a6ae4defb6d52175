/** Rehearsals and `--record` of the action protocol and of tools of the entry, on the real runtime. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { prepareRun } from "../../../src/run/prepare.ts";
import { rehearseFiles } from "../../../src/run/rehearse.ts";
import { executeRun } from "../../../src/run/execute.ts";
import { makeWorkspace } from "../../rig/workspace.ts";

const entry = `
models: { driving: gpt-test }
permissions: { preset: read-only, tools: ["*"] }
tools:
  shout:
    description: Says it loudly.
    parameters: { type: object, required: [text], properties: { text: { type: string } } }
    command: [node, shout.mjs]
tasks:
  ship:
    protocol: actions
    prompt: Ship it
    model: { category: driving }
    criteria:
      toolExecuted: [shout]
      failureAction: { retryTimes: 1, additionalPrompt: Nobody shouted. }
  look:
    prompt: Look at $user-input
    requireUserInput: true
    model: { category: driving }
jobs:
  job: { work: { kind: Ref, taskId: ship } }
`;
const shout = `
import { json } from "node:stream/consumers";
const { text } = await json(process.stdin);
if (text === "") throw new Error("There is nothing to shout.");
console.log(text.toUpperCase(), process.cwd());
`;

const script = `
  - task: ship
    attempt: 1
    turns:
      - { prompt: Ship it, text: Let me think. }
      - prompt: Your answer was rejected
        document:
          actions:
            - { action_id: look, action: delegate, type: internal, params: { task: look, input: the docs }, execution: ASYNC }
      - prompt: Action "look" (delegate) is running.
        error: 408
  - task: look
    turns:
      - prompt: Look at the docs
        replies:
          - tools: [{ name: shout, arguments: { text: help } }]
          - toolResults: HELP \${workingDirectory}
            tools: [{ name: shout, arguments: { text: "" }, fails: There is nothing to shout. }]
          - The docs are empty. (the key is s3cret-value)
  - task: ship
    attempt: 2
    turns:
      - prompt: The session crashed
        after: look
        document: { stop: false, thoughts: [{ type: PLAN, content: Wait for s3cret-value }] }
      - { prompt: The docs are empty. (the key is ***), document: { response: It is done. } }
      - prompt: { contains: [Nobody shouted., look (succeeded)] }
        document:
          actions:
            - { action_id: fail, action: shout, type: tool, params: { text: "" } }
            - { action_id: say, action: shout, type: tool, params: { text: "in \${workingDirectory}" } }
            - { action_id: echo, action: shout, type: tool, params: { text: "\${{results.fail.x}}" } }
      - prompt: { contains: [There is nothing to shout., IN /] }
        document: { response: Now it is done. }
expect:
  works: [{ task: ship, outcome: succeeded, retries: 1, crashes: 1, rejected: 1 }]
  actions:
    - { id: look, action: delegate, status: succeeded, output: The docs are empty., params: the docs }
    - { id: fail, action: shout, status: failed, reason: exited with code 1 }
    - { id: say, status: succeeded, document: 4, params: "\${workingDirectory}", output: "\${workingDirectory}" }
    - { id: echo, status: skipped, reason: fail }
`;

test("a task of the action protocol that crashes, delegates and is retried is rehearsed and recorded", async (t) => {
  const workspace = await makeWorkspace(t, { "entry.yml": entry, "shout.mjs": shout });
  await workspace.write("script.yml", `entry: entry.yml\nsessions:${script}`);
  const environment = { ...process.env, MY_API_KEY: "s3cret-value" };
  const record = join(workspace.path, "made.yml");
  const options = {
    entryFile: join(workspace.path, "entry.yml"),
    rehearse: join(workspace.path, "script.yml"),
    workingDirectory: workspace.path,
    environment,
    record,
  };
  const { outcome, rehearsalFailures } = await executeRun(await prepareRun(options), options);
  assert.deepEqual([outcome.kind, rehearsalFailures], ["succeeded", []]);
  const recording = await workspace.read("made.yml");
  const replay = { environment, workingDirectory: workspace.path, inPlace: false };
  const reports: unknown[] = [];
  for await (const { kind, ...report } of rehearseFiles([record], replay, {})) {
    reports.push(kind, "failures" in report ? report.failures : []);
  }
  assert.deepEqual(reports, ["passed", []], recording);
  assert.doesNotMatch(recording, /s3cret|\/agent-jobs-/);
  for (const part of [
    "text: Let me think.",
    "content: Wait for ***",
    "fails: ",
    "text: in ${workingDirectory}",
    "- id: echo\n      document: 4\n      status: skipped",
    "rejected: 1",
  ]) {
    assert.ok(recording.includes(part), `${part}\n${recording}`);
  }
  assert.match(recording, /after:\n +- look/);
});

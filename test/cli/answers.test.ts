/** What a run shows of a condition that fails: an answer, unless a limit kept it from one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { outputsOf } from "../../src/reports/github/github-reporter.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { report } from "../reports/github/rig.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const ref = (taskId: string): object => ({ kind: "Ref", taskId });
const task = { prompt: "Go", model: { category: "driving" } };
const entry = JSON.stringify({
  models: { driving: "m" },
  permissions: "all",
  tasks: {
    ready: task,
    // No session is needed to find out that it is not available.
    tested: { ...task, requireUserInput: false, availability: { previousTasks: ["nobody"] } },
    quiet: {
      ...task,
      criteria: {
        toolExecuted: ["job_boolean_true"],
        runConditionInSameSession: true,
        failureAction: { retryTimes: 0 },
      },
    },
    nobody: task,
    release: task,
    wait: task,
  },
  jobs: {
    answered: {
      work: {
        kind: "Alt",
        condition: {
          kind: "Seq",
          works: [ref("ready"), { kind: "Par", works: [ref("tested"), ref("quiet")] }],
        },
        trueWork: ref("release"),
        falseWork: ref("wait"),
      },
    },
    unanswered: { work: { kind: "Alt", condition: ref("ready"), trueWork: ref("release") } },
  },
});

async function play(
  t: Parameters<typeof makeWorkspace>[0],
  job: string,
  sessions: object[],
  limits: object = {},
) {
  const workspace = await makeWorkspace(t, {
    "entry.json": entry,
    "r.json": JSON.stringify({ entry: "entry.json", job, limits, sessions }),
  });
  const args = ["run", "entry.json", job, "--rehearse", "r.json", "--journal", "j.jsonl"];
  const result = await runCli(args, { cwd: workspace.path });
  const { events } = parseJournal(await workspace.read("j.jsonl"));
  const view = createRunView();
  for (const event of events) applyEvent(view, event);
  const github = await report(events);
  return { ...result, events, outputs: outputsOf(view), github };
}

const says = (name: string, reply: object = { text: "done" }): object => ({
  task: name,
  turns: [{ replies: [reply] }],
});

test("every work of a composite condition that fails has answered no", async (t) => {
  const sessions = [says("ready"), says("quiet"), says("wait")];
  const { code, stdout, stderr, events, outputs, github } = await play(t, "answered", sessions);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^1 +tested +answered no /m);
  assert.match(stdout, /^2 +quiet +answered no /m);
  assert.match(stdout, /#1 tested +answered no after .*: not available: /);
  assert.doesNotMatch(stdout, /TASK FAILED|#\d \w+ +failed/);
  assert.equal(outputs["failed-tasks"], "[]");
  assert.doesNotMatch(github.output, /^::(error|warning)/m);
  assert.match(github.output, /answered no/);
  assert.doesNotMatch(github.output, /TASK FAILED|#\d \w+ +failed/);
  assert.match(github.summary ?? "", /answered\u00A0no/);
  assert.match(github.summary ?? "", /ANSWERED NO/);
  assert.doesNotMatch(github.summary ?? "", /✗|TASK FAILED|What failed/);
  // Where it is not shown to a person it is what it is.
  const ends = events.flatMap((event) =>
    event.type === "work.ended" ? [`${event.work.taskId} ${event.outcome.kind}`] : [],
  );
  assert.deepEqual(ends.toSorted(), [
    "quiet failed",
    "ready succeeded",
    "tested failed",
    "wait succeeded",
  ]);
});

test("a condition that a limit keeps from its answer has failed", async (t) => {
  const tools = [{ name: "bash", arguments: { command: "true", description: "d" } }];
  const sessions = [says("ready", { text: "a", tools })];
  const { code, stdout, outputs, github } = await play(t, "unanswered", sessions, {
    modelCalls: 1,
  });
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^0 +ready +failed /m);
  assert.match(stdout, /\[TASK FAILED\] failed after .*modelCalls/);
  assert.doesNotMatch(stdout, /answered no/);
  assert.equal(outputs["failed-tasks"], '["ready"]');
  assert.match(github.output, /^::error .*TASK FAILED%3A ready/m);
  assert.match(github.output, /^[\d:]+ #0 ready: \[TASK FAILED\] /m);
  assert.match(github.summary ?? "", /✗\u00A0failed/);
});

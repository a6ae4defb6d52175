import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionEvent, EndedStatus } from "../../../src/events/action.ts";
import type { Purpose } from "../../../src/events/decision.ts";
import type { RunEventBody, WorkOutcome } from "../../../src/events/event.ts";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/load-script.ts";
import type { RehearsalFile, TurnFields } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { Recorder } from "../../../src/rehearsal/recorder/recorder.ts";
import { plannedTasks } from "../../rig/plan.ts";

const action = { action: "build", type: "tool", params: {} };
const dispatch = JSON.stringify({
  status: "EXECUTING",
  thoughts: [],
  actions: [{ ...action, action_id: "app", execution: "ASYNC" }],
  stop: false,
  response: null,
});
const end = JSON.stringify({
  status: "SUCCESS",
  thoughts: [{ type: "PLAN", content: "Stop in /home/me/repo/app" }],
  actions: null,
  stop: true,
  response: "Done, ${workingDirectory}",
});

/** A run of two tasks with the action protocol, as the engine reports it. */
class Run {
  readonly #recorder = new Recorder({ entry: "a.yml", job: "job" });
  #work = { workId: 0, taskId: "ship", iteration: 1 };

  constructor() {
    const plan = plannedTasks([
      ["ship", "m"],
      ["other", "m"],
    ]);
    this.tell({ type: "run.started", jobName: "job", workingDirectory: "/home/me/repo", ...plan });
  }

  tell(event: RunEventBody): this {
    this.#recorder.report({ at: 1, runId: "run", ...event });
    return this;
  }

  begin(workId = 0, iteration = 1): this {
    this.#work = { workId, taskId: workId === 0 ? "ship" : "other", iteration };
    const session = { modelId: "m", role: "both", retry: 0, attempt: 1 } as const;
    this.tell({ type: "work.started", work: this.#work, modelId: "m" });
    return this.tell({
      type: "session.started",
      work: this.#work,
      sessionId: `s${workId}`,
      ...session,
    });
  }

  end(outcome: WorkOutcome = { kind: "succeeded" }): this {
    const sessionId = `s${this.#work.workId}`;
    this.tell({
      type: "session.ended",
      work: this.#work,
      sessionId,
      role: "both",
      succeeded: true,
    });
    return this.tell({ type: "work.ended", work: this.#work, outcome });
  }

  turn(prompt: string, text: string, purpose: Purpose = "prompt") {
    const of = { work: this.#work, sessionId: `s${this.#work.workId}`, turnId: "turn-1", purpose };
    this.tell({ type: "turn.started", ...of, modelId: "m", retry: 0, attempt: 1, prompt });
    const activity = { kind: "model.replied", text, toolCalls: [], subAgent: false } as const;
    this.tell({ type: "activity", ...of, activity });
    return this.tell({ type: "turn.ended", ...of, outcome: "completed" });
  }

  act(action: ActionEvent): this {
    return this.tell({ type: "action", work: this.#work, action });
  }

  ended(id: string, status: EndedStatus = "succeeded", iteration = 1): this {
    return this.act({ type: "action.ended", id, iteration, status, milliseconds: 3 });
  }

  accepted(): this {
    return this.act({
      type: "actions.accepted",
      iteration: 1,
      claimedStatus: "EXECUTING",
      thoughts: [],
      variables: { set: [], deleted: [] },
      actions: 0,
      stop: false,
    });
  }

  rejected(): this {
    return this.act({ type: "actions.rejected", iteration: 1, problems: [] });
  }

  file(): RehearsalFile {
    this.tell({ type: "run.ended", outcome: { kind: "succeeded" } });
    const file = this.#recorder.toRehearsal();
    const loaded = loadScript(renderRehearsal(file), "a.rehearsal.yml");
    assert.equal(loaded.kind, "loaded", JSON.stringify(loaded));
    return file;
  }

  turns(): readonly (string | TurnFields)[] {
    return this.file().sessions.flatMap(({ turns }) => turns);
  }
}

test("accepted answers are recorded as short documents, others as they were", () => {
  const turns = new Run()
    .begin()
    .turn("Ship it", "```json\n{}\n```")
    .rejected()
    .turn("Rejected", '{"actions": 3}')
    .rejected()
    .turn("Rejected", dispatch)
    .accepted()
    .turn("Running", end)
    .accepted()
    .end()
    .turns();
  assert.deepEqual(turns, [
    { prompt: "Ship it", text: "```json\n{}\n```" },
    { text: '{"actions": 3}' },
    { document: { actions: [{ ...action, action_id: "app", execution: "ASYNC" }] } },
    {
      document: {
        thoughts: [{ type: "PLAN", content: "Stop in ${workingDirectory}/app" }],
        response: "Done, $${workingDirectory}",
      },
    },
  ]);
});

test("a fenced document, one with a masked number, and one that is too deep stay texts", () => {
  const deep = `${'{"a":'.repeat(90)}1${"}".repeat(90)}`;
  for (const text of [
    `\`\`\`\n${dispatch}\n\`\`\``,
    dispatch.replace("null", "***"),
    dispatch.replace('"params":{}', `"params":${deep}`),
  ]) {
    const [turn] = new Run().begin().turn("Ship it", text).accepted().end().turns();
    assert.deepEqual(turn, { prompt: "Ship it", text });
  }
});

test("a prompt about actions is not compared, the next prompt of the task is", () => {
  const decision = { kind: "criteria-retry", retry: 1, of: 2, reason: "no" } as const;
  const work = { workId: 0, taskId: "ship", iteration: 1 };
  const run = new Run().begin().turn("Ship it", dispatch).accepted().turn("app took 3 s", end);
  run.accepted().turn("Is it done?", "Yes", "criteria");
  run.turn("Again", dispatch).accepted().turn("app took 4 s", end).accepted();
  run.tell({ type: "decision", work, decision }).turn("And again", end).accepted();
  const prompts = run
    .end()
    .turns()
    .map((turn) => (typeof turn === "string" ? turn : turn.prompt));
  assert.deepEqual(prompts, ["Ship it", undefined, "Is it done?", "Again", undefined, "And again"]);
});

test("how the actions ended is expected", () => {
  const one = new Run().begin().turn("Ship it", dispatch).accepted();
  assert.deepEqual(one.ended("app").ended("b", "failed").end().file().expect?.actions, [
    { id: "app", document: 1, status: "succeeded" },
    { id: "b", document: 1, status: "failed" },
  ]);
  const again = new Run().begin().turn("Ship it", dispatch).accepted();
  const repeated = again.ended("app").ended("app", "failed", 2).end().file();
  assert.deepEqual(repeated.expect?.actions, [
    { id: "app", document: 1, status: "succeeded" },
    { id: "app", document: 2, status: "failed" },
  ]);
  const both = new Run().begin().turn("Ship it", dispatch).accepted().ended("app").end();
  both.begin(1, 2).turn("Other", dispatch).accepted().ended("app", "skipped").end();
  assert.deepEqual(both.file().expect?.actions, [
    { task: "ship", workId: 0, id: "app", document: 1, status: "succeeded" },
    { task: "other", workId: 1, iteration: 2, id: "app", document: 1, status: "skipped" },
  ]);
});

test("an ordinary answer that looks like a document stays a text", () => {
  const [turn] = new Run().begin().turn("Say JSON", end).end().turns();
  assert.equal(typeof turn === "object" && turn.document, undefined);
});

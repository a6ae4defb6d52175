import assert from "node:assert/strict";
import { test } from "node:test";
import type { Purpose } from "../../../src/events/decision.ts";
import { loadScript, renderRehearsal } from "../../../src/rehearsal/format/script.ts";
import type { RehearsalFile, TurnFields } from "../../../src/rehearsal/format/rehearsal-schema.ts";
import { Told } from "../told.ts";

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
  thoughts: [{ type: "PLAN", content: "Stop in /repo/app" }],
  actions: null,
  stop: true,
  response: "Done, ${workingDirectory}",
});

/** A run of two tasks with the action protocol, each in a session of its own. */
class Run extends Told {
  constructor() {
    super(["ship", "other"]);
  }

  override begin(workId = 0, iteration = 1): this {
    return super.begin(workId, iteration).session(`s${workId}`);
  }

  /** A turn and its only answer. */
  answer(prompt: string, text: string, purpose: Purpose = "prompt"): this {
    const sessionId = `s${this.work.workId}`;
    return this.turn(sessionId, prompt, purpose)
      .reply(sessionId, text)
      .ended(sessionId, "completed", purpose);
  }

  accepted(): this {
    return this.action({
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
    return this.action({ type: "actions.rejected", iteration: 1, problems: [] });
  }

  file(): RehearsalFile {
    const file = this.over().recorded({ entry: "a.yml", job: "job" });
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
    .answer("Ship it", "```json\n{}\n```")
    .rejected()
    .answer("Rejected", '{"actions": 3}')
    .rejected()
    .answer("Rejected", dispatch)
    .accepted()
    .answer("Running", end)
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
    const [turn] = new Run().begin().answer("Ship it", text).accepted().end().turns();
    assert.deepEqual(turn, { prompt: "Ship it", text });
  }
});

test("a prompt about actions is not compared, the next prompt of the task is", () => {
  const decision = { kind: "criteria-retry", retry: 1, of: 2, reason: "no" } as const;
  const run = new Run().begin().answer("Ship it", dispatch).accepted().answer("app took 3 s", end);
  run.accepted().answer("Is it done?", "Yes", "criteria");
  run.answer("Again", dispatch).accepted().answer("app took 4 s", end).accepted();
  run.decide(decision).answer("And again", end).accepted();
  const prompts = run
    .end()
    .turns()
    .map((turn) => (typeof turn === "string" ? turn : turn.prompt));
  assert.deepEqual(prompts, ["Ship it", undefined, "Is it done?", "Again", undefined, "And again"]);
});

test("how the actions ended is expected", () => {
  const one = new Run().begin().answer("Ship it", dispatch).accepted();
  assert.deepEqual(one.ends("app").ends("b", "failed").end().file().expect?.actions, [
    { id: "app", document: 1, status: "succeeded" },
    { id: "b", document: 1, status: "failed" },
  ]);
  const again = new Run().begin().answer("Ship it", dispatch).accepted();
  const repeated = again.ends("app").ends("app", "failed", undefined, 2).end().file();
  assert.deepEqual(repeated.expect?.actions, [
    { id: "app", document: 1, status: "succeeded" },
    { id: "app", document: 2, status: "failed" },
  ]);
  const both = new Run().begin().answer("Ship it", dispatch).accepted().ends("app").end();
  both.begin(1, 2).answer("Other", dispatch).accepted().ends("app", "skipped").end();
  assert.deepEqual(both.file().expect?.actions, [
    { task: "ship", workId: 0, id: "app", document: 1, status: "succeeded" },
    { task: "other", workId: 1, iteration: 2, id: "app", document: 1, status: "skipped" },
  ]);
});

test("an ordinary answer that looks like a document stays a text", () => {
  const [turn] = new Run().begin().answer("Say JSON", end).end().turns();
  assert.equal(typeof turn === "object" && turn.document, undefined);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DENIALS_IN_A_ROW } from "../../src/engine/budgets.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { play } from "../rig/engine.ts";

const denied: SessionActivity = {
  kind: "permission.denied",
  operation: "shell",
  target: "rm -rf /",
  reason: "the permissions are read-only",
};
const done: SessionActivity = { kind: "tool.ended", toolCallId: "1", succeeded: true };
const answer: SessionActivity = {
  kind: "model.replied",
  text: "",
  toolCalls: [{ name: "bash", arguments: { command: "rm -rf /" } }],
  subAgent: false,
};
/** So many answers, with these consequences each. */
const answers = (count: number, ...then: readonly SessionActivity[]): SessionActivity[] =>
  Array.from({ length: count }, () => [answer, ...then]).flat();

const outcomeOf = async (acts: readonly SessionActivity[]): Promise<string> => {
  const { outcome } = await play({ tasks: { t: { prompt: "do it" } }, play: () => ({ acts }) });
  return outcome.kind;
};

describe("denials in a row", () => {
  it("end the turn, and the task with advice, without another attempt", async () => {
    const { outcome, decisions, sessions } = await play({
      tasks: { t: { prompt: "do it" } },
      play: () => ({ acts: answers(DENIALS_IN_A_ROW, denied), takes: 60_000 }),
    });
    assert.equal(outcome.kind, "failed");
    assert.equal(sessions.turns.length, 1);
    assert.ok(
      decisions.some((text) => /^\[SESSION CRASHED\].*denied 10 times in a row/.test(text)),
    );
    assert.ok(decisions.some((text) => /Allow what the task needs in "permissions"/.test(text)));
  });

  it("of one answer count as one: the model could not learn from the first of them", async () => {
    const many = Array.from({ length: 3 * DENIALS_IN_A_ROW }, () => denied);
    assert.equal(await outcomeOf(answers(DENIALS_IN_A_ROW - 1, ...many)), "succeeded");
    assert.equal(await outcomeOf(answers(DENIALS_IN_A_ROW, ...many)), "failed");
  });

  it("are forgotten after a tool call that succeeded, in the same answer or in another", async () => {
    assert.equal(await outcomeOf(answers(3 * DENIALS_IN_A_ROW, denied, done)), "succeeded");
    const few = answers(DENIALS_IN_A_ROW - 1, denied);
    assert.equal(await outcomeOf([...few, ...answers(1, done), ...few]), "succeeded");
  });

  it("are forgotten after an answer that met none: a sub-agent's successes are not seen", async () => {
    const few = answers(DENIALS_IN_A_ROW - 1, denied);
    assert.equal(await outcomeOf([...few, ...answers(1), ...few]), "succeeded");
  });
});

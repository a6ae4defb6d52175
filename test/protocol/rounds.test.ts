import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Turn } from "../../src/protocol/executor.ts";
import { type RoundLimits, Rounds } from "../../src/protocol/dialogue.ts";

const answers: Readonly<Record<string, Turn>> = {
  bad: { kind: "rejected", problems: [{ path: "", code: "not_json", message: "no" }] },
  ...Object.fromEntries(
    (["stop", "continue", "idle"] as const).map((next): [string, Turn] => [
      next,
      {
        kind: "executed",
        iteration: 1,
        next,
        response: `said ${next}`,
        claimedStatus: "EXECUTING",
        actions: [],
      },
    ]),
  ),
};

/** What a request asks for, by its first words. */
function purposeOf(request: string): string {
  if (request === "") return "continue";
  const words: Readonly<Record<string, RegExp>> = {
    repair: /^Your answer was rejected/,
    nudge: /^Your last document has no actions/,
    last: /^This is your last answer/,
    think: /^(Think first|Continue thinking)/,
    start: /^You have finished thinking/,
  };
  return Object.keys(words).find((word) => words[word]?.test(request)) ?? request;
}

/** What follows each of the answers. */
function play(limits: Partial<RoundLimits>, ...names: string[]): string[] {
  const rounds = new Rounds({ iterations: 20, preThinking: 0, ...limits });
  return names.map((name) => {
    const turn = answers[name];
    assert.ok(turn !== undefined);
    const next = rounds.next(turn);
    return next.kind === "prompt"
      ? `${purposeOf(next.request)} ${rounds.mode}`
      : `${next.outcome}: ${next.response}`;
  });
}

describe("the rounds of a run", () => {
  const limits = { iterations: 3 };

  it("end when the model stops", () => {
    assert.deepEqual(play(limits, "continue", "stop"), ["continue normal", "stopped: said stop"]);
  });

  it("end as a protocol failure after two repairs of one iteration", () => {
    assert.deepEqual(play(limits, "bad", "bad", "bad"), [
      "repair normal",
      "repair normal",
      "protocol failure: null",
    ]);
    assert.deepEqual(
      play(limits, "bad", "bad", "continue", "bad", "bad", "stop").at(-1),
      "stopped: said stop",
    );
  });

  it("nudge an idle model once", () => {
    assert.deepEqual(play({ iterations: 9 }, "idle", "idle"), [
      "nudge normal",
      "nothing to do: said idle",
    ]);
    assert.deepEqual(play({ iterations: 9 }, "idle", "continue", "idle"), [
      "nudge normal",
      "continue normal",
      "nudge normal",
    ]);
  });

  it("have a last call without actions at the cap, which is never a success", () => {
    assert.deepEqual(play({ iterations: 2 }, "continue", "continue", "stop"), [
      "continue normal",
      "last refused",
      "cap reached: said stop",
    ]);
    assert.deepEqual(play({ iterations: 1 }, "continue", "bad"), [
      "last refused",
      "cap reached: null",
    ]);
    assert.deepEqual(play({ iterations: 1 }, "stop"), ["stopped: said stop"]);
  });

  it("think first only where that is switched on, as much as the model wants, within its own cap", () => {
    const first = (preThinking: number): string => {
      const next = new Rounds({ iterations: 1, preThinking }).first();
      return next.kind === "prompt" ? purposeOf(next.request) : next.outcome;
    };
    assert.deepEqual([first(0), first(2)], ["continue", "think"]);
    const thinking = { iterations: 1, preThinking: 2 };
    assert.deepEqual(play(thinking, "continue", "continue", "stop"), [
      "think thinking",
      "start normal",
      "stopped: said stop",
    ]);
    assert.deepEqual(play(thinking, "stop", "stop"), ["start normal", "stopped: said stop"]);
    assert.deepEqual(play(thinking, "bad", "bad", "bad").at(-1), "protocol failure: null");
  });
});

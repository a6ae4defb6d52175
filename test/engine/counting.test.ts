import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { play } from "../rig/engine.ts";
import { answered } from "../rig/crashes.ts";
import { modelUsed } from "../rig/fake-sessions.ts";

const begins: SessionActivity = { kind: "agent.started", agentTurnId: "0" };
const fails = (statusCode?: number): SessionActivity => ({
  kind: "model.failed",
  subAgent: false,
  ...(statusCode === undefined ? {} : { statusCode }),
});

describe("modelCalls", () => {
  it("counts a call that failed, and does not let the runtime repeat one too many", async () => {
    const { outcome, sessions, clock } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { modelCalls: 3 },
      play: () => ({
        acts: [begins, fails(429), fails(), fails(503), fails(500)],
        takes: 60_000,
      }),
    });
    assert.equal(outcome.kind, "failed");
    assert.match(JSON.stringify(outcome), /modelCalls/);
    assert.equal(sessions.turns.length, 1);
    assert.ok(clock.now() < 60_000, `it ended after ${clock.now()} ms`);
  });

  it("does not let a call beyond the allowed ones begin", async () => {
    const { outcome, clock } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { modelCalls: 2 },
      play: () => ({ acts: [begins, modelUsed(), begins, modelUsed(), begins], takes: 60_000 }),
    });
    assert.equal(outcome.kind, "failed");
    assert.ok(clock.now() < 60_000, `it ended after ${clock.now()} ms`);
  });

  it("counts them over crashes: a further try needs a call that is left", async () => {
    const { outcome, sessions } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { modelCalls: 2 },
      play: () => ({ acts: [begins, fails(400)], crash: answered(408) }),
    });
    assert.equal(sessions.turns.length, 2);
    assert.match(JSON.stringify(outcome), /modelCalls/);
  });

  it("leaves the cause to an error that the runtime does not repeat", async () => {
    const { decisions } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { modelCalls: 1 },
      play: () => ({ acts: [begins, fails(404)], crash: answered(404) }),
    });
    assert.ok(!decisions.some((one) => one.includes("modelCalls")), decisions.join("\n"));
  });
});

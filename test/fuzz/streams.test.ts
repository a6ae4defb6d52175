/**
 * Whatever a model and its server send: the time and the memory that it takes grow with its size and no
 * faster, and nothing that a number may be stops a run from ending.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import type { SessionEvent } from "@github/copilot-sdk";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { Deltas, TurnState } from "../../src/sessions/turn-state.ts";
import { Translator } from "../../src/sessions/translate.ts";
import { play, ref } from "../rig/engine.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { holds } from "../rig/fuzz.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { event, idle } from "../sessions/events.ts";
import { sessionCrash } from "../rig/crashes.ts";

function passThrough(events: readonly SessionEvent[]): SessionActivity[] {
  const state = new TurnState({ modelId: "m", baseUrl: undefined });
  const translator = new Translator();
  const passed: SessionActivity[] = [];
  const deltas = new Deltas(new FakeClock(), (activity) => passed.push(activity));
  for (const one of events) {
    state.accept(one);
    for (const activity of translator.translate(one)) deltas.pass(activity);
  }
  for (const activity of translator.close()) deltas.pass(activity);
  deltas.flush();
  return passed;
}

const id = fc.constantFrom("a", "b");
const piece = fc.oneof(fc.string({ maxLength: 20 }), fc.constant("z".repeat(40_000)));
const streamed = fc.oneof(
  fc
    .tuple(id, piece)
    .map(([messageId, deltaContent]) =>
      event("assistant.message_delta", { messageId, deltaContent }),
    ),
  fc
    .tuple(id, piece)
    .map(([reasoningId, deltaContent]) =>
      event("assistant.reasoning_delta", { reasoningId, deltaContent }),
    ),
  fc
    .tuple(id, piece)
    .map(([toolCallId, partialOutput]) =>
      event("tool.execution_partial_result", { toolCallId, partialOutput }),
    ),
  id.map((toolCallId) =>
    event("tool.execution_start", { toolCallId, toolName: "bash", arguments: {} }),
  ),
  id.map((toolCallId) => event("tool.execution_complete", { toolCallId, success: true })),
  fc.constant(idle()),
);

it("joining deltas loses nothing and keeps the order", async (t) => {
  const property = fc.property(fc.array(streamed, { maxLength: 60 }), (events) => {
    const plain = ((): SessionActivity[] => {
      const translator = new Translator();
      return [...events.flatMap((one) => translator.translate(one)), ...translator.close()];
    })();
    assert.deepEqual(joined(passThrough(events)), joined(plain));
  });
  await holds(t, property, 200);
});

/** Neighbors of one text as one. */
function joined(activities: readonly SessionActivity[]): SessionActivity[] {
  const result: SessionActivity[] = [];
  for (const one of activities) {
    const last = result.at(-1);
    if (last?.kind === one.kind && "text" in last && "text" in one && one.kind.endsWith(".delta")) {
      const same = JSON.stringify({ ...last, text: "" }) === JSON.stringify({ ...one, text: "" });
      if (same) {
        result[result.length - 1] = { ...one, text: last.text + one.text };
        continue;
      }
    }
    result.push(one);
  }
  return result;
}

it("no number of an entry keeps a run from ending", async (t) => {
  const minutes = fc.double({ min: 1e-3, max: 1e308, noNaN: true });
  const count = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constantFrom(3e9, 2 ** 53, 1e300));
  const limits = fc.record({
    jobMinutes: minutes,
    taskMinutes: minutes,
    turnMinutes: minutes,
    idleMinutes: minutes,
    tokens: count,
    modelCalls: count,
    loopIterations: count,
    parallel: count,
  });
  const property = fc.asyncProperty(limits, count, count, async (limits, retries, retryTimes) => {
    const { outcome, events } = await play({
      tasks: {
        t: {
          prompt: "p",
          model: { category: "work" },
          criteria: {
            toolExecuted: ["job_boolean_true"],
            runConditionInSameSession: false,
            failureAction: { retryTimes },
          },
        },
      },
      work: { kind: "Loop", body: ref("t"), postCondition: [false, ref("t")] },
      entry: { limits, drivingSessionRetries: [{ modelId: "driver", retries }] },
      play: ({ label }) => ({
        acts: [modelUsed(1)],
        ...(label.attempt < 2 ? { crash: sessionCrash } : { tools: ["job_boolean_true"] }),
      }),
    });
    assert.ok(outcome.kind === "succeeded" || outcome.kind === "failed");
    assert.equal(events.at(-1)?.type, "run.ended");
  });
  await holds(t, property, 50);
});

it("whatever usage a server reports, the count of tokens never goes down", async (t) => {
  const reported = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(NaN, -Infinity, -1e300));
  const property = fc.asyncProperty(fc.array(reported, { maxLength: 20 }), async (usages) => {
    const { outcome } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { tokens: 100 },
      play: () => ({
        acts: [modelUsed(60), ...usages.map((one) => modelUsed(one)), modelUsed(60)],
      }),
    });
    assert.equal(outcome.kind, "failed");
  });
  await holds(t, property, 100);
});

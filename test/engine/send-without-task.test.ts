import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallBudget, resolveLimits, UsageBudget } from "../../src/engine/limits.ts";
import type { TurnOutcome } from "../../src/engine/ports.ts";
import { RateLimit } from "../../src/engine/rate-limit.ts";
import { Scope } from "../../src/engine/scope.ts";
import {
  type Prompt,
  type PromptEvent,
  SESSION_CRASH_PREFIX,
  sendPrompt,
  roundRobin,
  sameModel,
  type Attempts,
} from "../../src/engine/send-prompt.ts";
import type { Limits } from "../../src/entry/model.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { openGate } from "../rig/engine.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { FakeSessions, modelUsed, type Act, type Turn } from "../rig/fake-sessions.ts";

interface Sent {
  readonly outcome: TurnOutcome;
  readonly prompts: readonly string[];
  readonly models: readonly string[];
  readonly events: readonly PromptEvent[];
  readonly scope: Scope;
}

/** Sends as a front-end without tasks would: with sessions, limits and an emitter of its own. */
async function send(
  play: (turn: Turn) => Act,
  {
    limits: given = {},
    attempts = sameModel("m", 5),
    times = 1,
    ...prompt
  }: Partial<Prompt> & { limits?: Limits; attempts?: Attempts; times?: number } = {},
): Promise<Sent> {
  const clock = new FakeClock();
  const sessions = new FakeSessions(clock, play);
  const events: PromptEvent[] = [];
  const scope = Scope.root(undefined);
  const limits = resolveLimits(given);
  let turns = 0;
  const sender = {
    ports: { clock, gate: openGate, rateLimit: new RateLimit(clock), random: () => 0 },
    scope,
    limits,
    budgets: { calls: new CallBudget(limits, scope), usage: new UsageBudget(limits, scope) },
    subject: "the conversation",
    emit: (event: PromptEvent) => void events.push(event),
    nextTurnId: () => `turn-${(turns += 1)}`,
  };
  const models: string[] = [];
  const one = (): Promise<TurnOutcome> =>
    sendPrompt(sender, {
      purpose: "prompt",
      retry: 0,
      text: "Hello",
      attempts,
      sessions: {
        acquire: async (modelId, attempt) => {
          models.push(modelId);
          const session = sessions.session({ modelId }, `s${attempt}`);
          return { kind: "ready", session };
        },
        discard: async () => {},
      },
      ...prompt,
    });
  let outcome = await clock.runUntil(one());
  for (let n = 1; n < times; n += 1) outcome = await clock.runUntil(one());
  return { outcome, prompts: sessions.prompts, models, events, scope };
}

describe("a prompt that belongs to no task", () => {
  it("has the whole outcome of its turn: the text, the calls with their arguments", async () => {
    const { outcome, events } = await send(() => ({ tools: [["look", "at this"]], text: "Hi." }));
    assert.deepEqual(outcome, {
      kind: "completed",
      text: "Hi.",
      toolCalls: [{ name: "look", arguments: { argument: "at this" }, succeeded: true }],
    });
    assert.deepEqual(
      events.map(({ type }) => type),
      ["turn.started", "turn.ended"],
    );
    assert.ok(events.every((event) => !("work" in event)));
  });

  it("says when its answer was cut", async () => {
    assert.equal((await send(() => ({ cut: true }))).outcome.kind, "cut");
  });

  it("has the activity of its workflow in the label of the session, in every attempt", async () => {
    const activity = { id: "Ask", file: "flow.wf.md", hit: 2 };
    const seen: unknown[] = [];
    await send(
      ({ label }) => {
        seen.push(label.activity);
        return seen.length === 1 ? { crash: sessionCrash } : {};
      },
      { activity },
    );
    assert.deepEqual(seen, [activity, activity]);
  });

  it("is made anew for each attempt, with the model whose turn it is", async () => {
    const attempts = roundRobin("a", [
      { modelId: "b", retries: 2 },
      { modelId: "c", retries: 1 },
    ]);
    const text = (attempt: number): string => `Hello ${attempt}`;
    const { outcome, prompts, models } = await send(() => ({ crash: sessionCrash }), {
      attempts,
      text,
    });
    assert.deepEqual(models, ["a", "b", "c", "b"]);
    assert.deepEqual(prompts, [
      "Hello 1",
      ...[2, 3, 4].map((n) => `${SESSION_CRASH_PREFIX}Hello ${n}`),
    ]);
    const crash = { ...sessionCrash, attempts: 4 };
    assert.deepEqual(outcome, { kind: "crashed", toolCalls: [], crash });
  });

  it("names the setting behind an exceeded limit as its front-end writes it", async () => {
    const crash = { cause: "deadline", limit: "turnMinutes", message: "late" } as const;
    const { events } = await send(() => ({ crash }), { attempts: sameModel("m", 1) });
    const [limit] = events.flatMap((event) =>
      event.type === "decision" && event.decision.kind === "limit-exceeded" ? [event.decision] : [],
    );
    assert.deepEqual(limit?.scope, { kind: "turn", of: "the conversation" });
  });

  it("counts against the budgets that it was given, over all prompts", async () => {
    const play = (): Act => ({ acts: [modelUsed(10)] });
    const calls = await send(play, { limits: { modelCalls: 3 }, times: 4 });
    assert.equal(calls.prompts.length, 3);
    assert.equal(calls.outcome.kind, "canceled");
    assert.deepEqual(
      calls.scope.stopped?.kind === "limit" && calls.scope.stopped.limit,
      "modelCalls",
    );
    const tokens = await send(play, { limits: { tokens: 25 }, times: 4 });
    assert.equal(tokens.prompts.length, 3);
    assert.deepEqual(tokens.scope.stopped?.kind === "limit" && tokens.scope.stopped.used, 30);
  });
});

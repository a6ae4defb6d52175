/** Runs that share a budget, a gate or a rate limit with runs elsewhere, and what happens if one of these fails. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import type { Budget, RateLimit, Spent, TurnGate } from "../../src/engine/ports.ts";
import { playFlow } from "../rig/flow.ts";
import { play, ref, type Played, type Setup } from "../rig/engine.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { rounds } from "../rig/nightly.ts";

const task = { prompt: "p", model: { category: "driving" } };
const names = ["a", "b", "c", "d", "e", "f"];
const tasks = Object.fromEntries(names.map((name) => [name, task]));
const work = { kind: "Seq", works: names.map(ref) } as const;

class SharedSum implements Budget {
  readonly calls: Spent[] = [];
  tokens = 0;
  cost = 0;

  async add(used: Spent): Promise<Spent> {
    this.calls.push(used);
    this.tokens += used.tokens;
    this.cost += used.cost;
    const { tokens, cost } = this;
    await Promise.resolve();
    return { tokens, cost };
  }
}

const reasonOf = ({ outcome }: Played): string => ("reason" in outcome ? outcome.reason : "");

describe("runs that share a budget", () => {
  it("spend at most one turn of each worker more than it, and end with the limit", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 600 }),
        async (workers, turns, limit) => {
          const budget = new SharedSum();
          const run = (worker: number): Promise<Played> => {
            let turn = worker;
            const next = (): number => turns[(turn += 1) % turns.length] ?? 1;
            const act = (): ReturnType<Setup["play"]> => ({ acts: [modelUsed(next())] });
            return play({ tasks, work, budget, entry: { limits: { tokens: limit } }, play: act });
          };
          const all = await Promise.all(Array.from({ length: workers }, (_, index) => run(index)));
          const most = Math.max(...turns);
          assert.ok(budget.tokens <= limit + workers * most, `${budget.tokens} of ${limit}`);
          const told = budget.calls.reduce((sum, { tokens }) => sum + tokens, 0);
          assert.equal(told, budget.tokens);
          if (budget.tokens <= limit)
            assert.ok(all.every(({ outcome }) => outcome.kind === "succeeded"));
          else assert.ok(all.some((one) => reasonOf(one).startsWith("exceeded limits.tokens")));
        },
      ),
      rounds(200, 8),
    );
  });

  it("ask it before each turn, and end before the first if it is spent", async () => {
    const budget = new SharedSum();
    budget.tokens = 1_001;
    const limits = { tokens: 1_000 };
    const played = await play({ tasks, work, budget, entry: { limits }, play: () => ({}) });
    assert.equal(played.sessions.turns.length, 0);
    assert.equal(
      reasonOf(played),
      "exceeded limits.tokens (1000 tokens, 1001 used), set by limits.tokens of the entry",
    );
    assert.deepEqual(budget.calls, [
      { tokens: 0, cost: 0 },
      { tokens: 0, cost: 0 },
    ]);
  });

  it("hold a default limit each for itself, and what an earlier run has spent is there already", async () => {
    const budget = new SharedSum();
    budget.tokens = 30_000_000;
    const past = {
      runId: "r",
      works: [],
      underWay: [],
      lists: [],
      tokens: 900,
      cost: 1,
      milliseconds: 0,
    };
    const acts = [modelUsed(100)];
    const run = (limits: { tokens?: number }): Promise<Played> =>
      play({ tasks: { a: task }, past, budget, entry: { limits }, play: () => ({ acts }) });
    assert.equal((await run({})).outcome.kind, "succeeded");
    budget.tokens = 900;
    assert.equal((await run({ tokens: 1_000 })).outcome.kind, "succeeded");
    assert.equal(budget.tokens, 1_000);
  });

  it("end within a workflow, too, whatever its own limit leaves", async () => {
    const budget = new SharedSum();
    budget.tokens = 70;
    const played = await playFlow(
      "START --> PROMPT_A[Prompt: User B] --> PROMPT_B[Prompt: User B] --> PROMPT_C[Prompt: User B]",
      {
        budget,
        ownLimits: { tokens: 1_000 },
        entry: { limits: { tokens: 100 } },
        play: () => ({ acts: [modelUsed(20)] }),
      },
    );
    assert.match(reasonOf(played), /^exceeded limits\.tokens \(100 tokens, 110 used\)/);
    assert.equal(played.sessions.turns.length, 2);
  });

  for (const [what, add, reason] of [
    ["rejects", () => Promise.reject(new Error("no connection")), "no connection"],
    [
      "throws",
      (): never => {
        throw new Error("no connection");
      },
      "no connection",
    ],
    [
      "has no sum",
      () => Promise.resolve({ tokens: Number.NaN, cost: 0 }),
      "add must resolve with the numbers tokens and cost",
    ],
  ] as const)
    it(`fail before they spend more if it ${what}`, async () => {
      const budget = new SharedSum();
      const { sessions, outcome } = await play({
        tasks,
        work,
        budget: { add: (used) => (budget.calls.length < 3 ? budget.add(used) : add()) },
        play: () => ({ acts: [modelUsed(10)] }),
      });
      assert.deepEqual(outcome, {
        kind: "failed",
        reason: `The shared budget failed: ${reason}`,
      });
      assert.ok(sessions.turns.length <= 2, String(sessions.turns.length));
    });
});

describe("a port of an application that rejects", () => {
  const lost = (): Promise<never> => Promise.reject(new Error("no connection"));
  const turnGate: TurnGate = { run: lost };
  const none = (): void => {};
  const rateLimit: RateLimit = { enter: lost, met: none, pause: none, lifted: none };
  for (const [name, ports] of [
    ["turnGate", { gate: () => turnGate }],
    ["rateLimit", { rateLimit }],
  ] as const)
    test(`ends the turn before it begins, by its name: ${name}`, async () => {
      const { sessions, outcome } = await play({ tasks: { a: task }, ...ports, play: () => ({}) });
      assert.equal(sessions.turns.length, 0);
      assert.deepEqual(outcome, {
        kind: "failed",
        reason: `task "a" crashed: The ${name} failed: no connection`,
      });
    });
});

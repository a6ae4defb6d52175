/** Tokens and cost: of a job, and of a part of it with limits of its own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageBudget } from "../../src/engine/budgets.ts";
import { partLimits, resolveLimits, setBy } from "../../src/engine/limits.ts";
import { Scope } from "../../src/engine/scope.ts";
import type { Limits } from "../../src/entry/model.ts";
import { play, ref } from "../rig/engine.ts";
import { modelUsed } from "../rig/fake-sessions.ts";

const cost = (credits: number, tokens = 0) => modelUsed(tokens, false, credits);

/** Which limit has stopped the scope, and what was used of it. */
const stopOf = ({ stopped }: Scope): unknown[] | undefined =>
  stopped?.kind === "limit" ? [stopped.limit, stopped.value, stopped.used] : undefined;

function budget(limits: Limits): { readonly whole: UsageBudget; readonly scope: Scope } {
  const scope = Scope.root(undefined);
  return { whole: new UsageBudget(resolveLimits(limits), scope), scope };
}

const task = { prompt: "p", model: { category: "driving" } };

describe("limits.cost", () => {
  it("stops a job of tasks, with a decision about the job", async () => {
    const { outcome, sessions, events } = await play({
      tasks: { a: task, b: task, c: task },
      work: { kind: "Seq", works: [ref("a"), ref("b"), ref("c")] },
      entry: { limits: { cost: 1.5 } },
      play: () => ({ acts: [cost(0.75), modelUsed(10, true, 0.33)] }),
    });
    assert.equal(sessions.turns.length, 2);
    assert.deepEqual(outcome, {
      kind: "failed",
      reason: "exceeded limits.cost (1.5 credits, 1.83 used), set by limits.cost of the entry",
    });
    const limits = events.flatMap((event) =>
      event.type === "decision" && event.decision.kind === "limit-exceeded" ? [event] : [],
    );
    assert.deepEqual(
      limits.map(({ work, decision }) => [work, decision]),
      [
        [
          null,
          {
            kind: "limit-exceeded",
            limit: "cost",
            value: 1.5,
            used: 1.83,
            setBy: "limits.cost of the entry",
            scope: { kind: "job" },
          },
        ],
      ],
    );
  });

  it("is not exceeded by what adds up to it, although binary fractions do not", () => {
    const { whole, scope } = budget({ cost: 0.3 });
    for (let call = 0; call < 3; call += 1) whole.spend(cost(0.1));
    assert.equal(scope.stopped, undefined);
    whole.spend(cost(0.01));
    assert.deepEqual(stopOf(scope), ["cost", 0.3, 0.31]);
  });

  it("has a default, as the tokens have", () => {
    const { whole, scope } = budget({});
    whole.spend(cost(1000, 20_000_000));
    assert.equal(scope.stopped, undefined);
    whole.spend(cost(0.5));
    assert.deepEqual(stopOf(scope), ["cost", 1000, 1000.5]);
    const other = budget({ cost: 5000 });
    other.whole.spend(cost(4000, 20_000_001));
    assert.deepEqual(stopOf(other.scope), ["tokens", 20_000_000, 20_000_001]);
  });

  it("is left to a session as far as it and all around it allow", () => {
    const { whole, scope } = budget({ cost: 10 });
    const part = whole.child(resolveLimits({ cost: 6 }), scope);
    part.spend(cost(1));
    assert.deepEqual([whole.creditsLeft, part.creditsLeft], [9, 5]);
    whole.spend(cost(6));
    assert.deepEqual([whole.creditsLeft, part.creditsLeft], [3, 3]);
    // The runtime would tell the model to be frugal.
    assert.equal(budget({}).whole.creditsLeft, Infinity);
  });

  it("is not lowered by whatever a server reports", () => {
    const { whole, scope } = budget({ cost: 10 });
    for (const one of [6, -5, Number.NaN, -Infinity, 6]) whole.spend(cost(one));
    assert.deepEqual(stopOf(scope), ["cost", 10, 12]);
  });
});

describe("the budget of a part", () => {
  const none: Limits = {};
  const part = (whole: UsageBudget, scope: Scope, limits: Limits) => {
    const own = scope.child();
    return { scope: own, usage: whole.child(resolveLimits(limits), own) };
  };

  it("stops only its own scope", () => {
    const { whole, scope } = budget({ tokens: 100 });
    const one = part(whole, scope, { tokens: 20, cost: 1 });
    const other = part(whole, scope, { tokens: 20, cost: 1 });
    one.usage.spend(modelUsed(21));
    other.usage.spend(cost(1.5));
    assert.deepEqual(stopOf(one.scope), ["tokens", 20, 21]);
    assert.deepEqual(stopOf(other.scope), ["cost", 1, 1.5]);
    assert.equal(scope.stopped, undefined);
  });

  it("spends from the whole, and from every whole of that", () => {
    const { whole, scope } = budget({ tokens: 100, cost: 10 });
    const outer = part(whole, scope, none);
    const inner = part(outer.usage, outer.scope, { tokens: 1000 });
    inner.usage.spend(modelUsed(60));
    whole.spend(modelUsed(30));
    assert.equal(scope.stopped, undefined);
    inner.usage.spend(modelUsed(11));
    assert.deepEqual(stopOf(scope), ["tokens", 100, 101]);
    assert.deepEqual(stopOf(inner.scope), ["tokens", 100, 101]);
  });

  it("leaves the reason to the whole if one call exceeds both", () => {
    const { whole, scope } = budget({ cost: 3 });
    const { usage, scope: own } = part(whole, scope, { cost: 2 });
    usage.spend(cost(4));
    assert.deepEqual(stopOf(own), ["cost", 3, 4]);
  });

  it("does not count what other parts spend", () => {
    const { whole, scope } = budget(none);
    const one = part(whole, scope, { tokens: 20 });
    part(whole, scope, none).usage.spend(modelUsed(50));
    one.usage.spend(modelUsed(20));
    assert.equal(one.scope.stopped, undefined);
  });
});

describe("the limits of a part", () => {
  const run = resolveLimits(
    { turnMinutes: 4, tokens: 1000 },
    { jobMinutes: 9, setBy: { jobMinutes: "--timeout-minutes" } },
  );

  it("hold where the run has a default", () => {
    const own = partLimits(run, { turnMinutes: 1, idleMinutes: 2, activityHits: 7 }, "flow.wf.md");
    assert.deepEqual(
      [own.turnMinutes, own.idleMinutes, own.activityHits, own.activities],
      [4, 2, 7, 10_000],
    );
    assert.deepEqual(own.setBy, {
      turnMinutes: "limits.turnMinutes of the entry",
      ...setBy({ idleMinutes: 2, activityHits: 7 }, "flow.wf.md"),
    });
  });

  it("bound the part beside those of the whole", () => {
    const own = partLimits(run, { tokens: 5, cost: 0.5 }, "flow.wf.md");
    assert.deepEqual([own.jobMinutes, own.tokens, own.cost], [Infinity, 5, 0.5]);
    assert.deepEqual(own.setBy, {
      turnMinutes: "limits.turnMinutes of the entry",
      ...setBy({ tokens: 5, cost: 0.5 }, "flow.wf.md"),
    });
    const nothing = partLimits(run, undefined, "flow.wf.md");
    assert.deepEqual([nothing.jobMinutes, nothing.tokens], [Infinity, Infinity]);
  });
});

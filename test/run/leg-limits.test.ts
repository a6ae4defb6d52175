import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import * as fc from "fast-check";
import { resolveLimits } from "../../src/engine/limits.ts";
import { legLimits } from "../../src/run/shards.ts";

const none = { tokens: 0, cost: 0 };
const four = [1, 1, 1, 1];

describe("a shard", () => {
  it("may spend its share of what the plan has left, and says so", () => {
    const whole = resolveLimits({ tokens: 1200, cost: 3 });
    const shard = { index: 2, count: 4 };
    const { limits, notes } = legLimits({ shard, weights: four, planned: none }, whole, {});
    assert.deepEqual([limits.tokens, limits.cost], [300, 0.75]);
    assert.equal(limits.setBy?.tokens, "shard 2/4's share of 1200 (limits.tokens of the entry)");
    assert.deepEqual(notes, [
      "shard 2/4 may spend 300 of 1200 tokens (limits.tokens)",
      "shard 2/4 may spend 0.75 of 3 credits (limits.cost)",
    ]);
    // What the plan has spent counts in each of its shards.
    const planned = { tokens: 200, cost: 0 };
    const after = legLimits({ shard, weights: four, planned }, whole, {});
    assert.equal(after.limits.tokens, 200 + 250);
    assert.equal(
      after.limits.setBy?.tokens,
      "shard 2/4's share of 1200 (limits.tokens of the entry) and the 200 of the plan",
    );
    assert.equal(
      after.notes[0],
      "shard 2/4 may spend 250 of 1200 tokens (limits.tokens), after the 200 of the plan",
    );
  });

  it("has the limits of each machine where nobody has set one, or with --share all", () => {
    const shard = { index: 1, count: 2 };
    const defaults = resolveLimits();
    const bare = legLimits({ shard, weights: four, planned: none }, defaults, {});
    assert.deepEqual(
      [bare.limits.tokens, bare.limits.parallel, bare.notes],
      [defaults.tokens, defaults.parallel, []],
    );
    const whole = resolveLimits({ tokens: 1200 });
    const all = legLimits({ shard, weights: four, planned: none }, whole, { share: "all" });
    assert.deepEqual([all.limits.tokens, all.notes], [1200, []]);
  });

  it("runs its part of the turns, or as many as it was told itself", () => {
    const whole = resolveLimits({ parallel: 8 });
    const of = (index: number, count: number, own = {}): number =>
      legLimits({ shard: { index, count }, weights: four, planned: none }, whole, { limits: own })
        .limits.parallel;
    assert.deepEqual([of(1, 3), of(2, 3), of(3, 3)], [3, 3, 2]);
    assert.deepEqual([of(1, 20), of(20, 20)], [1, 1]);
    assert.equal(of(1, 3, { parallel: 8 }), 8);
  });
});

test("the shares of all shards are what is left, by the weights of their members", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1_000, max: 1_000_000 }),
      fc.integer({ min: 0, max: 500 }),
      (weights, shards, tokens, spent) => {
        const count = Math.min(shards, weights.length);
        const planned = { tokens: spent, cost: 0 };
        const whole = resolveLimits({ tokens });
        const own = Array.from({ length: count }, (_, at) => {
          const shard = { index: at + 1, count };
          return legLimits({ shard, weights, planned }, whole, {}).limits.tokens - spent;
        });
        assert.equal(
          own.reduce((sum, one) => sum + one, 0),
          tokens - spent,
        );
      },
    ),
  );
});

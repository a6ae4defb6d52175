import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { EvalBudget } from "../../src/evals/budget.ts";
import type { TurnGate } from "../../src/engine/ports.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { rounds } from "../rig/nightly.ts";

const open: TurnGate = { run: (turn) => turn() };

function used(tokens: number, cost = 0): RunEvent {
  return {
    at: 0,
    runId: "r",
    type: "activity",
    work: { workId: 0, taskId: "t", iteration: 1 },
    sessionId: "s",
    turnId: "1",
    activity: modelUsed(tokens, false, cost),
  };
}

/** Runs of some turns each, all at once; the calls of a turn come between those of the others. */
async function play(
  limit: number,
  runs: readonly (readonly (readonly number[])[])[],
  of: "tokens" | "cost" = "tokens",
): Promise<{ spent: number; stopped: string[]; most: number }> {
  const stopped: string[] = [];
  const stop = new AbortController();
  let [open_, most] = [0, 0];
  const budget = new EvalBudget({ [of]: limit }, [], (reason, isExceeded) => {
    if (stopped.length === 0) stopped.push(reason);
    if (isExceeded) stop.abort();
  });
  await Promise.all(
    runs.map(async (turns) => {
      const meter = budget.meter("m", () => {});
      const gate = meter.gate(open);
      for (const calls of turns) {
        await gate.run(async () => {
          open_ += 1;
          most = Math.max(most, open_);
          for (const tokens of calls) {
            await Promise.resolve();
            // A stopped turn makes no further call, as in the engine.
            if (stop.signal.aborted) break;
            meter.report(of === "cost" ? used(0, tokens / 10) : used(tokens));
          }
          open_ -= 1;
        }, stop.signal);
      }
    }),
  );
  return { spent: budget.spent[of], stopped, most };
}

describe("the budget of an eval", () => {
  for (const of of ["tokens", "cost"] as const) {
    it(`of ${of} is never exceeded by more than one turn, whatever the turns are`, async () => {
      const turn = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 });
      const run = fc.array(turn, { minLength: 1, maxLength: 4 });
      const runs = fc.array(run, { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 2000 }), runs, async (limit, all) => {
          // Costs are fractions.
          const unit = of === "cost" ? 10 : 1;
          const sizes = all.flat().map((calls) => calls.reduce((a, b) => a + b, 0) / unit);
          const { spent, stopped } = await play(limit, all, of);
          assert.ok(spent <= limit + Math.max(...sizes) + 1e-6, `${spent} of ${limit}`);
          // All of it ran, or the reason was said once.
          if (sizes.reduce((a, b) => a + b, 0) > limit + 1e-6) assert.equal(stopped.length, 1);
        }),
        rounds(300),
      );
    });
  }

  it("is not exceeded at all if turns are of one size", async () => {
    const runs = Array.from({ length: 20 }, () => [[60, 40], [100]]);
    const { spent, stopped, most } = await play(1050, runs);
    assert.equal(spent, 1000);
    assert.deepEqual(stopped, [
      "the budget is used up: 1000 of 1050 (tokens), and the next turn may not fit",
    ]);
    assert.ok(most > 1, "turns run at the same time once the size of one is known");
  });

  it("counts what earlier processes have spent", async () => {
    const stopped: string[] = [];
    const budget = new EvalBudget({ cost: 2 }, [{ models: "m", tokens: 9, cost: 2 }], (why) =>
      stopped.push(why),
    );
    const gate = budget.meter("m", () => {}).gate(open);
    assert.equal(await gate.run(() => Promise.resolve(1), new AbortController().signal), undefined);
    assert.equal(stopped.length, 1);
  });

  it("lets a turn that waits go when its run is canceled", async () => {
    const budget = new EvalBudget({ tokens: 100 }, [], () => {});
    const [first, second] = [new AbortController(), new AbortController()];
    let finish = (): void => {};
    const running = budget
      .meter("m", () => {})
      .gate(open)
      .run(() => new Promise<void>((resolve) => (finish = resolve)), first.signal);
    const waiting = budget
      .meter("m", () => {})
      .gate(open)
      .run(() => Promise.resolve("ran"), second.signal);
    second.abort();
    assert.equal(await waiting, undefined);
    finish();
    await running;
  });
});

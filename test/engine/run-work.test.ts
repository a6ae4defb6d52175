import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import type { Task, Work } from "../../src/entry/model.ts";
import { assignWorkId } from "../../src/entry/work.ts";
import { runWork, type Finished, type WorkResult } from "../../src/engine/run-work.ts";
import { Scope } from "../../src/engine/scope.ts";
import { play } from "../rig/engine.ts";
import { answered } from "../rig/crashes.ts";
import { nightly, rounds } from "../rig/nightly.ts";

const names = ["a", "b", "c", "d"] as const;
const tasks: Readonly<Record<string, Task>> = Object.fromEntries(
  names.map((name) => [
    name,
    {
      model: { category: "work" },
      prompt: name,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
  ]),
);

type Outcome = "succeeds" | "fails" | "is cut" | "crashes";

const works = fc.letrec<{ work: Work }>((tie) => {
  const work = tie("work");
  return {
    work: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(...names).map((taskId): Work => ({ kind: "Ref", taskId })),
      fc
        .array(work, { minLength: 1, maxLength: 4 })
        .map((children): Work => ({ kind: "Seq", works: children })),
      fc
        .array(work, { minLength: 1, maxLength: 4 })
        .map((children): Work => ({ kind: "Par", works: children })),
      fc
        .record({
          condition: work,
          trueWork: fc.option(work, { nil: undefined }),
          falseWork: fc.option(work, { nil: undefined }),
        })
        .map(({ condition, trueWork, falseWork }): Work => ({
          kind: "Alt",
          condition,
          ...(trueWork === undefined ? {} : { trueWork }),
          ...(falseWork === undefined ? {} : { falseWork }),
        })),
      fc
        .record({
          pre: fc.option(fc.tuple(fc.boolean(), work), { nil: undefined }),
          body: work,
          post: fc.option(fc.tuple(fc.boolean(), work), { nil: undefined }),
          atMost: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
          reached: fc.constantFrom("fail" as const, "succeed" as const, undefined),
        })
        .map(({ pre, body, post, atMost, reached }): Work => ({
          kind: "Loop",
          body,
          ...(atMost === undefined ? {} : { atMost }),
          ...(atMost === undefined || reached === undefined ? {} : { atMostReached: reached }),
          ...(pre === undefined ? {} : { preCondition: pre }),
          ...(post === undefined ? {} : { postCondition: post }),
        })),
    ),
  };
}).work;

class Crashed extends Error {}

const kindOf = {
  succeeds: "succeeded",
  fails: "failed",
  "is cut": "failed",
  crashes: "crashed",
} as const;

/** `unanswered`: a failure that no condition takes for its answer. */
type Ended = "succeeded" | "failed" | "unanswered";

/** The reference: statement 15 as a recursive function over sequential trees, nothing else. */
function reference(
  work: Work<number>,
  next: (workId: number, taskId: string) => Outcome,
  limit: number,
): Ended {
  switch (work.kind) {
    case "Flow":
    case "Run":
    case "Each":
      throw new Error("These trees have none of them.");
    case "Ref":
      switch (next(work.workIdInJob, work.taskId)) {
        case "succeeds":
          return "succeeded";
        case "fails":
          return "failed";
        case "is cut":
          return "unanswered";
        case "crashes":
          throw new Crashed();
      }
    case "Seq":
      for (const child of work.works) {
        const ended = reference(child, next, limit);
        if (ended !== "succeeded") return ended;
      }
      return "succeeded";
    case "Par": {
      const ends = work.works.map((child) => reference(child, next, limit));
      return ends.includes("unanswered")
        ? "unanswered"
        : ends.includes("failed")
          ? "failed"
          : "succeeded";
    }
    case "Alt": {
      const answer = reference(work.condition, next, limit);
      if (answer === "unanswered") return answer;
      const chosen = answer === "succeeded" ? work.trueWork : work.falseWork;
      return chosen === undefined ? "succeeded" : reference(chosen, next, limit);
    }
    case "Loop": {
      const goesOn = (condition: readonly [boolean, Work<number>] | undefined) => {
        if (condition === undefined) return true;
        const answer = reference(condition[1], next, limit);
        return answer === "unanswered" ? answer : (answer === "succeeded") === condition[0];
      };
      const { atMost = Number.POSITIVE_INFINITY, preCondition, postCondition } = work;
      for (let passes = 0; ; passes += 1) {
        if (passes === atMost && preCondition === undefined && postCondition === undefined)
          return "succeeded";
        const before = goesOn(preCondition);
        if (before === "unanswered") return before;
        if (!before) return "succeeded";
        if (passes === atMost) return work.atMostReached === "succeed" ? "succeeded" : "failed";
        if (passes === limit) return "unanswered";
        const body = reference(work.body, next, limit);
        if (body !== "succeeded") return body;
        // Without a postcondition nothing is redone, unless a number of passes is planned.
        if (postCondition === undefined && work.atMost === undefined) return "succeeded";
        const after = goesOn(postCondition);
        if (after === "unanswered") return after;
        if (!after) return "succeeded";
      }
    }
  }
}

/** The n-th run of a work always ends the same way, whatever runs beside it. */
const outcomeOf = (seed: number, crashes: boolean) => {
  const runs = new Map<number, number>();
  return (workId: number, given?: number): Outcome => {
    const run = given ?? (runs.get(workId) ?? 0) + 1;
    runs.set(workId, run);
    let hash = (seed ^ (workId * 2_654_435_761) ^ (run * 40_503)) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_519) >>> 0;
    const dice = (hash ^ (hash >>> 13)) % 20;
    if (dice === 0 && crashes) return "crashes";
    return dice < 2 ? "is cut" : dice < 8 ? "fails" : "succeeds";
  };
};

const hasPar = (work: Work): boolean => JSON.stringify(work).includes('"Par"');

describe("runWork against a reference model", () => {
  it("ends like the model, runs the same tasks, and in the same order where nothing is parallel", async () => {
    await fc.assert(
      fc.asyncProperty(works, fc.integer(), async (work, seed) => {
        const limit = 3;
        const played = await play({
          tasks,
          work,
          limits: { loopIterations: limit },
          play: ({ label }) => {
            switch (outcomeOf(seed, !hasPar(work))(label.workId, label.iteration)) {
              case "succeeds":
                return { tools: ["job_boolean_true"] };
              case "fails":
                return {};
              case "is cut":
                return { tools: ["job_boolean_true"], cut: true };
              case "crashes":
                return { crash: answered(400) };
            }
          },
        });
        const started = played.events.find((event) => event.type === "run.started");
        assert.ok(started?.type === "run.started");
        const expected: string[] = [];
        const outcomes = outcomeOf(seed, !hasPar(work));
        let end: Ended;
        try {
          end = reference(
            simplified(work),
            (workId, taskId) => {
              const outcome = outcomes(workId);
              expected.push(`${taskId}:${kindOf[outcome]}`);
              return outcome;
            },
            limit,
          );
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
          end = "failed";
        }
        assert.equal(played.outcome.kind, end === "succeeded" ? "succeeded" : "failed");
        if (hasPar(work)) assert.deepEqual([...played.ended].sort(), expected.sort());
        else assert.deepEqual(played.ended, expected);
        const starts = played.events.filter((event) => event.type === "work.started").length;
        assert.equal(starts, played.ended.length, "every work that starts ends");
      }),
      rounds(300),
    );
  });

  it("keeps its memory flat over the iterations of a one-task loop", { timeout: 60_000 }, () => {
    // In a process of its own: the hooks of the test runner follow every promise.
    const iterations = nightly ? 100_000 : 20_000;
    const script = fileURLToPath(new URL("../rig/long-loop.js", import.meta.url));
    const output = execFileSync(process.execPath, ["--expose-gc", script, String(iterations)], {
      encoding: "utf8",
    });
    const [outcome, timers, ...heaps] = output.trim().split(" ");
    assert.equal(outcome, "failed", "by loopIterations");
    assert.equal(timers, "0", "no timer is left");
    assert.equal(heaps.length, 10);
    const [, second = 0, ...later] = heaps.map(Number);
    assert.ok(
      Math.max(...later) < second + 2e6,
      `heap after every tenth of ${iterations} iterations: ${heaps.join(" ")}`,
    );
  });

  it("returns from a tree of 100 levels", async () => {
    let work: Work<number> = { kind: "Ref", taskId: "a", workIdInJob: 0 };
    for (let level = 0; level < 100; level += 1)
      work = { kind: level % 2 === 0 ? "Seq" : "Par", works: [work] };
    const last: Finished = { taskId: "a", order: 1, output: "" };
    const done: WorkResult = { kind: "succeeded", last };
    const runner = {
      loopIterations: 1,
      runLeaf: async () => done,
      itemsOf: async () => ({ kind: "stopped" as const }),
      loopLimitExceeded: () => {},
      note: () => {},
    };
    const place = { scope: Scope.root(undefined), items: [] };
    assert.deepEqual(await runWork(runner, work, undefined, place), done);
  });
});

function simplified(work: Work): Work<number> {
  return assignWorkId(work);
}

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import type { Work } from "../../src/entry/model.ts";
import { allWorks, assignWorkId, commandName, simplifyWork } from "../../src/entry/work.ts";
import { runWork, type Finished, type WorkResult } from "../../src/engine/run-work.ts";
import { Scope } from "../../src/engine/scope.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { commands, tasks } from "../rig/commands.ts";
import { play } from "../rig/engine.ts";
import { acts, dice, itemsIn, keyOf, ofCommand, works, type Outcome } from "../rig/random-works.ts";
import { onlyNightly, rounds } from "../rig/nightly.ts";

const loopIterations = 3;

type Ended = "succeeded" | "failed" | "unanswered";
class Crashed extends Error {}

/** The whole meaning of the kinds of work, one after the other. */
function reference(
  work: Work<number>,
  outcomeOf: (work: Work<number>, items: readonly string[]) => Outcome,
  items: readonly string[] = [],
): Ended {
  const inner = (part: Work<number>, at = items): Ended => reference(part, outcomeOf, at);
  const together = (
    parts: readonly (() => Ended)[],
    crash: string | undefined,
    inOrder = false,
  ): Ended => {
    let crashed = false;
    const ends = parts.map((part): Ended => {
      try {
        return part();
      } catch (error) {
        if (!(error instanceof Crashed) || (inOrder && crash !== "continue")) throw error;
        crashed = true;
        return "unanswered";
      }
    });
    if (crashed && crash !== "continue") throw new Crashed();
    return ends.includes("unanswered")
      ? "unanswered"
      : ends.includes("failed")
        ? "failed"
        : "succeeded";
  };
  switch (work.kind) {
    case "Flow":
      throw new Error("These trees have no workflows.");
    case "Ref":
    case "Run":
      switch (outcomeOf(work, items)) {
        case "succeeds":
          return "succeeded";
        case "fails":
          return "failed";
        case "is cut":
          return "unanswered";
        case "crashes":
          if (work.kind === "Run") return "unanswered";
          throw new Crashed();
      }
    case "Seq":
      for (const part of work.works) {
        const end = inner(part);
        if (end !== "succeeded") return end;
      }
      return "succeeded";
    case "Par":
      return together(
        work.works.map((part) => () => inner(part)),
        work.onCrash,
      );
    case "Each": {
      assert.ok("values" in work.items);
      const values = [...new Set(work.items.values.map(String))].slice(0, work.atMost);
      return together(
        values.map((value) => () => inner(work.work, [...items, value])),
        work.onCrash,
        work.parallel !== true,
      );
    }
    case "Alt": {
      const answer = inner(work.condition);
      if (answer === "unanswered") return answer;
      const chosen = answer === "succeeded" ? work.trueWork : work.falseWork;
      return chosen === undefined ? "succeeded" : inner(chosen);
    }
    case "Loop": {
      const { preCondition, postCondition, atMost = Infinity } = work;
      /** The end of the loop, if the condition ends it. */
      const ask = (condition: typeof preCondition): Ended | undefined => {
        if (condition === undefined) return undefined;
        const answer = inner(condition[1]);
        if (answer === "unanswered") return answer;
        return (answer === "succeeded") === condition[0] ? undefined : "succeeded";
      };
      for (let passes = 0; ; passes += 1) {
        if (passes === atMost && preCondition === undefined && postCondition === undefined)
          return "succeeded";
        const before = ask(preCondition);
        if (before !== undefined) return before;
        if (passes === atMost) return work.atMostReached === "succeed" ? "succeeded" : "failed";
        if (passes === loopIterations) return "unanswered";
        const body = inner(work.body);
        if (body !== "succeeded") return body;
        // A loop without a postcondition repeats only if a number of passes is planned.
        if (postCondition === undefined && work.atMost === undefined) return "succeeded";
        const after = ask(postCondition);
        if (after !== undefined) return after;
      }
    }
  }
}

const kindOf = {
  succeeds: "succeeded",
  fails: "failed",
  "is cut": "failed",
  crashes: "crashed",
} as const;

const isParallel = (work: Work): boolean =>
  allWorks(work).some((part) => part.kind === "Par" || (part.kind === "Each" && part.parallel));

/** Counts the runs of each work for each item, by their iterations. */
function playOf(
  seed: number,
): (label: Parameters<Parameters<typeof play>[0]["play"]>[0]["label"]) => Outcome {
  const runs = new Map<string, number[]>();
  return (label) => {
    const key = keyOf(label.workId, itemsIn(label));
    const known = runs.get(key) ?? [];
    runs.set(key, known);
    if (!known.includes(label.iteration)) known.push(label.iteration);
    return dice(seed, key, known.indexOf(label.iteration) + 1);
  };
}

const refuses = (work: Work): boolean =>
  allWorks(work).some(
    (part) =>
      part.kind === "Each" &&
      "values" in part.items &&
      part.sample !== true &&
      new Set(part.items.values).size > (part.atMost ?? 50),
  );

describe("a tree of works", () => {
  it("ends like the reference interpreter, with crashes anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(works, fc.integer(), async (work, seed) => {
        const outcomeOf = playOf(seed);
        const { outcome, events, ended } = await play({
          tasks,
          work,
          limits: { parallel: 1, loopIterations },
          play: ({ label }) => acts[outcomeOf(label)],
          workspace: commands(({ command, variables }) =>
            ofCommand(seed, commandName(command), variables["AGENT_JOBS_ITEM"]),
          ),
        });
        if (refuses(work)) {
          assert.ok(outcome.kind === "failed" && /atMost/.test(outcome.reason));
          assert.ok(!events.some(({ type }) => type === "work.started"));
          return;
        }
        const counts = new Map<string, number>();
        const ends: string[] = [];
        let expected: Ended;
        try {
          expected = reference(assignWorkId(simplifyWork(work)), (leaf, items) => {
            if (leaf.kind === "Run") {
              const end = ofCommand(seed, commandName(leaf), items.at(-1));
              ends.push(`${commandName(leaf)}:${end === 0 ? "succeeded" : "failed"}`);
              return end === 0 ? "succeeds" : end === 1 ? "fails" : "is cut";
            }
            assert.ok(leaf.kind === "Ref");
            const key = keyOf(leaf.workIdInJob, items);
            const run = (counts.get(key) ?? 0) + 1;
            counts.set(key, run);
            const outcome = dice(seed, key, run);
            ends.push(`${leaf.taskId}:${kindOf[outcome]}`);
            return outcome;
          });
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
          expected = "unanswered";
        }
        const success = ended.length === 0 ? "skipped" : "succeeded";
        assert.equal(outcome.kind, expected === "succeeded" ? success : "failed");
        wellFormed(events);
        if (!isParallel(work)) assert.deepEqual(ended, ends, "the same works, in the same order");
      }),
      rounds(300),
    );
  });

  it("ends canceled wherever it is canceled, and starts nothing after that", async () => {
    await fc.assert(
      fc.asyncProperty(
        works,
        fc.integer(),
        fc.integer({ min: 1, max: 40 }),
        async (work, seed, at) => {
          const outcomeOf = playOf(seed);
          const abort = new AbortController();
          let seen = 0;
          const { outcome, events } = await play({
            tasks,
            work,
            limits: { loopIterations },
            play: ({ label }) => acts[outcomeOf(label)],
            workspace: commands(({ command }) => ofCommand(seed, commandName(command))),
            signal: abort.signal,
            onEvent: () => {
              if ((seen += 1) === at) abort.abort("enough");
            },
          });
          wellFormed(events);
          const late = events.slice(at).filter(({ type }) => type === "work.started");
          assert.deepEqual(late, [], JSON.stringify(late));
          if (seen > at && outcome.kind === "canceled") assert.match(outcome.reason, /^enough/);
        },
      ),
      rounds(200),
    );
  });

  it(
    "keeps its memory flat over the iterations of a one-task loop",
    { ...onlyNightly, timeout: 60_000 },
    () => {
      // In a process of its own: the hooks of the test runner follow every promise.
      const iterations = 100_000;
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
    },
  );

  it("returns from a tree of 100 levels", async () => {
    let work: Work<number> = { kind: "Ref", taskId: "a", workIdInJob: 0 };
    for (let level = 0; level < 100; level += 1)
      work = { kind: level % 2 === 0 ? "Seq" : "Par", works: [work] };
    const last: Finished = { taskId: "a", order: 1, output: "" };
    const done: WorkResult = { kind: "succeeded", last };
    const runner = {
      loopIterations: 1,
      parallel: 1,
      runLeaf: async () => done,
      itemsOf: async () => ({ kind: "stopped" as const }),
      loopLimitExceeded: () => {},
      leaveOut: () => {},
      note: () => {},
    };
    const place = { scope: Scope.root(undefined), items: [], branch: [] };
    assert.deepEqual(await runWork(runner, work, undefined, place), done);
  });
});

function wellFormed(events: readonly RunEventBody[]): void {
  assert.equal(events[0]?.type, "run.started");
  assert.equal(events.at(-1)?.type, "run.ended");
  const open = new Set<string>();
  for (const event of events) {
    if (event.type !== "work.started" && event.type !== "work.ended") continue;
    const key = `${event.work.workId}/${event.work.iteration}`;
    assert.equal(open.has(key), event.type === "work.ended", key);
    if (event.type === "work.started") open.add(key);
    else open.delete(key);
  }
  assert.deepEqual([...open], []);
}

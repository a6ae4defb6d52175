import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Work } from "../../src/entry/model.ts";
import { allWorks, assignWorkId, commandName, simplifyWork } from "../../src/entry/work.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { commands, tasks } from "../rig/commands.ts";
import { play } from "../rig/engine.ts";
import { acts, dice, itemsIn, keyOf, ofCommand, works, type Outcome } from "../rig/random-works.ts";
import { rounds } from "../rig/nightly.ts";

type Ended = "succeeded" | "failed" | "unanswered";
class Crashed extends Error {}

/** The whole meaning of the kinds of work, one after the other. */
function reference(
  work: Work<number>,
  outcomeOf: (work: Work<number>, items: readonly string[]) => Outcome,
  items: readonly string[] = [],
): Ended {
  const inner = (part: Work<number>, at = items): Ended => reference(part, outcomeOf, at);
  const together = (parts: readonly (() => Ended)[], crash: string | undefined): Ended => {
    let crashed = false;
    const ends = parts.map((part): Ended => {
      try {
        return part();
      } catch (error) {
        if (!(error instanceof Crashed)) throw error;
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
      );
    }
    case "Alt": {
      const answer = inner(work.condition);
      if (answer === "unanswered") return answer;
      const chosen = answer === "succeeded" ? work.trueWork : work.falseWork;
      return chosen === undefined ? "succeeded" : inner(chosen);
    }
    case "Loop": {
      const { preCondition, atMost = 1 } = work;
      assert.ok(preCondition);
      for (let pass = 1; ; pass += 1) {
        const answer = inner(preCondition[1]);
        if (answer === "unanswered") return answer;
        if ((answer === "succeeded") !== preCondition[0]) return "succeeded";
        if (pass > atMost) return "failed";
        const body = inner(work.body);
        if (body !== "succeeded") return body;
      }
    }
  }
}

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

describe("a tree with Each, Run, onCrash and atMost", () => {
  it("ends like the reference interpreter, with crashes anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(works, fc.integer(), async (work, seed) => {
        const outcomeOf = playOf(seed);
        const { outcome, events } = await play({
          tasks,
          work,
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
        let expected: Ended;
        try {
          expected = reference(assignWorkId(simplifyWork(work)), (leaf, items) => {
            if (leaf.kind === "Run") {
              const end = ofCommand(seed, commandName(leaf), items.at(-1));
              return end === 0 ? "succeeds" : end === 1 ? "fails" : "is cut";
            }
            assert.ok(leaf.kind === "Ref");
            const key = keyOf(leaf.workIdInJob, items);
            const run = (counts.get(key) ?? 0) + 1;
            counts.set(key, run);
            return dice(seed, key, run);
          });
        } catch (error) {
          if (!(error instanceof Crashed)) throw error;
          expected = "unanswered";
        }
        assert.equal(outcome.kind, expected === "succeeded" ? "succeeded" : "failed");
        wellFormed(events);
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

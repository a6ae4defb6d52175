/** A run that is resumed: the journal of a random run is cut anywhere, and the rest must be as if it had not been. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Work } from "../../src/entry/model.ts";
import { allWorks } from "../../src/entry/work.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import type { PastRun } from "../../src/engine/past.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { EarlierRun, readEarlierJob } from "../../src/run/past-run.ts";
import { names } from "../rig/commands.ts";
import { play, ref, type Played } from "../rig/engine.ts";
import { acts, works } from "../rig/random-works.ts";
import { done, run, tasks } from "../rig/runs.ts";
import { rounds } from "../rig/nightly.ts";

async function pastOf(journal: string): Promise<PastRun | undefined> {
  async function* read(): AsyncIterable<string> {
    yield journal;
  }
  const { started, past } = await readEarlierJob("", { read });
  return started === undefined ? undefined : past;
}

function spent(events: readonly RunEventBody[]): number {
  return events.filter((one) => one.type === "activity" && one.activity.kind === "model.used")
    .length;
}

const isParallel = (work: Work): boolean =>
  allWorks(work).some((part) => part.kind === "Par" || (part.kind === "Each" && part.parallel));

/** As many cuts early as late, which random numbers of the type double would not be. */
const part = fc.nat(999).map((count) => count / 1_000);

describe("a run that is resumed", () => {
  it("ends as the whole one, wherever its journal was cut, and no work that succeeded runs twice", async () => {
    await fc.assert(
      fc.asyncProperty(works, fc.integer(), part, async (work, seed, part) => {
        const whole = await run(work, seed);
        const cut = whole.journal.slice(0, Math.floor(whole.journal.length * part));
        const past = await pastOf(cut);
        const resumed = await run(work, seed, { past });
        const crashed = whole.events.some(
          (one) => one.type === "work.ended" && one.outcome.kind === "crashed",
        );
        // Where works crash side by side, it may be another one that crashes first.
        if (crashed) assert.equal(resumed.outcome.kind, whole.outcome.kind);
        else {
          assert.deepEqual(resumed.outcome, whole.outcome);
          assert.deepEqual(done(resumed.events).toSorted(), done(whole.events).toSorted());
        }
        if (crashed) return;
        const before = parseJournal(cut).events;
        const own = resumed.events.filter((one) => one.past !== true);
        assert.equal(spent(resumed.events), spent(before) + spent(own), "everything counts");
        const begun = before.filter(({ type }) => type === "work.started");
        const runs = (events: readonly RunEventBody[]): number =>
          events.filter(({ type }) => type === "work.started").length;
        assert.equal(runs(resumed.events), begun.length + runs(own));
        // Only what was under way is paid for again.
        const under = begun.length - (past?.works.length ?? 0);
        assert.ok(spent(resumed.events) <= spent(whole.events) + under);
        if (isParallel(work)) return;
        for (const [name, prompt] of resumed.prompts)
          assert.equal(prompt, whole.prompts.get(name), name);
        // And once more, from the journal of the resumed run.
        const again = await pastOf(resumed.journal);
        assert.equal(again?.works.length, (await pastOf(whole.journal))?.works.length);
        assert.equal(again?.tokens, 10 * spent(resumed.events));
      }),
      rounds(250, 10),
    );
  });

  it("pays nothing twice that had ended, however often it is killed, if all attempts append to one journal", async () => {
    await fc.assert(
      fc.asyncProperty(
        works,
        fc.integer(),
        fc.array(part, { minLength: 2, maxLength: 4 }),
        async (work, seed, parts) => {
          const whole = await run(work, seed);
          if (whole.outcome.kind !== "succeeded") return;
          const header = whole.journal.slice(0, whole.journal.indexOf("\n") + 1);
          let journal = header;
          const ended: string[] = [];
          for (const [attempt, size] of [...parts, 1].entries()) {
            const past = await pastOf(journal);
            const next = await run(work, seed, { past, id: `attempt-${attempt}` });
            const lines = next.journal.split(/(?<=\n)/).slice(1);
            const kept = lines.slice(0, Math.floor(lines.length * size)).join("");
            journal += kept;
            const { events } = parseJournal(header + kept);
            ended.push(...done(events.filter((one) => one.past !== true)));
            if (size < 1) continue;
            assert.deepEqual(next.outcome, whole.outcome);
            assert.deepEqual(done(next.events).toSorted(), done(whole.events).toSorted());
          }
          assert.deepEqual(ended.toSorted(), done(whole.events).toSorted());
        },
      ),
      rounds(250, 10),
    );
  });

  it("has what the work before left, also after parallel ones that ended in another order", async () => {
    const inner: Work = {
      kind: "Each",
      items: { values: ["x", "y"] },
      work: { kind: "Each", items: { values: ["x", "y"] }, work: ref("a") },
    };
    const work: Work = {
      kind: "Seq",
      works: [{ kind: "Par", works: [ref("a"), ref("b"), inner] }, ref("c")],
    };
    const whole = await run(work, 1, { sides: 1e9 });
    const last = whole.events.findLastIndex(({ type }) => type === "work.started");
    const before = whole.journal
      .split(/(?<=\n)/)
      .slice(0, last + 1)
      .join("");
    const resumed = await run(work, 1, { past: await pastOf(before), sides: 1e9 });
    assert.equal(resumed.prompts.size, 1);
    for (const [name, prompt] of resumed.prompts) assert.equal(prompt, whole.prompts.get(name));
  });

  it("doesn't ask a condition again that has said no", async () => {
    const work: Work = { kind: "Alt", condition: ref("a"), falseWork: ref("b") };
    const { events } = await play({
      tasks,
      work,
      play: ({ label }) => (label.taskId === "a" ? acts.fails : acts.crashes),
    });
    let earlier = new EarlierRun();
    for (const event of events) earlier = earlier.add({ at: 0, runId: "r", ...event });
    const { sessions } = await play({
      tasks,
      work,
      past: earlier.past,
      play: () => acts.succeeds,
    });
    assert.deepEqual(
      sessions.turns.map(({ label }) => label.taskId),
      ["b"],
    );
  });

  it("has only the time that is left", async () => {
    const minutes = 60_000;
    const past = {
      runId: "r",
      works: [],
      underWay: [],
      lists: [],
      tokens: 0,
      cost: 0,
      milliseconds: 58 * minutes,
    };
    const played = (takes: number): Promise<Played> =>
      play({
        tasks,
        work: ref("a"),
        past,
        limits: { jobMinutes: 60 },
        play: () => ({ ...acts.succeeds, takes }),
      });
    assert.equal((await played(minutes)).outcome.kind, "succeeded");
    const { outcome } = await played(3 * minutes);
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /limits\.jobMinutes/);
  });

  it("is incomplete until it has all that the run before it had done", async () => {
    const work: Work = { kind: "Seq", works: names.map(ref) };
    const whole = await run(work, 3, { sides: 1e9 });
    const { journal } = await run(work, 3, { past: await pastOf(whole.journal), id: "again" });
    const lines = journal.split(/(?<=\n)/);
    const last = lines.findLastIndex((line) => line.includes('"past":true'));
    for (const [count, expected] of [
      [last, true],
      [last + 1, false],
    ] as const) {
      let earlier = new EarlierRun();
      for (const event of parseJournal(lines.slice(0, count).join("")).events)
        earlier = earlier.add(event);
      assert.equal(earlier.isIncomplete, expected);
    }
  });

  it("goes on counting what was spent", async () => {
    const work: Work = { kind: "Seq", works: names.map(ref) };
    const whole = await run(work, 3);
    const past = await pastOf(whole.journal);
    assert.deepEqual(
      [past?.tokens, past?.cost, past?.works.length],
      [spent(whole.events) * 10, spent(whole.events), done(whole.events).length],
    );
  });
});

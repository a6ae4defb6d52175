import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { commandName } from "../../src/entry/work.ts";
import type { Work } from "../../src/entry/model.ts";
import type { DialogueSpec } from "../../src/engine/dialogue.ts";
import type { TurnGate } from "../../src/engine/ports.ts";
import { Scope } from "../../src/engine/scope.ts";
import { Slots } from "../../src/engine/items.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { createGate } from "../../src/run/gate.ts";
import { commands, tasks } from "../rig/commands.ts";
import { play, ref, type Played } from "../rig/engine.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { rounds } from "../rig/nightly.ts";
import { acts, dice, itemsIn, keyOf, ofCommand, works } from "../rig/random-works.ts";

const second = 1_000;

const items = (count: number, work: Work, values = count): Work => ({
  kind: "Each",
  parallel: true,
  items: { values: Array.from({ length: values }, (_, index) => `${index + 1}`) },
  work,
});
const seq = (...names: readonly string[]): Work => ({ kind: "Seq", works: names.map(ref) });
const par = (...all: readonly Work[]): Work => ({ kind: "Par", works: all });

/** `task item` of each step, in the order of the starts. */
const starts = ({ events }: Played): readonly string[] =>
  events.flatMap((event) =>
    event.type === "work.started" ? [[event.work.taskId, ...itemsIn(event.work)].join(" ")] : [],
  );

/** How many were open at once, at most. */
function most(events: readonly RunEventBody[], what: "work" | "session"): number {
  let [open, highest] = [0, 0];
  for (const { type } of events) {
    if (type === `${what}.started`) highest = Math.max(highest, (open += 1));
    if (type === `${what}.ended`) open -= 1;
  }
  return highest;
}

/** Each of its prompts delegates to the task `c`. */
const delegating: DialogueSpec = {
  start: async ({ delegate, scope }) => ({
    session: {},
    async round(prompt, send) {
      const own = await send(prompt);
      if (own.kind !== "completed") return own;
      await delegate({ taskId: "c", input: "" }, scope.signal);
      return { ...own, kind: "completed" };
    },
    take: async () => [],
    close: async () => {},
  }),
};

describe("a slot", () => {
  it("is given to the first place among those that wait, and never to more than there are", async () => {
    const branch = fc.array(fc.nat(3), { minLength: 2, maxLength: 2 });
    const act = fc.oneof(
      { weight: 3, arbitrary: branch },
      { weight: 2, arbitrary: fc.nat(9) },
      { weight: 1, arbitrary: fc.nat(9).map((stops) => ({ stops })) },
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(act), async (count, all) => {
        const clock = new FakeClock();
        const slots = new Slots(count, clock);
        const waiting: { branch: readonly number[]; scope: Scope; isGone: boolean }[] = [];
        const running: (() => void)[] = [];
        for (const one of all) {
          if (Array.isArray(one)) {
            const asked = { branch: one, scope: Scope.root(undefined), isGone: false };
            const place = { ...asked, items: [] };
            waiting.push(asked);
            void slots.take(place).then((free) => {
              if (free === undefined) return;
              const before = waiting.filter((other) => {
                const [a, b] = [other.branch.join(), one.join()];
                return a < b || (a === b && waiting.indexOf(other) < waiting.indexOf(asked));
              });
              assert.deepEqual(before, []);
              waiting.splice(waiting.indexOf(asked), 1);
              running.push(free);
            });
          } else if (typeof one === "number") running.splice(one % (running.length || 1), 1)[0]?.();
          else {
            const [left] = waiting.splice(one.stops % (waiting.length || 1), 1);
            left?.scope.stop({ kind: "canceled", reason: "" });
          }
          await clock.runUntil(clock.sleep(1));
          assert.ok(running.length <= count);
          assert.ok(waiting.length === 0 || running.length === count, "a slot lies idle");
        }
      }),
      rounds(300),
    );
  });

  it("goes to the next step of an item before it goes to a later item", async () => {
    const each = await play({
      tasks,
      work: items(4, seq("a", "b")),
      limits: { parallel: 2 },
      play: ({ label }) => ({ ...acts.succeeds, takes: label.item === "1" ? second : 3 * second }),
    });
    assert.deepEqual(starts(each), ["a 1", "a 2", "b 1", "a 3", "b 2", "b 3", "a 4", "b 4"]);
    const nested = await play({
      tasks,
      work: items(3, { kind: "Seq", works: [par(ref("a"), ref("b"), ref("c")), ref("a")] }),
      limits: { parallel: 2 },
      play: () => ({ ...acts.succeeds, takes: second }),
    });
    const [first, last] = [
      ["a 1", "b 1", "c 1", "a 2", "a 1", "b 2", "c 2"],
      ["a 3", "a 2", "b 3"],
    ];
    assert.deepEqual(starts(nested), [...first, ...last, "c 3", "a 3"]);
  });

  it("is what a step waits for before its session and its time: nothing fails for waiting", async () => {
    const { outcome, events, sessions, clock } = await play({
      tasks,
      work: items(40, ref("a")),
      limits: { parallel: 4, taskMinutes: 0.2 },
      play: () => ({ ...acts.succeeds, takes: 2 * second }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(clock.now(), 20 * second);
    assert.equal(sessions.opened.length, 40);
    assert.deepEqual([most(events, "work"), most(events, "session")], [4, 4]);
  });

  it("is needed by the commands that list the items of an item", async () => {
    const busy = commands(() => 0);
    const listed: Work = { kind: "Each", items: { run: ["list"] }, work: ref("a") };
    let [running, highest] = [0, 0];
    await play({
      tasks,
      work: items(3, par(listed, listed)),
      limits: { parallel: 2 },
      play: () => acts.succeeds,
      workspace: {
        ...busy,
        async runCommand(request) {
          highest = Math.max(highest, (running += 1));
          await Promise.resolve();
          running -= 1;
          return busy.runCommand(request);
        },
      },
    });
    assert.equal(busy.requests.length, 6);
    assert.equal(highest, 2);
  });

  it("is held by a step with all that it delegates, which waits for no slot", async () => {
    const { outcome, events } = await play({
      tasks,
      work: items(5, ref("a")),
      limits: { parallel: 1 },
      dialogues: { a: delegating },
      play: () => ({ ...acts.succeeds, takes: second }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.deepEqual([most(events, "work"), most(events, "session")], [1, 2]);
  });
});

it("a random tree ends with any number of slots, never has more steps under way, and starts none after a stop", async () => {
  const gated = (parallel: number) => (): TurnGate => createGate(parallel);
  await fc.assert(
    fc.asyncProperty(
      works,
      fc.integer(),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 120 }),
      async (work, seed, parallel, at) => {
        const abort = new AbortController();
        let seen = 0;
        const { events, sessions } = await play({
          tasks,
          work,
          limits: { parallel, loopIterations: 3 },
          gate: gated(parallel),
          dialogues: { a: delegating },
          play: ({ label }) => ({
            ...acts[dice(seed, keyOf(label.workId, itemsIn(label)), label.iteration)],
            takes: 1 + (Math.abs(seed + label.workId) % 5),
          }),
          workspace: commands(({ command }) => ofCommand(seed, commandName(command))),
          signal: abort.signal,
          onEvent: () => {
            if ((seen += 1) === at) abort.abort("enough");
          },
        });
        assert.ok(most(events, "work") <= parallel);
        assert.ok(sessions.busiest <= parallel);
        assert.equal(events.at(-1)?.type, "run.ended");
        const late = events.slice(at).filter(({ type }) => type === "work.started");
        assert.deepEqual(late, []);
        const count = (type: string): number => events.filter((one) => one.type === type).length;
        assert.equal(count("work.started"), count("work.ended"));
      },
    ),
    rounds(400),
  );
});

it("time in which other jobs hold the turns is none of the task's", async () => {
  for (const [waits, kind] of [
    [1_000, "succeeded"],
    [0, "failed"],
  ] as const) {
    const { outcome, clock } = await play({
      tasks: { t: { model: { category: "work" }, prompt: "go" } },
      limits: { taskMinutes: 1 },
      gate: (time) => ({
        async run(turn) {
          await time.sleep(waits * second);
          return turn();
        },
      }),
      play: () => ({ takes: waits === 0 ? 61 * second : 59 * second }),
    });
    assert.equal(outcome.kind, kind);
    assert.equal(clock.now(), (waits === 0 ? 60 : 1_059) * second);
  }
});

it("time in which a task waits that another one has delegated is none of either", async () => {
  let turns = 0;
  const { outcome, clock } = await play({
    tasks: { ...tasks },
    work: ref("a"),
    limits: { taskMinutes: 1 },
    dialogues: { a: delegating },
    gate: (time) => ({
      async run(turn) {
        if ((turns += 1) === 2) await time.sleep(1_000 * second);
        return turn();
      },
    }),
    play: () => ({ ...acts.succeeds, takes: 20 * second }),
  });
  assert.deepEqual(outcome, { kind: "succeeded" });
  assert.equal(clock.now(), 1_040 * second);
});

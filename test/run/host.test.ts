import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { JobSpec } from "../../src/engine/plan.ts";
import type { RunEvent } from "../../src/events/event.ts";
import type { Reporter } from "../../src/events/sink.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { fakeHost, type FakeHost, jobSpec } from "../rig/fake-host.ts";
import { ref } from "../rig/engine.ts";
import { createGate } from "../../src/run/gate.ts";

const model = { category: "driving" };
const one = (prompt: string, limits = {}): JobSpec =>
  jobSpec({ a: { prompt, model } }, ref("a"), limits);

/** Until so many runs have told their start. */
async function begun({ events }: FakeHost, runs: number): Promise<void> {
  while (events.filter(({ type }) => type === "run.started").length < runs) await setImmediate();
}

/** The decisions of a kind, with the run that told each. */
function decisions(events: readonly RunEvent[], kind: string): string[] {
  return events.flatMap((event) =>
    event.type === "decision" && event.decision.kind === kind ? [event.runId] : [],
  );
}

async function all({ host, clock }: FakeHost, specs: readonly JobSpec[]): Promise<string[]> {
  const ends = await clock.runUntil(Promise.all(specs.map((spec) => host.run(spec).ended)));
  return ends.map(({ outcome }) => outcome.kind);
}

describe("the runs of a host", () => {
  it("have at most limits.parallel turns under way together", async () => {
    const fake = fakeHost(() => ({ takes: 100 }));
    const ends = await all(
      fake,
      Array.from({ length: 50 }, () => one("go", { parallel: 4 })),
    );
    assert.deepEqual(new Set(ends), new Set(["succeeded"]));
    assert.equal(fake.sessions.turns.length, 50);
    assert.equal(fake.sessions.busiest, 4);
  });

  it("are bounded by the smallest of different limits, while the run that has it lasts", async () => {
    const fake = fakeHost(({ prompt }) => ({ takes: prompt === "few" ? 250 : 100 }));
    const many = Array.from({ length: 40 }, () => one("many", { parallel: 10 }));
    await all(fake, [one("few", { parallel: 2 }), ...many.slice(0, 2)]);
    assert.equal(fake.sessions.busiest, 2);
    await all(fake, many);
    assert.equal(fake.sessions.busiest, 10);
  });

  it("wait for a rate limit that one of them has met", async () => {
    const refused: SessionActivity = { kind: "model.failed", statusCode: 429, subAgent: false };
    const fake = fakeHost(({ prompt }) => ({
      takes: prompt === "limited" ? 60_000 : 1_000,
      ...(prompt === "limited" ? { acts: [refused] } : {}),
    }));
    const { host, clock, events } = fake;
    const limited = host.run(one("limited"));
    const tasks = { a: { prompt: "first", model }, b: { prompt: "second", model } };
    const other = host.run(jobSpec(tasks, { kind: "Seq", works: [ref("a"), ref("b")] }));
    await clock.runUntil(Promise.all([limited.ended, other.ended]));
    assert.deepEqual(decisions(events, "waiting"), [other.runId]);
  });

  it("keep the runtime up between them", async () => {
    const fake = fakeHost(() => ({ takes: 100 }));
    const { host, clock, made } = fake;
    const busyAtEnds: boolean[] = [];
    const report: Reporter["report"] = ({ type }) =>
      void (type === "run.ended" && busyAtEnds.push(host.busy));
    const [first, second] = [one("a"), one("b")].map((spec) =>
      host.run(spec, { reporters: [{ report }] }),
    );
    await clock.runUntil(Promise.all([first?.ended, second?.ended]));
    assert.deepEqual(busyAtEnds, [true, false], "who hears of the last end may go on at once");
    await clock.runUntil(host.run(one("c")).ended);
    assert.deepEqual(
      made.map(({ stopped }) => stopped),
      [true, true],
      "one runtime for both, another one after a time in which nothing ran",
    );
  });

  it("are all told what happens to the runtime, and a later one that the models do not answer", async () => {
    const fake = fakeHost(() => ({ takes: 1_000 }));
    const { host, clock, events, made } = fake;
    const [first, second] = [host.run(one("a")), host.run(one("b"))];
    // Told before a run has begun: its start stays its first event.
    made[0]?.options.onRuntimeRestarted?.("too early");
    await begun(fake, 2);
    made[0]?.options.onLeftovers?.(2);
    made[0]?.options.onRuntimeRestarted?.("it was killed");
    fake.unreachable = "http://models.example";
    made[0]?.options.onUnreachable?.("http://models.example", "ECONNREFUSED");
    const third = host.run(one("c"));
    await clock.runUntil(Promise.all([first, second, third].map(({ ended }) => ended)));
    const both = [first.runId, second.runId];
    assert.deepEqual(decisions(events, "leftovers-ended"), both);
    assert.deepEqual(decisions(events, "runtime-restarted"), both);
    assert.deepEqual(decisions(events, "model-unreachable"), [...both, third.runId]);
    for (const { runId } of [first, second, third]) {
      const own = events.filter((event) => event.runId === runId).map(({ type }) => type);
      assert.equal(own[0], "run.started");
      assert.equal(own.at(-1), "run.ended");
    }
  });

  it("end canceled by their signal, also one that has aborted before", async () => {
    const { host, clock } = fakeHost(() => ({ hang: true }));
    const before = host.run(one("a"), { signal: AbortSignal.abort("not needed") });
    const abort = new AbortController();
    const during = host.run(one("b"), { signal: abort.signal });
    const ends = Promise.all([before.ended, during.ended]);
    await clock.runUntil(before.ended);
    abort.abort("no longer needed");
    const outcomes = (await clock.runUntil(ends)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, [
      { kind: "canceled", reason: "not needed" },
      { kind: "canceled", reason: "no longer needed" },
    ]);
  });
});

function closing(log: string[], name: string): Reporter {
  return {
    name,
    report: (event) => void log.push(`${name} ${event.type} ${event.runId}`),
    close: async () => void log.push(`${name} closed`),
  };
}

describe("the reporters of a host", () => {
  it("hear all runs, told apart by runId, and are closed once, with the host", async () => {
    const log: string[] = [];
    const { host, clock } = fakeHost(() => ({ takes: 100 }), { reporters: [closing(log, "host")] });
    const own: string[] = [];
    const first = host.run(one("a"), { reporters: [closing(own, "own")] });
    const second = host.run(one("b"));
    await clock.runUntil(Promise.all([first.ended, second.ended]));
    for (const { runId } of [first, second]) {
      assert.ok(log.includes(`host run.started ${runId}`), log.join("\n"));
      assert.ok(log.includes(`host run.ended ${runId}`), log.join("\n"));
    }
    assert.ok(!log.includes("host closed"));
    assert.equal(own.at(-1), "own closed", "one of a run ends with the run");
    assert.ok(own.slice(0, -1).every((line) => line.endsWith(first.runId)));
    await Promise.all([host.close(), host.close()]);
    assert.equal(log.filter((line) => line === "host closed").length, 1);
  });

  it("that fail harm nobody, and are told once, for the host", async () => {
    const told: string[] = [];
    const bad: Reporter = {
      name: "bad",
      report() {
        throw new Error("the disk is full");
      },
    };
    const { host, clock, events } = fakeHost(() => ({}), {
      reporters: [bad],
      onReporterFailure: ({ reporter, message }) => void told.push(`${reporter}: ${message}`),
    });
    for (const prompt of ["a", "b"]) {
      const { outcome, reporterFailures } = await clock.runUntil(host.run(one(prompt)).ended);
      assert.deepEqual([outcome.kind, reporterFailures], ["succeeded", []]);
    }
    assert.deepEqual(told, ["bad: the disk is full"]);
    const [failure] = await host.close();
    assert.deepEqual(failure, {
      reporter: "bad",
      message: "the disk is full",
      count: events.length,
    });
  });
});

describe("a host that is closed", () => {
  it("cancels what runs, ends the runtime and starts nothing more", async () => {
    const log: string[] = [];
    const fake = fakeHost(() => ({ hang: true }), { reporters: [closing(log, "host")] });
    const { host, clock, made } = fake;
    const run = host.run(one("a"));
    await begun(fake, 1);
    await clock.runUntil(host.close());
    const { outcome } = await run.ended;
    assert.deepEqual(outcome, { kind: "canceled", reason: "the host was closed" });
    assert.deepEqual(log.slice(-2), [`host run.ended ${run.runId}`, "host closed"]);
    assert.deepEqual(
      made.map(({ stopped }) => stopped),
      [true],
    );
    assert.throws(() => host.run(one("b")), /The host is closed/);
    await assert.rejects(
      host.startSession({
        modelId: "m",
        callback: Object.create(null),
        workingDirectory: "/workspace",
        permissions: "read-only",
      }),
      /The host is closed/,
    );
    assert.equal(made.length, 1);
  });

  it("is closed by a callback of its own run as well", async () => {
    const log: string[] = [];
    const { host, clock, made } = fakeHost(() => ({}), { reporters: [closing(log, "host")] });
    let closed: Promise<unknown> | undefined;
    const run = host.run(one("a"), {
      reporters: [{ report: ({ type }) => void (type === "run.ended" && (closed = host.close())) }],
    });
    await clock.runUntil(run.ended);
    await clock.runUntil(closed ?? Promise.reject(new Error("It was not closed.")));
    assert.deepEqual(log.slice(-2), [`host run.ended ${run.runId}`, "host closed"]);
    assert.equal(made.at(-1)?.stopped, true);
  });
});

describe("createGate", () => {
  it("lets go at once of who waits when its signal aborts, and never runs it", async () => {
    const gate = createGate(1);
    const abort = new AbortController();
    let end = (): void => {};
    const first = gate.run(
      () => new Promise<string>((resolve) => (end = () => resolve("first"))),
      new AbortController().signal,
    );
    const second = gate.run(() => assert.fail("it must not run"), abort.signal);
    abort.abort();
    assert.equal(await second, undefined);
    assert.equal(await gate.run(() => assert.fail("it must not run"), abort.signal), undefined);
    end();
    assert.equal(await first, "first");
    assert.equal(await gate.run(async () => "third", new AbortController().signal), "third");
  });
});

/** Faults around an action: tools, relics, stores and listeners that misbehave, and signals. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Relic, Tool } from "../../src/tools/tool.ts";
import type { ExecutorOptions } from "../../src/protocol/executor.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import {
  action,
  anyParams,
  bench,
  documentOf,
  group,
  internal,
  type Json,
  tool,
  valueOf,
} from "./rig.ts";

const slow = (id: string, params: Json = {}, fields: Json = {}): Json =>
  action("slow", { action_id: id, params, ...fields });
const background = (id: string, params: Json = {}): Json =>
  slow(id, params, { execution: "ASYNC" });
const manage = (params: Json, fields: Json = {}): Json =>
  internal("task_manager", params, { action_id: `m${counter++}`, ...fields });
let counter = 0;
const statuses = ({ executor }: ReturnType<typeof bench>): string[] =>
  executor.tasks().map(({ id, status }) => `${id} ${status}`);
const never = (): Promise<never> => new Promise(() => {});

describe("a tool", () => {
  it("may return 10 MB, of which the model gets the beginning and later actions all", async () => {
    const large = "x".repeat(10_000_000);
    const { execute, executor, events, results } = bench({
      tools: [tool("odd", { returns: { large } }), tool("good")],
    });
    await execute([action("odd", { action_id: "a" })]);
    const [result] = (await executor.collect()).results;
    assert.equal(result?.text.length, 8000);
    assert.equal(result?.characters, large.length + 12);
    assert.ok(JSON.stringify(events).length < 10_000);
    const use = { part: "${{results.a.large}}" };
    assert.deepEqual(await results([action("good", { action_id: "b", params: use })]), [
      "b failed The params are larger than 1000000 characters.",
    ]);
  });

  it("has a result that is what its JSON says", async () => {
    const odd = { f: () => 1, list: [undefined, Number.NaN], u: undefined };
    const { results } = bench({ tools: [tool("odd", { returns: odd }), tool("good")] });
    const use = (name: string): Json =>
      action("good", { action_id: name, params: { x: `\${{results.a.${name}}}` } });
    assert.deepEqual(
      await results([action("odd", { action_id: "a" }), use("f"), use("list"), use("u")]),
      [
        `a succeeded {"list":[null,null]}`,
        "f failed Nothing is at ${{results.a.f}}.",
        "list succeeded good done",
        "u failed Nothing is at ${{results.a.u}}.",
      ],
    );
  });
});

describe("a relic", () => {
  const relic = (name: string, read: Relic["read"]): Relic => ({ name, read });
  const choose = (...names: string[]): string =>
    documentOf([], { context: { knowledge_relics: names } });

  it("that hangs, throws or fails is told as that, and holds no prompt back for long", async () => {
    const { execute, executor, until, clock } = bench({
      relics: [
        relic("hangs", never),
        relic("throws", () => {
          throw new Error("boom");
        }),
        relic("fails", () => Promise.resolve({ kind: "failed", reason: "no index" })),
        relic("reads", () => Promise.resolve({ kind: "succeeded", value: "text" })),
      ],
    });
    await execute(choose("hangs", "throws", "fails", "reads"));
    const { relics } = await until(executor.standing());
    assert.deepEqual(
      relics.map(({ text }) => text),
      ["It did not end within 10 seconds.", "boom", "no index", "text"],
    );
    assert.equal(clock.now(), 20_000);
  });

  it("is not waited for once the run is canceled", async () => {
    for (const which of ["of the executor", "of the call", "before the call"]) {
      const run = new AbortController();
      const call = new AbortController();
      const { execute, executor, until, clock } = bench({
        signal: run.signal,
        relics: [relic("hangs", never)],
        limits: { graceSeconds: 1 },
      });
      await execute(choose("hangs"));
      if (which === "before the call") call.abort();
      const standing = executor.standing(call.signal);
      await clock.runUntil(clock.sleep(1000));
      (which === "of the executor" ? run : call).abort();
      const { relics } = await until(standing);
      assert.deepEqual(relics, [{ name: "hangs", text: "It was canceled." }], which);
      assert.ok(clock.now() <= 2000, `${which}: ${clock.now()}`);
    }
  });
});

describe("a card", () => {
  const register = (id: string, card: Json): Json =>
    internal("trap_card", { operation: "register", id, action: card }, { action_id: `r-${id}` });
  const odd = (name: string, run: Tool["run"]): Tool => ({
    name,
    readOnly: true,
    parameters: anyParams,
    run,
  });

  it("that throws, fails or hangs is told as that, and the others run", async () => {
    const tools = [
      odd("throws", () => {
        throw new Error("boom");
      }),
      odd("fails", () => Promise.resolve({ kind: "failed", reason: "no", tail: "stderr" })),
      odd("hangs", never),
      tool("good", { readOnly: true }),
    ];
    const { execute, executor, until, clock } = bench({ tools });
    await execute(tools.map(({ name }) => register(name, action(name))));
    const { cards } = await until(executor.standing());
    assert.deepEqual(
      cards.map(({ id, succeeded, text }) => [id, succeeded, text]),
      [
        ["throws", false, "boom"],
        ["fails", false, "no\nstderr"],
        ["hangs", false, "It did not end within 10 seconds."],
        ["good", true, "good done"],
      ],
    );
    assert.equal(clock.now(), 20_000);
    assert.deepEqual((await until(executor.standing())).cards, cards, "all tools are free again");
  });

  it("is told of cancellation, and the rest of the cards don't run", async () => {
    const run = new AbortController();
    const tools = [
      odd("waits", async (_, { signal }) => {
        await clock.sleep(1e9, signal);
        return { kind: "succeeded", value: "too late" };
      }),
      tool("good", { readOnly: true }),
    ];
    const clock = new FakeClock();
    const { execute, executor } = bench({ tools, clock, signal: run.signal });
    await execute([register("a", action("waits")), register("b", action("good"))]);
    const standing = executor.standing();
    await clock.runUntil(clock.sleep(500));
    run.abort();
    const { cards } = await clock.runUntil(standing);
    assert.deepEqual(
      cards.map(({ id, text }) => [id, text]),
      [["a", "It was canceled."]],
    );
    assert.equal(clock.now(), 500);
  });
});

describe("cancellation", () => {
  it("before a document starts none of it, not even for a moment", async () => {
    for (const options of [{ signal: AbortSignal.abort() }, {}]) {
      const rig = bench({ ...options, limits: { parallel: 1 } });
      const unsafe = (id: string, fields: Json = {}): Json =>
        action("unsafe", { action_id: id, ...fields });
      const answer = documentOf([
        unsafe("a"),
        unsafe("b"),
        slow("c", {}, { depends_on: "a" }),
        group("g", [slow("d"), unsafe("e")]),
        manage({ operation: "wait" }, { action_id: "w" }),
      ]);
      await rig.execute(answer, {}, "signal" in options ? {} : { signal: AbortSignal.abort() });
      assert.deepEqual(rig.started, []);
      assert.deepEqual(
        rig.events.filter(({ type }) => type === "action.started"),
        [],
      );
      for (const line of statuses(rig)) assert.match(line, / (?:cancelled|skipped)$/);
    }
  });

  it("of several actions starts none of them in the place of another", async () => {
    const rig = bench({ limits: { parallel: 1 } });
    await rig.execute([background("a", { seconds: 50 })]);
    await rig.execute(["b", "c", "d"].map((id) => background(id)));
    await rig.execute([manage({ operation: "cancel", ids: ["a", "b", "c"] }, { action_id: "m" })]);
    await rig.until(rig.executor.finish());
    assert.deepEqual(rig.started, ["a", "d"]);
    const startedLate = rig.events.filter(
      (event) => event.type === "action.started" && ["b", "c"].includes(event.id),
    );
    assert.deepEqual(startedLate, []);
  });

  it("ends a wait at once", async () => {
    const turn = new AbortController();
    const rig = bench();
    await rig.execute([background("a", { seconds: 50 })]);
    void rig.clock.sleep(1000).then(() => turn.abort());
    const wait = documentOf([manage({ operation: "wait", ids: ["a"] }, { action_id: "w" })]);
    await rig.execute(wait, {}, { signal: turn.signal });
    assert.equal(rig.clock.now(), 1000);
    assert.deepEqual(statuses(rig), ["a running", "w cancelled"]);
    await rig.until(rig.executor.finish());
  });
});

describe("the end of a run", () => {
  it("goes on without a call that ignores its cancellation", async () => {
    for (const [signal, milliseconds] of [
      [undefined, 70_000],
      [AbortSignal.abort(), 10_000],
    ] as const) {
      const rig = bench();
      await rig.execute([background("a", { stubborn: true, seconds: 1e6 })]);
      const { background: ended } = await rig.until(rig.executor.finish(signal));
      assert.equal(rig.clock.now(), milliseconds);
      assert.equal(ended[0]?.status, signal === undefined ? "timed_out" : "cancelled");
    }
  });

  it("is followed by another run, which is asked and told about the actions of this one", async () => {
    const rig = bench();
    const fields = { stop: true, context: { variables: { last: "a" } } };
    const tail = background("b", { fails: "no" });
    await rig.execute([background("a", { returns: { x: [7] } }), tail], fields);
    await rig.until(rig.executor.finish());
    assert.deepEqual((await rig.executor.collect()).results, [], "finish() has delivered them");
    const ask = (params: Json): string => documentOf([manage(params)]);
    const get = { operation: "get_result", task_id: "${{variables.last}}" };
    assert.deepEqual(await valueOf(rig, ask(get)), {
      a: { status: "succeeded", result: { x: [7] } },
    });
    assert.match(JSON.stringify(await valueOf(rig, ask({ operation: "list" }))), /"total":3/);
    const wait = { operation: "wait", ids: ["a", "b"] };
    assert.match(JSON.stringify(await valueOf(rig, ask(wait))), /"timedOut":false/);
    const use = action("safe", { action_id: "u", params: { returns: "${{results.a.x.0}}" } });
    const late = action("safe", { action_id: "v", depends_on: ["b"] });
    assert.deepEqual(await rig.results([use, late]), [
      `v skipped It needs "b", which failed.`,
      "u succeeded 7",
    ]);
    assert.deepEqual(await rig.results([background("a", { returns: { x: [7] } })]), [
      `a succeeded {"x":[7]}`,
    ]);
  });
});

describe("waits", () => {
  it("without ids for any of what runs now, whatever ended before", async () => {
    const rig = bench();
    await rig.execute([background("a", { seconds: 1 })]);
    await rig.clock.runUntil(rig.clock.sleep(5000));
    await rig.execute([background("b"), background("c", { seconds: 30 })]);
    await rig.execute([manage({ operation: "wait", mode: "any" })]);
    assert.equal(rig.clock.now(), 15_000);
    await rig.until(rig.executor.finish());
  });
});

describe("listeners and stores", () => {
  it("that throw keep no action from ending", async () => {
    const emit = (): never => {
      throw new Error("disk full");
    };
    const store: ExecutorOptions["store"] = () => {
      throw new Error("disk full");
    };
    const rig = bench({ emit, store, limits: { resultCharacters: 10 } });
    const long = action("safe", { action_id: "a", params: { returns: "0123456789abc" } });
    assert.deepEqual(await rig.results([long, slow("b")]), [
      "a succeeded 0123456789",
      "b succeeded b done",
    ]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  action,
  bench,
  documentOf,
  group,
  internal,
  type Json,
  safe,
  shortly,
  slow,
  tool,
} from "./rig.ts";

const unsafe = (id: string, params: Json = {}, fields: Json = {}): Json =>
  action("unsafe", { action_id: id, params, ...fields });
const manage = (params: Json, fields: Json = {}): Json =>
  internal("task_manager", params, { action_id: "m", ...fields });

describe("a document with problems", () => {
  it("runs nothing at all", async () => {
    const { execute, executor, started, events } = bench();
    const turn = await execute([safe("a"), safe("b", {}, { depends_on: "none" })]);
    assert.ok(turn.kind === "rejected");
    assert.deepEqual(shortly(turn.problems), ["unknown_dependency /actions/1/depends_on"]);
    assert.deepEqual(started, []);
    assert.deepEqual(executor.tasks(), []);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["actions.rejected"],
    );
  });

  it("sets no variable and takes no id", async () => {
    const { execute, results } = bench();
    const context = { variables: { x: 1 } };
    await execute([safe("a", {}, { depends_on: "none" })], { context });
    assert.deepEqual(await results([safe("b", { returns: "${{variables.x}}" })]), [
      "unknown_reference /actions/0/params/returns",
    ]);
    assert.deepEqual(await results([safe("a")]), ["a succeeded a done"]);
  });
});

describe("execution", () => {
  it("waits for SYNC and not for ASYNC", async () => {
    const { execute, executor, clock, until } = bench();
    const turn = await execute([slow("build"), slow("sync", {}, { execution: "SYNC" })]);
    assert.equal(clock.now(), 10_000);
    assert.equal(turn.kind === "executed" && turn.next, "continue");
    const quick = await execute([slow("again", { seconds: 100 })]);
    assert.equal(clock.now(), 10_000);
    assert.equal(quick.kind === "executed" && quick.actions[0]?.status, "running");
    await until(executor.finish());
  });

  it("runs parallelSafe siblings in parallel, and others in document order", async () => {
    const { execute, started, ended, clock } = bench();
    await execute([
      safe("a", { seconds: 3 }),
      safe("b", { seconds: 1 }),
      unsafe("c", { seconds: 1 }),
      unsafe("d"),
      safe("e", { seconds: 1 }),
      safe("f", { seconds: 2 }),
    ]);
    assert.deepEqual(started, ["a", "b", "c", "d", "e", "f"]);
    assert.deepEqual(ended, ["b", "a", "c", "d", "e", "f"]);
    assert.equal(clock.now(), 6000);
  });

  it("lets an action in the background hold back only calls of its own tool, also in later documents", async () => {
    const { execute, started, executor, until } = bench();
    await execute([unsafe("bg", { seconds: 20 }, { execution: "ASYNC" })]);
    const other = action("unsafe2", { action_id: "other" });
    const turn = await execute([other, unsafe("same", {}, { execution: "ASYNC" })]);
    assert.deepEqual(started, ["bg", "other"]);
    assert.equal(turn.kind === "executed" && turn.actions[1]?.status, "waiting");
    await until(executor.finish());
    assert.deepEqual(started, ["bg", "other", "same"]);
  });

  it("cancels a call at the time limit of its tool, and goes on without it if it doesn't stop", async () => {
    const { results, clock } = bench();
    const answer = documentOf([
      safe("a", { seconds: 100 }),
      safe("b", { seconds: 1000, stubborn: true }),
    ]);
    assert.deepEqual(await results(answer), [
      "a timed_out It did not end within 60 seconds.",
      "b timed_out It did not end within 60 seconds.",
    ]);
    assert.equal(clock.now(), 70_000);
  });

  it("takes a tool that throws, or returns what is no data, as failed", async () => {
    const { results } = bench({
      tools: [
        tool("throws", { run: () => Promise.reject(new Error("boom")) }),
        tool("cyclic", { returns: cyclic() }),
        tool("big", { returns: 10n }),
        tool("nothing", { run: () => Promise.resolve({ kind: "succeeded", value: undefined }) }),
      ],
    });
    const names = ["throws", "cyclic", "big", "nothing"];
    assert.deepEqual(await results(names.map((name) => action(name, { action_id: name }))), [
      "throws failed boom",
      "cyclic failed The result is not JSON data.",
      "big failed The result is not JSON data.",
      "nothing succeeded null",
    ]);
  });
});

describe("depends_on", () => {
  it("requires success: what needs a failed action is skipped, transitively, and the rest goes on", async () => {
    const { results, started, events } = bench();
    const answer = documentOf([
      safe("a", { fails: "broken" }),
      safe("b", {}, { depends_on: "a" }),
      safe("c", {}, { depends_on: ["d", "b"] }),
      safe("d"),
    ]);
    assert.deepEqual((await results(answer)).sort(), [
      "a failed broken\nthe end of stderr",
      `b skipped It needs "a", which failed.`,
      `c skipped It needs "b", which was skipped.`,
      "d succeeded d done",
    ]);
    assert.deepEqual(started.sort(), ["a", "d"]);
    const causes = events.flatMap((event) =>
      event.type === "action.ended" && event.cause ? [event.cause] : [],
    );
    assert.deepEqual(causes, [
      { id: "a", status: "failed" },
      { id: "b", status: "skipped" },
    ]);
  });
});

describe("ids", () => {
  it("replay the result of a finished identical action", async () => {
    const { results, started, executor } = bench();
    await results([safe("a", { x: 1, y: { p: 1, q: 2 } })]);
    assert.deepEqual(await results([safe("a", { y: { q: 2, p: 1 }, x: 1 })]), [
      "a succeeded a done",
    ]);
    assert.deepEqual(started, ["a"]);
    assert.equal(executor.tasks().length, 1);
  });

  it("are an error for another action, whose dependents are skipped", async () => {
    const { results, started } = bench();
    await results([safe("a", { x: 1 })]);
    assert.deepEqual(await results([safe("a", { x: 2 }), safe("b", {}, { depends_on: "a" })]), [
      `a failed The id "a" belongs to another action. Choose a new id.`,
      `b skipped It needs "a", which failed.`,
    ]);
    assert.deepEqual(started, ["a"]);
  });

  it("are an error for the same params with other variables, and while the first one runs", async () => {
    const { execute, executor, results, until } = bench();
    const use = safe("a", { x: "${{variables.v}}" });
    await execute([use, slow("bg")], { context: { variables: { v: 1 } } });
    await executor.collect();
    assert.deepEqual(await results([use]), ["a succeeded a done"]);
    assert.deepEqual(await results([use], { context: { variables: { v: 2 } } }), [
      `a failed The id "a" belongs to another action. Choose a new id.`,
    ]);
    assert.deepEqual(await results([slow("bg")]), [
      `bg failed The id "bg" belongs to an action that is still running.`,
    ]);
    await until(executor.finish());
  });
});

describe("groups", () => {
  it("map ids to results, and a SYNC group joins ASYNC members", async () => {
    const { results, clock } = bench();
    const inner = group("inner", [safe("x", { returns: 1 })]);
    assert.deepEqual(await results([group("g", [slow("a"), safe("b", { returns: [2] }), inner])]), [
      `g succeeded {"a":"a done","b":[2],"inner":{"x":1}}`,
    ]);
    assert.equal(clock.now(), 10_000);
  });

  it("are one task in the background if they are ASYNC", async () => {
    const { execute, executor, until } = bench();
    await execute([group("g", [slow("a"), slow("b")], { execution: "ASYNC" })]);
    const { handles, results } = await executor.collect();
    assert.deepEqual(handles, [{ id: "g", action: "group", status: "running" }]);
    assert.deepEqual(results, []);
    const { background, undelivered } = await until(executor.finish());
    assert.deepEqual(
      background.map(({ id, status }) => `${id} ${status}`),
      ["g succeeded"],
    );
    assert.deepEqual(
      undelivered.results.map(({ id }) => id),
      ["g"],
    );
  });

  it("fail after the other members have ended, with what these returned", async () => {
    const { results, ended } = bench();
    const members = [safe("a", { fails: "no" }), slow("b"), safe("c", {}, { depends_on: "a" })];
    const [text = ""] = await results([group("g", members)]);
    assert.match(
      text,
      /^g failed 2 of 3 actions did not succeed: "a" failed: no\nthe end of stderr; "c" was skipped: /,
    );
    assert.match(text, /\{"b":"b done"\}$/);
    assert.deepEqual(ended, ["a", "b"]);
  });

  it("say what went wrong in each of the members that failed, up to 3,000 characters", async () => {
    const fails = "x".repeat(1_000);
    for (const [count, isWhole] of [
      [2, true],
      [5, false],
    ] as const) {
      const members = Array.from({ length: count }, (_, index) => safe(`a${index}`, { fails }));
      const [text = ""] = await bench().results([group("g", members)]);
      assert.equal(text.match(/the end of stderr/g)?.length, isWhole ? count : undefined, text);
      assert.equal(text.match(/x{600}/g)?.length, count);
    }
  });

  it("keep what members of groups within them returned, and report it, also if they are canceled", async () => {
    const { execute, executor, results, events } = bench();
    const inner = group("inner", [safe("a", { fails: "no" }), safe("b")]);
    const [text = ""] = await results([group("g", [inner, safe("c")])]);
    const output = '{"inner":{"b":"b done"},"c":"c done"}';
    assert.match(text, /"inner" failed: .*"a" failed: no\nthe end of stderr/s);
    assert.ok(text.endsWith(output), text);
    const end = events.findLast((event) => event.type === "action.ended");
    assert.deepEqual(end?.type === "action.ended" && [end.id, end.output], ["g", output]);
    await execute([group("h", [safe("d"), slow("e")], { execution: "ASYNC" })]);
    const cancel = manage({ operation: "cancel", ids: ["h"] });
    const canceled = await results([cancel]);
    assert.ok(
      canceled.includes('h cancelled The model canceled it.\n{"d":"d done"}'),
      canceled.join(),
    );
    assert.equal(executor.tasks().find(({ id }) => id === "h")?.status, "cancelled");
  });

  it("cancel their members with them", async () => {
    const { execute, executor, results } = bench();
    const members = [slow("a"), slow("b", {}, { depends_on: "a" }), safe("c")];
    await execute([group("g", members, { execution: "ASYNC" })]);
    await results([manage({ operation: "cancel", ids: ["g"] })]);
    assert.deepEqual(
      executor.tasks().map(({ id, status }) => `${id} ${status}`),
      ["g cancelled", "a cancelled", "b cancelled", "c succeeded", "m succeeded"],
    );
  });
});

describe("thoughts", () => {
  it("run their actions before the others", async () => {
    const { execute, started, events } = bench();
    const thoughts = [
      {
        type: "PLAN",
        content: "look first",
        actions: [action("read", { action_id: "t", params: { seconds: 5 } })],
      },
    ];
    const turn = await execute([safe("a"), slow("b")], { thoughts, stop: true });
    assert.deepEqual(started, ["t", "a", "b"]);
    assert.equal(turn.kind === "executed" && turn.next, "continue");
    const accepted = events.find((event) => event.type === "actions.accepted");
    assert.deepEqual(accepted?.thoughts, [{ type: "PLAN", content: "look first" }]);
  });

  it("are the only way to act while thinking", async () => {
    const { execute } = bench();
    const turn = await execute(
      [safe("a"), action("read", { execution: "ASYNC" })],
      {},
      {
        mode: "thinking",
      },
    );
    assert.ok(turn.kind === "rejected");
    assert.deepEqual(shortly(turn.problems), [
      "not_read_only /actions/0/action",
      "not_sync /actions/1/execution",
    ]);
    const read = await execute([action("read")], {}, { mode: "thinking" });
    assert.equal(read.kind, "executed");
  });
});

describe("what comes after a document", () => {
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    "stop without actions ends the run": [documentOf([], { stop: true }), "stop"],
    "stop with null ends the run": [documentOf(null, { stop: true }), "stop"],
    "stop with only ASYNC actions ends the run": [documentOf([slow("a")], { stop: true }), "stop"],
    "stop with a SYNC action forces one more call": [
      documentOf([slow("a"), safe("b")], { stop: true }),
      "continue",
    ],
    "actions go on": [documentOf([slow("a")]), "continue"],
    "nothing at all is idle": [documentOf([]), "idle"],
    "choosing relics is not idle": [
      documentOf([], { context: { knowledge_relics: ["docs"] } }),
      "continue",
    ],
  };
  for (const [name, [answer, next]] of Object.entries(cases)) {
    it(name, async () => {
      const { execute, executor, until } = bench({
        relics: [{ name: "docs", read: () => Promise.resolve({ kind: "succeeded", value: "" }) }],
      });
      const turn = await execute(answer);
      assert.equal(turn.kind === "executed" && turn.next, next);
      await until(executor.finish());
    });
  }

  it("the last answer may not act", async () => {
    const { execute, executor, started } = bench();
    const turn = await execute([safe("a")], { response: "Bye." }, { mode: "refused" });
    assert.deepEqual(turn, {
      kind: "executed",
      iteration: 1,
      next: "stop",
      response: "Bye.",
      claimedStatus: "EXECUTING",
      actions: [],
    });
    assert.deepEqual(started, []);
    assert.deepEqual((await executor.collect()).warnings, [
      "The actions of the last answer were not run.",
    ]);
  });
});

function cyclic(): unknown {
  const object: { self?: unknown } = {};
  object.self = object;
  return object;
}

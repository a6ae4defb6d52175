import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Relic } from "../../src/tools/tool.ts";
import { createActionExecutor } from "../../src/protocol/executor.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import {
  action,
  bench,
  documentOf,
  internal,
  type Json,
  prototype,
  safe,
  slow,
  tool,
  valueOf,
} from "./rig.ts";

let counter = 0;

describe("relics and monuments", () => {
  const asked: (string | undefined)[] = [];
  const docs: Relic = {
    name: "docs",
    maxTokens: 5,
    read: (query) => {
      asked.push(query);
      return Promise.resolve({
        kind: "succeeded",
        value: `about ${query ?? "everything, at length"}`,
      });
    },
  };
  const monuments = [{ name: "release", tools: ["safe"], relics: ["docs"] }];

  it("are queried by actions, by name or as a member", async () => {
    const { results } = bench({ relics: [docs], monuments });
    const answer = documentOf([
      action("docs", { type: "relic", action_id: "a", params: { query: "logging" } }),
      action("release.docs", { type: "monument", action_id: "b" }),
      action("release.safe", { type: "monument", action_id: "c" }),
    ]);
    assert.deepEqual(await results(answer), [
      "a succeeded about logging",
      "b succeeded about everything, at length",
      "c succeeded c done",
    ]);
  });

  it("leave a tool of the same name in use", async () => {
    const named = tool("docs", { run: () => new Promise(() => {}), timeoutSeconds: 60 });
    const { execute, until, executor } = bench({ relics: [docs], tools: [named] });
    const call = (id: string): Json => action("docs", { action_id: id, execution: "ASYNC" });
    await execute([call("a")]);
    await execute([call("b"), action("docs", { type: "relic", action_id: "c" })]);
    assert.deepEqual(
      executor.tasks().map(({ status }) => status),
      ["running", "waiting", "succeeded"],
    );
    await until(executor.finish());
  });

  it("are excerpted from the next prompt on, until others are chosen", async () => {
    const { execute, executor } = bench({ relics: [docs] });
    const choose = (names: string[]): string =>
      documentOf([], { context: { knowledge_relics: names } });
    assert.deepEqual((await executor.standing()).relics, []);
    await execute(choose(["docs", "secret"]));
    assert.deepEqual((await executor.collect()).warnings, [`There is no relic "secret".`]);
    const excerpt = [{ name: "docs", text: "about everything, at" }];
    assert.deepEqual((await executor.standing()).relics, excerpt);
    await execute([], { stop: true });
    assert.deepEqual((await executor.standing()).relics, excerpt);
    await execute(choose([]));
    assert.deepEqual((await executor.standing()).relics, []);
  });
});

describe("cards", () => {
  const register = (id: string, card: Json, operation = "register"): string =>
    documentOf([
      internal(
        "trap_card",
        { operation, id, action: card },
        { action_id: `${operation}-${id}-${counter++}` },
      ),
    ]);

  it("run before every model call, with the variables of that time", async () => {
    const { execute, executor, until, started, events } = bench();
    const card = action("read", { params: { returns: "now ${{variables.v}}" } });
    await execute([internal("trap_card", { operation: "register", id: "now", action: card })], {
      context: { variables: { v: 1 } },
    });
    const run = async (): Promise<unknown> => (await until(executor.standing())).cards;
    const shown = (text: string, succeeded = true): unknown => [
      { id: "now", action: "read", succeeded, text },
    ];
    assert.deepEqual(await run(), shown("now 1"));
    await execute([], { context: { variables: { v: 2 } } });
    assert.deepEqual(await run(), shown("now 2"));
    await execute([], { context: { variables: { v: null } } });
    assert.deepEqual(await run(), shown("Nothing is at ${{variables.v}}.", false));
    assert.deepEqual(started, ["now", "now"]);
    assert.deepEqual(
      events.flatMap((event) => (event.type === "card.ended" ? [event.status] : [])),
      ["succeeded", "succeeded", "failed"],
    );
  });

  it("are updated, removed and listed, at most so many", async () => {
    const rig = bench({ limits: { cards: 2 } });
    const read = action("read");
    assert.deepEqual(await valueOf(rig, register("a", read)), [{ id: "a", action: "read" }]);
    assert.match(
      String(await valueOf(rig, register("a", read))),
      /^failed There already is a card/,
    );
    assert.match(
      String(await valueOf(rig, register("b", read, "update"))),
      /^failed There is no card/,
    );
    await valueOf(rig, register("b", read));
    assert.match(String(await valueOf(rig, register("c", read))), /^failed There can be at most 2/);
    assert.deepEqual(await valueOf(rig, register("a", action("lookup"), "update")), [
      { id: "a", action: "lookup" },
      { id: "b", action: "read" },
    ]);
    const remove = documentOf([internal("trap_card", { operation: "remove", id: "a" })]);
    assert.deepEqual(await valueOf(rig, remove), [{ id: "b", action: "read" }]);
    const list = documentOf([internal("trap_card", { operation: "list" })]);
    assert.deepEqual(await valueOf(rig, list), [{ id: "b", action: "read" }]);
  });

  it("are bounded in time and length, and leave a tool alone that is in use", async () => {
    const { execute, executor, until, clock } = bench({ limits: { cardTokens: 2 } });
    await execute(register("late", action("read", { params: { seconds: 60 } })));
    await execute(register("long", action("read", { params: { returns: "x".repeat(100) } })));
    await execute(register("busy", action("lookup")));
    await execute([action("lookup", { params: { seconds: 50 }, execution: "ASYNC" })]);
    const before = clock.now();
    const { cards } = await until(executor.standing());
    assert.deepEqual(
      cards.map(({ succeeded, text }) => [succeeded, text]),
      [
        [false, "It did n"],
        [true, "xxxxxxxx"],
        [false, "The tool"],
      ],
    );
    assert.equal(clock.now() - before, 10_000);
    await until(executor.finish());
  });
});

describe("delegate", () => {
  it("runs another task, and fails for one that a reference names and that doesn't exist", async () => {
    const { results } = bench({
      delegation: {
        tasks: ["review"],
        run: ({ task, input }) =>
          Promise.resolve({ kind: "succeeded", value: `${task}: ${input}` }),
      },
    });
    const call = (id: string, task: string): Json =>
      internal("delegate", { task, input: "look" }, { action_id: id });
    const context = { variables: { t: "other" } };
    assert.deepEqual(
      await results([call("a", "review"), call("b", "${{variables.t}}")], { context }),
      ["a succeeded review: look", `b failed There is no task "other".`],
    );
    assert.deepEqual(await bench().results([call("a", "review")]), [
      "unknown_internal /actions/0/action",
    ]);
  });
});

describe("events", () => {
  it("show progress by the estimate, and what the tool reports, up to 95 %", async () => {
    const { execute, events } = bench();
    const display = {
      type: "progress_bar",
      label: "De\u001b[31mploy\u202e\n",
      estimated_duration_seconds: 20,
    };
    const both = [
      slow("a", { seconds: 40 }, { display, execution: "SYNC" }),
      safe("b", { seconds: 1, percent: 300 }, { display: { type: "hologram" } }),
    ];
    await execute(both);
    const waiting = events.flatMap((event) =>
      event.type === "action.waiting" ? [event.display] : [],
    );
    assert.deepEqual(waiting, [
      { kind: "progress_bar", label: "Deploy" },
      { kind: "status_message", label: "safe" },
    ]);
    const percents = (of: string): unknown[] =>
      events.flatMap((event) =>
        event.type === "action.progress" && event.id === of ? [event.percent] : [],
      );
    assert.deepEqual(
      percents("a"),
      Array.from({ length: 19 }, (_, index) => 5 * (index + 1)),
    );
    assert.deepEqual(percents("b"), [95]);
  });

  it("warn about a false status and an ignored security level, and don't follow them", async () => {
    const { execute, executor, events, until } = bench();
    await execute([safe("a", { fails: "x" })], {
      status: "SUCCESS",
      context: { security_level: "system" },
    });
    await execute([safe("c")], { status: "TASK_STARTED" });
    await execute([slow("b")], { status: "SUCCESS", stop: true });
    await execute([slow("d")], { status: "EXECUTING", stop: true });
    assert.deepEqual(
      events.flatMap((event) => (event.type === "actions.warning" ? [event.text] : [])),
      [
        `security_level "system" is ignored: rights come from the permissions of the task.`,
        "The document claims the status SUCCESS, but it is ERROR.",
        "The document claims the status TASK_STARTED, but it is EXECUTING.",
        "The document claims the status SUCCESS, but it is TASK_STARTED.",
      ],
    );
    assert.equal((await executor.collect()).warnings.length, 3);
    await until(executor.finish());
  });
});

describe("the end of a run", () => {
  it("waits for the background, for each call at most its time limit, and then cancels it", async () => {
    const { execute, executor, clock, until } = bench({ limits: { parallel: 1 } });
    const calls = ["a", "b", "c"].map((id) => slow(id, { seconds: 40 }));
    await execute(calls, { stop: true });
    const { background, undelivered } = await until(executor.finish());
    assert.equal(clock.now(), 60_000);
    assert.deepEqual(
      background.map(({ id, status }) => `${id} ${status}`),
      ["a succeeded", "b cancelled", "c cancelled"],
    );
    assert.deepEqual(undelivered.results.map(({ id }) => id).sort(), ["a", "b", "c"]);
  });
});

describe("cancellation", () => {
  it("of the executor ends everything, and starts nothing afterwards", async () => {
    const controller = new AbortController();
    const { execute, executor, started } = bench({ signal: controller.signal });
    await execute([slow("a"), slow("b", {}, { depends_on: "a" })]);
    controller.abort();
    await execute([safe("c")]);
    assert.deepEqual(
      executor.tasks().map(({ status }) => status),
      ["cancelled", "cancelled", "cancelled"],
    );
    assert.deepEqual(started, ["a"]);
  });
});

describe("createActionExecutor", () => {
  it("refuses tools that it couldn't tell apart or check", () => {
    const clock = new FakeClock();
    const make = (...tools: Parameters<typeof tool>[]): unknown =>
      createActionExecutor({ clock, tools: tools.map((parts) => tool(...parts)) });
    assert.throws(() => make(["a"], ["a"]), /two tools with the name "a"/);
    assert.throws(() => make(["delegate"]), /reserved/);
    assert.throws(() => make(["a", { parameters: { type: "objekt" } }]), /not a valid JSON Schema/);
    assert.doesNotThrow(() =>
      make([
        "a",
        {
          parameters: {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "object",
            properties: { d: { type: "string", format: "date" } },
          },
        },
      ]),
    );
  });
});

/** On tools that answer at once. The commands of an entry come with the entry. */
describe("the prototypes", () => {
  it("run one after the other, on one executor", async () => {
    const called: string[] = [];
    const names =
      "build_tool git_tool search_tool deploy_tool static_analyzer github_tool summarizer_tool".split(
        " ",
      );
    const { execute, executor, until, clock, events } = bench({
      tools: names.map((name) =>
        tool(name, {
          run: async ({ id, params }, { signal }) => {
            called.push(id);
            await clock.sleep(name === "build_tool" ? 30_000 : 1000, signal);
            return { kind: "succeeded", value: { tool: name, params } };
          },
        }),
      ),
    });
    const run = async (number: number): Promise<string[]> => {
      const turn = await execute(prototype(number));
      assert.ok(turn.kind === "executed", JSON.stringify(turn));
      const { results, handles } = await executor.collect();
      return [turn.next, ...[...results, ...handles].map(({ id, status }) => `${id} ${status}`)];
    };
    assert.deepEqual(await run(1), ["stop", "build-main-app-123 running"]);
    assert.deepEqual(await run(2), ["continue", "i2-1 succeeded"]);
    assert.deepEqual(await run(3), [
      "continue",
      "doc_update_task succeeded",
      "search_docs_task succeeded",
    ]);
    assert.deepEqual(await run(4), ["stop", "deploy-prod-gateway-456 running"]);
    assert.deepEqual(await run(5), [
      "continue",
      "deploy-prod-gateway-456 succeeded",
      "i5-1 succeeded",
    ]);
    // The tests of the report use the tool that builds in the background.
    assert.deepEqual(await run(6), [
      "continue",
      "build-main-app-123 succeeded",
      "pr_report_main succeeded",
    ]);
    await until(executor.finish());

    assert.deepEqual(called, [
      ..."build-main-app-123 doc_update_task search_docs_task".split(" "),
      ..."deploy-prod-gateway-456 i5-1 fetch_pr run_unit_tests generate_summary".split(" "),
    ]);
    const analysis = events.find((event) => event.type === "action.started" && event.id === "i5-1");
    assert.match(JSON.stringify(analysis), /source_task_id\\":\\"build-main-app-123/);
    const warnings = events.flatMap((event) =>
      event.type === "actions.warning" ? [event.text] : [],
    );
    assert.ok(warnings.includes(`There is no relic "relic_id_project_docs_v4".`));
  });
});

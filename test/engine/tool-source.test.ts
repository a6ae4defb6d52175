/** Which sessions of a job are given the tools of its entry, and when what offers them is closed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServerFailure, SessionTool, ToolSource } from "../../src/engine/ports.ts";
import type { Permissions, Task } from "../../src/entry/model.ts";
import { play, ref } from "../rig/engine.ts";
import { sessionCrash } from "../rig/crashes.ts";

const search: SessionTool = {
  name: "docs/search",
  description: "Searches.",
  parameters: { type: "object" },
  run: () => ({ succeeded: true, text: "" }),
};

class Source implements ToolSource {
  readonly asked: Permissions[] = [];
  readonly failures: ServerFailure[] = [];
  closed = 0;

  async offer(permissions: Permissions) {
    this.asked.push(permissions);
    return { tools: [search], readable: ["/results"], failures: this.failures };
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

const multiple: Task = {
  prompt: ["Do"],
  availability: { condition: ["May it? job_boolean_true"] },
  criteria: {
    condition: ["Is it? job_boolean_true"],
    runConditionInSameSession: false,
    failureAction: { retryTimes: 0 },
  },
};

const yes = () => ({ tools: ["job_boolean_true"] });

test("every session of a task is given the tools that its permissions allow, and the source ends before the run does", async () => {
  const toolSource = new Source();
  const order: string[] = [];
  const { sessions, outcome } = await play({
    tasks: { only: multiple },
    play: yes,
    toolSource: {
      offer: (permissions) => toolSource.offer(permissions),
      async close() {
        order.push("closed");
      },
    },
    onEvent: ({ type }) => {
      if (type === "session.ended" || type === "run.ended") order.push(type);
    },
  });
  assert.equal(outcome.kind, "succeeded");
  assert.equal(sessions.opened.length, 3);
  for (const { tools, readable } of sessions.opened) {
    assert.deepEqual(tools, [search]);
    assert.deepEqual(readable, ["/results"]);
  }
  assert.deepEqual(toolSource.asked, ["read-only", "read-only", "read-only"]);
  assert.deepEqual(order.slice(-2), ["closed", "run.ended"]);
});

test("in a task with a protocol, only the sessions for its conditions are given tools", async () => {
  const { sessions } = await play({
    tasks: { only: { ...multiple, protocol: "actions" } },
    dialogues: {
      only: {
        start: async () => ({
          session: {},
          async round(_prompt, send) {
            await send("Do");
            return { kind: "completed", text: "", toolCalls: [] };
          },
          take: async () => [],
          close: async () => {},
        }),
      },
    },
    play: yes,
    toolSource: new Source(),
  });
  assert.deepEqual(
    sessions.opened.map(({ label, tools }) => [label?.role, tools?.length ?? 0]),
    [
      ["driving", 1],
      ["task", 0],
      ["driving", 1],
    ],
  );
});

test("a server that can't be used but isn't required is reported once for each work, and the task goes on", async () => {
  const toolSource = new Source();
  toolSource.failures.push({ server: "docs", reason: "it exited with code 1" });
  let crashes = 0;
  const { decisions, outcome, events } = await play({
    tasks: {
      first: { model: { category: "driving" }, prompt: ["Do"] },
      second: { model: { category: "driving" }, prompt: ["Do"] },
    },
    models: { driving: "driver" },
    work: { kind: "Seq", works: [ref("first"), ref("second")] },
    play: () => ((crashes += 1) === 1 ? { crash: sessionCrash } : {}),
    toolSource,
  });
  assert.equal(outcome.kind, "succeeded");
  assert.equal(toolSource.asked.length, 3);
  const told = "[OPERATION] MCP server docs: it exited with code 1";
  assert.deepEqual(
    decisions.filter((text) => text.includes("MCP server")),
    [told, told],
  );
  assert.deepEqual(
    events.flatMap((event) =>
      event.type === "decision" && event.decision.kind === "tool-server-failed"
        ? [event.work?.taskId]
        : [],
    ),
    ["first", "second"],
  );
});

test("a borrowed session is given nothing", async () => {
  const toolSource = new Source();
  const { sessions } = await play({ tasks: { only: { prompt: ["Do"] } }, play: () => ({}) });
  const borrowed = sessions.session({ modelId: "m" }, "lent");
  await play({
    tasks: { only: { prompt: ["Do"] } },
    play: () => ({}),
    toolSource,
    single: { taskName: "only", borrowed },
  });
  assert.deepEqual(toolSource.asked, []);
  assert.equal(toolSource.closed, 1);
});

test("a source that never answers holds up neither a cancel nor the end of the run", async () => {
  const stop = new AbortController();
  const never = (): Promise<never> => new Promise(() => {});
  const running = play({
    tasks: { only: { prompt: ["Do"] } },
    play: () => ({}),
    toolSource: {
      offer: () => {
        queueMicrotask(() => stop.abort("enough"));
        return never();
      },
      close: never,
    },
    signal: stop.signal,
  });
  const { outcome, clock } = await running;
  assert.equal(outcome.kind, "canceled");
  assert.ok(clock.now() < 5_000, `${clock.now()} ms`);
});

test("a session is offered the job tools that its texts can use", async () => {
  const document = "job_prepare_document";
  const verdicts = ["job_boolean_true", "job_boolean_false", "job_prerequisite_failed"];
  const failureAction = { retryTimes: 0 };
  const offered = async (task: Task, userInput = ""): Promise<unknown> => {
    const { sessions } = await play({ tasks: { only: task }, userInput, play: yes });
    return sessions.opened.map(({ jobTools }) => jobTools);
  };
  const single = { runConditionInSameSession: true, failureAction };
  for (const [task, tools] of [
    [{ prompt: ["Do"] }, []],
    [{ prompt: [`Call ${document}.`] }, [document]],
    [{ prompt: ["Continue $reported-document."] }, [document]],
    [{ prompt: ["Say job_boolean_false if it is not."] }, verdicts],
    [{ prompt: ["Do"], criteria: { ...single, toolExecuted: [document] } }, [document]],
    [{ prompt: ["Do"], criteria: { ...single, condition: ["Is it? job_boolean_true"] } }, verdicts],
    [
      {
        prompt: ["Do"],
        criteria: { failureAction: { ...failureAction, additionalPrompt: [`Use ${document}.`] } },
      },
      [document],
    ],
  ] as const satisfies (readonly [Task, readonly string[]])[]) {
    assert.deepEqual(await offered(task), [tools], JSON.stringify(task));
  }
  assert.deepEqual(
    await offered({ prompt: ["$user-input"], requireUserInput: true }, `Use ${document}.`),
    [[document]],
  );
  // A session for each purpose: what checks a condition has the tools for it.
  assert.deepEqual(await offered(multiple), [verdicts, [], verdicts]);
});

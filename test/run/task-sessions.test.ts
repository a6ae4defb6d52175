/** Sessions of tasks as those who embed the runner see them: lent ones, their responses, their ends. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Task } from "../../src/entry/model.ts";
import { yieldToEventLoop } from "../../src/platform/waiting.ts";
import type { Reply } from "../rig/model-server.ts";
import { until } from "../sessions/rig.ts";
import { drain, type HostRig, makeHost, taskLog } from "./host-rig.ts";

const model = { category: "work" };
const checked = (more: Partial<Task> = {}, same = true): Task => ({
  model,
  prompt: "go with $task-model",
  availability: { condition: "job_boolean_true before?" },
  criteria: {
    condition: "job_boolean_true after?",
    runConditionInSameSession: same,
    failureAction: { retryTimes: 2 },
  },
  ...more,
});
const entry = (tasks: Entry["tasks"]): Entry => ({
  models: { driving: "driver", work: "worker" },
  tasks,
  jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
});
const answers = (tool: string): Reply => ({
  toolCalls: [{ name: tool, arguments: { argument: "so" } }],
});
const yes = answers("job_boolean_true");
const no = answers("job_boolean_false");
const done: Reply = { text: "done" };

/** Gives the replies for a prompt in their order; after a tool call, and when they are used up, `done`. */
async function host(
  t: Parameters<typeof makeHost>[0],
  task: Task,
  replies: Readonly<Record<string, readonly Reply[]>>,
): Promise<HostRig> {
  const given = new Map<string, number>();
  return makeHost(t, entry({ t: task }), ({ prompt, toolResults }) => {
    if (toolResults.length > 0) return done;
    const key = Object.keys(replies).find((one) => prompt.includes(one)) ?? "";
    const index = given.get(key) ?? 0;
    given.set(key, index + 1);
    return replies[key]?.[index] ?? done;
  });
}

describe("a lent session", () => {
  it("that crashes fails the task at once, also in the check of a retry", async (t) => {
    const rig = await host(t, checked(), { "before?": [yes], "after?": [no, { status: 400 }] });
    const [session] = await rig.host.helperSessionStart("lent", rig.folder);
    const { log, callback, ended } = taskLog();
    const errors: unknown[] = [];
    const onCrash = (error: unknown): void => void errors.push(error);
    const task = await rig.startTask("t", callback, { session, onCrash });
    await ended;
    const sent = rig.requests.filter(({ toolResults }) => toolResults.length === 0);
    assert.equal(sent.length, 5, "nothing is sent after the crash");
    assert.deepEqual([task.status, log.at(-1)], ["Failed", "taskFailed"]);
    assert.deepEqual(errors, [task.crashError]);
    assert.match(String(task.crashError), /400/);
    await session.stop();
  });

  it("has one user at a time: neither side gets the tool calls of the other", async (t) => {
    const waiting: (() => void)[] = [];
    const document = answers("job_prepare_document");
    const toolExecuted = ["job_prepare_document"] as const;
    const criteria = { toolExecuted, failureAction: { retryTimes: 0 } };
    const tasks = { t: { model, prompt: "go", criteria } };
    const rig = await makeHost(t, entry(tasks), async ({ prompt, toolResults }) => {
      if (toolResults.length > 0) return done;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return prompt === "own" ? document : done;
    });
    const answer = async (): Promise<void> => {
      await until(() => waiting.length > 0, "the request");
      waiting.shift()?.();
    };
    const [session] = await rig.host.helperSessionStart("lent", rig.folder);
    const start = (log = taskLog()): Promise<unknown> =>
      rig.startTask("t", log.callback, { session });

    const own = session.sendRequest("own");
    await assert.rejects(start(), /session is busy/);
    await answer();
    await own;

    const task = taskLog();
    await start(task);
    await until(() => waiting.length > 0, "the prompt of the task");
    const refused = [session.sendRequest("own"), start()].map((one) =>
      assert.rejects(one, /session is busy/),
    );
    await yieldToEventLoop();
    await yieldToEventLoop();
    await answer();
    await task.ended;
    await Promise.all(refused);
    assert.equal(task.log.at(-1), "taskFailed", "it called nothing");
    assert.deepEqual(
      rig.requests.filter(({ toolResults }) => toolResults.length === 0).map((one) => one.prompt),
      ["own", "go"],
    );
    await Promise.all([session.sendRequest("own"), answer()]);
    await session.stop();
  });

  it("that is stopped while a task runs in it is a crash, and so is one that was stopped before", async (t) => {
    const rig = await host(t, checked(), { "before?": [{ hang: "before" }] });
    const [session] = await rig.host.helperSessionStart("lent", rig.folder);
    for (const when of ["during", "before"]) {
      const { callback, ended, log } = taskLog();
      const errors: unknown[] = [];
      const onCrash = (error: unknown): void => void errors.push(error);
      await rig.startTask("t", callback, { session, onCrash });
      if (when === "during") {
        await until(() => rig.requests.length === 1, "the prompt was sent");
        await rig.host.helperSessionStop(session);
      }
      await ended;
      assert.match(String(errors), /The session was stopped/);
      const decisions = JSON.stringify(log);
      assert.match(decisions, /Start it again in another session/);
      assert.doesNotMatch(decisions, /run the job again/);
    }
    assert.equal(rig.requests.length, 1, "no prompt is sent into a dead session");
    assert.ok(!rig.host.hasRunningSessions());
  });

  it("gives its model to $task-model, and hears every prompt that is sent to it", async (t) => {
    const rig = await host(t, checked(), { "before?": [yes], "after?": [no, yes] });
    const [session] = await rig.host.helperSessionStart("lent", rig.folder);
    const { callback, ended } = taskLog();
    await rig.startTask("t", callback, { session, modelId: "given" });
    await ended;
    const responses = await drain(rig.host, session);
    const heard = responses.filter((one) => one["callback"] === "onGeneratedUserPrompt");
    assert.deepEqual(
      heard.map((one) => one["prompt"]),
      [
        "job_boolean_true before?",
        "go with lent",
        "job_boolean_true after?",
        "go with lent",
        "job_boolean_true after?",
      ],
    );
    assert.equal(responses.filter((one) => one["callback"] === "onIdle").length, 5, "told once");
    const started = rig.events.flatMap((one) => (one.type === "work.started" ? [one.modelId] : []));
    assert.deepEqual(started, ["lent"]);
    await session.stop();
  });
});

describe("sessions of a running task", () => {
  it("are found and read while they run, and read to the end when they are over", async (t) => {
    const rig = await host(t, checked({}, false), { "before?": [yes], "after?": [yes] });
    const { callback, ended, sessions } = taskLog();
    const found: boolean[] = [];
    await rig.startTask("t", {
      ...callback,
      taskSessionStarted(session, id, isDriving) {
        callback.taskSessionStarted(session, id, isDriving);
        found.push(rig.host.helperGetSession(id) === session);
        rig.host.helperPushSessionResponse(session, { callback: "mine" });
      },
    });
    await ended;
    assert.deepEqual(found, [true, true, true]);
    const prompts = ["job_boolean_true before?", "go with worker", "job_boolean_true after?"];
    for (const [index, session] of sessions.entries()) {
      assert.equal(rig.host.helperGetSession(session.rawSection.sessionId), undefined);
      const names = (await drain(rig.host, session)).map((one) => one["prompt"] ?? one["callback"]);
      assert.deepEqual(names.slice(0, 3), ["mine", prompts[index], "onAgentStart"]);
      assert.equal(names.at(-1), "onIdle");
      assert.equal(await rig.host.takeSessionResponse(session, 3_600_000), undefined, "at once");
    }
  });

  it("say at their end whether their purpose went well", async (t) => {
    const criteria = {
      toolExecuted: ["job_prepare_document"],
      runConditionInSameSession: false,
      failureAction: { retryTimes: 1 },
    } as const;
    const crashing = {
      "before?": [{ text: "" }, yes],
      go: [answers("job_prepare_document"), done],
    };
    for (const [task, replies, expected] of [
      [checked(), { "before?": [yes], "after?": [no, no, no] }, "s1 false"],
      [
        checked({}, false),
        { "before?": [yes], "after?": [no, yes] },
        "s1 true, s2 true, s3 false, s4 true, s5 true",
      ],
      [checked({ criteria }), crashing, "s1 false, s2 true, s3 true"],
    ] as const) {
      const rig = await host(t, task, replies);
      const { callback, ended, log } = taskLog();
      await rig.startTask("t", callback);
      await ended;
      const stopped = log.flatMap((line) => line.match(/^stopped (.*)$/)?.[1] ?? []);
      assert.equal(stopped.join(", "), expected, log.join("\n"));
    }
  });
});

it("the model is offered job_prepare_document if the prompt names it, and told what happens to it", async (t) => {
  for (const [prompt, isNamed] of [
    ["go", false],
    ["go with job_prepare_document", true],
  ] as const) {
    const rig = await host(t, { model, prompt }, {});
    const { callback, ended } = taskLog();
    await rig.startTask("t", callback);
    await ended;
    const offered = JSON.stringify(rig.requests[0]?.body);
    const described = /One line is kept, its path or title, for this run of this task/;
    assert.equal(described.test(offered), isNamed, prompt);
    assert.doesNotMatch(offered, /job_boolean_true/);
  }
});

/** `copilot/task/…` in a borrowed session, and what a client sees of criteria and retries. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { named, type Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { call, calls, models, reports, ref } from "../rig/server-fixtures.ts";

const driving = { category: "driving" };
const saysYes = calls(call("job_boolean_true", "it is so"));
const saysNo = calls(call("job_boolean_false", "it is not so"));
const check = "Is it good? Call job_boolean_true or job_boolean_false.";

const prompt = "Do it.";
const again = `${prompt}\n\n## Required Tool Not Called: job_prepare_document\nCall job_prepare_document as a tool.`;
/** What the model is asked for `checked`: it forgets the tool, then the check says no, then yes. */
const checkedPrompts = [prompt, again, check, prompt, check];
/** The decisions about its criteria, in short, and how it ends. */
const checkedFeed = [
  "CRITERIA toolExecuted",
  "DECISION Retry 1 of 2",
  "CRITERIA toolExecuted",
  "CRITERIA condition",
  "DECISION Retry 2 of 2",
  "CRITERIA toolExecuted",
  "CRITERIA condition",
  "TASK SUCCEEDED",
  "taskSucceeded",
];

const server = await startServer({
  entry: {
    models,
    tasks: {
      checked: {
        model: driving,
        prompt,
        criteria: {
          toolExecuted: ["job_prepare_document"],
          condition: check,
          failureAction: { retryTimes: 2 },
        },
      },
      apart: {
        model: driving,
        prompt,
        criteria: {
          condition: check,
          runConditionInSameSession: false,
          failureAction: { retryTimes: 1 },
        },
      },
      plain: { model: driving, prompt },
      asks: { model: driving, prompt: "Do $user-input.", requireUserInput: true },
      crashesOnce: { model: driving, prompt: "Crash once." },
      hangs: { model: driving, prompt: "Hang." },
      hangsOnce: { model: driving, prompt: "Hang once." },
    },
    jobs: Object.fromEntries(
      ["checked", "apart", "crashesOnce", "hangs", "hangsOnce"].map((name) => [
        name,
        { work: ref(name) },
      ]),
    ),
  },
  sessions: [
    { task: "checked", turns: ["I forgot.", reports, saysNo, reports, saysYes] },
    { task: "apart", role: "task", turns: ["Done."] },
    { task: "apart", role: "driving", retry: 0, turns: [saysNo] },
    { task: "apart", role: "driving", turns: [saysYes] },
    { task: "plain", turns: ["Done."] },
    { task: "asks", turns: [{ prompt: "Do a dance.", text: "Done." }] },
    { task: "crashesOnce", attempt: 1, turns: [{ text: "" }] },
    { task: "crashesOnce", turns: [{ prompt: "The session crashed", text: "Done." }] },
    { task: "hangs", turns: [{ text: "I begin", hang: true }] },
    { task: "hangsOnce", attempt: 1, turns: [{ text: "I begin", hang: true }] },
    { task: "hangsOnce", turns: [{ prompt: "The session crashed", text: "Done." }] },
    { turns: ["Hello!", "Hello again!"] },
  ],
});
after(() => server.stop());

/** Decisions about criteria and the end, without their prose, and what is no decision by its name. */
function inShort(feed: readonly Answer[]): string[] {
  return feed.flatMap((answer) => {
    const { callback, reason } = answer;
    if (typeof callback !== "string") return Object.keys(answer);
    if (callback !== "taskDecision" || typeof reason !== "string") return [callback];
    const category = /^\[([A-Z ]+)\] /.exec(reason)?.[1];
    assert.ok(category !== undefined, `no category: ${reason}`);
    if (category === "OPERATION" || category === "MISC") return [];
    const detail = /\b(?:Retry \d+ of \d+|toolExecuted|condition)\b/.exec(reason)?.[0];
    const shown = category === "CRITERIA" || detail?.startsWith("Retry") === true;
    return [shown && detail !== undefined ? `${category} ${detail}` : category];
  });
}

async function startTask(task: string, sessionId: string, input = ""): Promise<string> {
  const answer = await server.post(`copilot/task/start/${task}/session/${sessionId}`, input);
  assert.deepEqual(Object.keys(answer), ["taskId"], JSON.stringify(answer));
  return String(answer["taskId"]);
}

const generated = (feed: readonly Answer[]): unknown[] =>
  named(feed, "onGeneratedUserPrompt").map((one) => one["prompt"]);

/** The feed of the only task of a job that runs to its end. */
async function feedOf(job: string): Promise<readonly Answer[]> {
  const { tasks: feeds } = await server.runJob(job);
  const [own, ...others] = feeds.values();
  assert.deepEqual(others, []);
  return own ?? assert.fail("the job has no task");
}

/** The feeds of the first task of a job, once its session has been asked. */
async function sessionAtWork(
  job: string,
): Promise<{ readonly jobId: string; readonly feed: string; readonly session: string }> {
  const jobId = await server.startJob(job);
  const [work] = await server.takeUntil(`copilot/job/${jobId}`, (one) => "workId" in one);
  const feed = `copilot/task/${String(work?.["taskId"])}`;
  const responses = await server.takeUntil(feed, (one) => one["callback"] === "taskSessionStarted");
  const session = `copilot/session/${String(responses.at(-1)?.["sessionId"])}`;
  await server.takeUntil(session, (one) => one["callback"] === "onMessage");
  return { jobId, feed, session };
}

describe("a task in a borrowed session", { concurrency: 4 }, () => {
  it("reports its criteria and its retries", async () => {
    const sessionId = await server.startSession();
    const taskId = await startTask("checked", sessionId);
    assert.match(taskId, /^task-/);
    assert.deepEqual(inShort(await server.drain(`copilot/task/${taskId}`)), checkedFeed);
    assert.deepEqual(await server.get(`copilot/task/${taskId}/live`), { error: "TaskNotFound" });
    assert.deepEqual(await server.post(`copilot/task/${taskId}/stop`), { error: "TaskNotFound" });
    // The session is alive, and has heard every prompt.
    await server.close(`copilot/session/${sessionId}`);
    const session = await server.drain(`copilot/session/${sessionId}`);
    assert.deepEqual(generated(session), checkedPrompts);
  });

  it("gets the body as the user's input", async () => {
    const sessionId = await server.startSession();
    const taskId = await startTask("asks", sessionId, "a dance");
    const feed = await server.drain(`copilot/task/${taskId}`);
    assert.deepEqual(feed.at(-1), { callback: "taskSucceeded" });
  });

  it("can't be stopped", async () => {
    const sessionId = await server.startSession();
    const taskId = await startTask("hangs", sessionId);
    assert.deepEqual(await server.post(`copilot/task/${taskId}/stop`), {
      error: "TaskCannotClose",
    });
    // It ends with its session.
    await server.close(`copilot/session/${sessionId}`);
    const feed = await server.drain(`copilot/task/${taskId}`);
    assert.deepEqual(feed.at(-1), { callback: "taskFailed" });
    assert.ok(feed.some((one) => "taskError" in one));
  });

  it("fails in a session in which another one runs", async () => {
    const sessionId = await server.startSession();
    const first = await startTask("hangs", sessionId);
    const second = await startTask("plain", sessionId);
    const feed = await server.drain(`copilot/task/${second}`);
    assert.deepEqual(feed.at(-1), { callback: "taskFailed" });
    assert.match(String(feed.at(-2)?.["taskError"]), /busy/);
    await server.close(`copilot/session/${sessionId}`);
    assert.deepEqual((await server.drain(`copilot/task/${first}`)).at(-1), {
      callback: "taskFailed",
    });
  });

  it("needs a session that runs, and a task of the entry", async () => {
    const sessionId = await server.startSession();
    const start = (task: string, session: string): Promise<Answer> =>
      server.post(`copilot/task/start/${task}/session/${session}`);
    assert.deepEqual(await start("plain", "nobody"), { error: "SessionNotFound" });
    assert.deepEqual(await start("nothing", sessionId), { error: "TaskNotFound" });
    assert.deepEqual(await start("constructor", sessionId), { error: "TaskNotFound" });
    await server.close(`copilot/session/${sessionId}`);
    assert.deepEqual(await start("plain", sessionId), { error: "SessionNotFound" });
  });
});

describe("a task of a job", { concurrency: 4 }, () => {
  it("reports its session, its criteria and its retries", async () => {
    const own = await feedOf("checked");
    const shown = inShort(own);
    // The session ends before or after the task says how it ended.
    const others = shown.filter((line) => !line.startsWith("taskSession"));
    assert.deepEqual(others, checkedFeed);
    assert.equal(shown.filter((line) => line === "taskSessionStopped").length, 1);
    const [started] = named(own, "taskSessionStarted");
    const sessionId = started?.["sessionId"];
    assert.deepEqual(started, {
      callback: "taskSessionStarted",
      taskId: sessionId,
      isDrivingSession: true,
      sessionId,
      isDriving: true,
    });
    const session = await server.drain(`copilot/session/${String(sessionId)}`);
    assert.deepEqual(generated(session), checkedPrompts);
    assert.ok(session.some((one) => one["callback"] === "onIdle"));
  });

  it("has a session for each purpose with runConditionInSameSession false", async () => {
    const own = await feedOf("apart");
    const started = named(own, "taskSessionStarted");
    assert.deepEqual(
      started.map((one) => one["isDriving"]),
      [false, true, false, true],
    );
    const prompts = await Promise.all(
      started.map(async (one) =>
        generated(await server.drain(`copilot/session/${String(one["sessionId"])}`)),
      ),
    );
    assert.deepEqual(prompts, [[prompt], [check], [prompt], [check]]);
    const stopped = named(own, "taskSessionStopped");
    assert.deepEqual(
      stopped.map((one) => one["succeeded"]),
      [true, false, true, true],
    );
    assert.deepEqual(own.at(-1), { callback: "taskSucceeded" });
  });

  it("shows the sessions that replace those that crashed, and the prompt sent again", async () => {
    const { job, tasks: feeds } = await server.runJob("crashesOnce");
    const [own] = feeds.values();
    assert.ok(own !== undefined);
    const started = named(own, "taskSessionStarted");
    assert.equal(started.length, 2);
    const session = await server.drain(`copilot/session/${String(started[1]?.["sessionId"])}`);
    assert.deepEqual(generated(session), [
      "The session crashed, please redo and here is the last request:\nCrash once.",
    ]);
    assert.ok(inShort(own).includes("SESSION CRASHED"));
    assert.deepEqual(
      [own.at(-1), job.at(-1)],
      [{ callback: "taskSucceeded" }, { callback: "jobSucceeded" }],
    );
  });

  it("replaces a session that a client stops", async () => {
    const { jobId, feed, session } = await sessionAtWork("hangsOnce");
    await server.close(session);
    await server.drain(session);
    const rest = await server.drain(feed);
    assert.ok(inShort(rest).includes("SESSION CRASHED"));
    assert.equal(named(rest, "taskSessionStarted").length, 1);
    assert.deepEqual(rest.at(-1), { callback: "taskSucceeded" });
    assert.deepEqual((await server.drain(`copilot/job/${jobId}`)).at(-1), {
      callback: "jobSucceeded",
    });
  });

  it("can be stopped, and its session talked to until then", async () => {
    const { jobId, feed, session } = await sessionAtWork("hangs");
    await server.close(feed);
    await server.drain(feed);
    await server.drain(session);
    assert.deepEqual(await server.post(`${feed}/stop`), { error: "TaskNotFound" });
    const job = await server.drain(`copilot/job/${jobId}`);
    assert.deepEqual(job[0], { callback: "workStopped", workId: 0, succeeded: false });
    assert.notDeepEqual(job.at(-1), { callback: "jobSucceeded" });
  });
});

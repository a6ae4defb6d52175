/** `copilot/session/…`: the documents' routes of a session that belongs to no task. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { callbacksOf, named, recordOf, type Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { calls, entryOf, models, ref } from "../rig/server-fixtures.ts";

/** A model id chooses the script. */
const plays: Readonly<Record<string, readonly unknown[]>> = {
  talks: ["Hello!", "Hello again!", "And again!"],
  reads: [calls({ name: "view", arguments: { path: "${workingDirectory}/note.txt" } })],
  fails: [{ error: { status: 400, message: "a bad request" } }, "I am back."],
  hangs: [{ text: "I begin", hang: true }],
  "maker/model 1.5": ["Any id is a name."],
};

const server = await startServer({
  entry: {
    ...entryOf({ job: ref("ok") }),
    models: { ...models, ...Object.fromEntries(Object.keys(plays).map((id) => [id, id])) },
  },
  sessions: [
    { task: "ok", turns: ["Done."] },
    ...Object.entries(plays).map(([model, turns]) => ({ model, turns })),
  ],
  files: { "work/note.txt": "a note\n" },
  env: { SHOP_TOKEN: "a-very-secret-token" },
});
after(() => server.stop());

const isIdle = (answer: Answer): boolean => answer["callback"] === "onIdle";

/** Sends a prompt, and takes all responses to it. */
async function ask(sessionId: string, prompt = "Hello"): Promise<Answer[]> {
  assert.deepEqual(await server.post(`copilot/session/${sessionId}/query`, prompt), {});
  return server.takeUntil(`copilot/session/${sessionId}`, isIdle);
}

/** Ids of messages, turns and so on are written as `id`; deltas of the same text become one. */
function normal(answers: readonly Answer[]): Answer[] {
  const merged: Record<string, unknown>[] = [];
  for (const answer of answers) {
    const one = Object.fromEntries(
      Object.entries(answer).map(([key, value]) => [key, key.endsWith("Id") ? "id" : value]),
    );
    const last = merged.at(-1);
    if (last !== undefined && "delta" in one && last["callback"] === one["callback"])
      last["delta"] = `${String(last["delta"])}${String(one["delta"])}`;
    else merged.push(one);
  }
  return merged;
}

describe("copilot/session/start", { concurrency: true }, () => {
  it("needs a working directory that is absolute and exists", async () => {
    const start = (folder: string): Promise<Answer> =>
      server.post("copilot/session/start/talks", folder);
    for (const folder of ["work", "", "file:///tmp"])
      assert.deepEqual(await start(folder), { error: "WorkingDirectoryNotAbsolutePath" });
    for (const name of ["nowhere", "work/note.txt", "work/\u0000"])
      assert.deepEqual(await start(join(server.folder, name)), {
        error: "WorkingDirectoryNotExists",
      });
  });

  it("takes a model id with a slash and a space in it", async () => {
    const id = await server.startSession(encodeURIComponent("maker/model 1.5"));
    const last = (await ask(id)).findLast((one) => one["callback"] === "onEndMessage");
    assert.equal(last?.["completeContent"], "Any id is a name.");
  });
});

describe("copilot/session/{session-id}/live", { concurrency: true }, () => {
  it("gives one response per call, in order: a message", async () => {
    const id = await server.startSession("talks");
    assert.deepEqual(normal(await ask(id)), [
      { callback: "onAgentStart", turnId: "id" },
      { callback: "onStartMessage", messageId: "id" },
      { callback: "onMessage", messageId: "id", delta: "Hello!" },
      { callback: "onEndMessage", messageId: "id", completeContent: "Hello!" },
      { callback: "onAgentEnd", turnId: "id" },
      { callback: "onIdle" },
    ]);
    const again = await ask(id);
    assert.ok(again.some((one) => one["completeContent"] === "Hello again!"));
  });

  it("gives a tool call with its arguments and its result", async () => {
    const id = await server.startSession("reads");
    const answers = await ask(id);
    const [start] = named(answers, "onStartToolExecution");
    const [end] = named(answers, "onEndToolExecution");
    assert.ok(start !== undefined && end !== undefined);
    const path = join(server.workingDirectory, "note.txt");
    assert.deepEqual(
      [start["toolName"], start["toolArguments"]],
      ["view", JSON.stringify({ path })],
    );
    assert.equal(end["toolCallId"], start["toolCallId"]);
    assert.match(JSON.stringify(end["result"]), /a note/);
    assert.ok(!("error" in end));
  });

  it("gives what a session throws as a sessionError, and the session lives on", async () => {
    const id = await server.startSession("fails");
    const feed = `copilot/session/${id}`;
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    const answers = await server.takeUntil(feed, (one) => "sessionError" in one);
    assert.deepEqual(Object.keys(answers.at(-1) ?? {}), ["sessionError"]);
    assert.match(String(answers.at(-1)?.["sessionError"]), /a bad request/);
    assert.deepEqual(await server.post(`${feed}/query`, "Again"), {});
    await server.takeUntil(feed, (one) => one["completeContent"] === "I am back.");
  });

  it("refuses a second call while one waits, which still gets its response", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    // Whichever comes second is refused.
    const both = [server.get(`${feed}/live`), server.get(`${feed}/live`)];
    assert.deepEqual(await Promise.race(both), { error: "ParallelCallNotSupported" });
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    const callbacks = callbacksOf(await Promise.all(both));
    assert.deepEqual(new Set(callbacks), new Set([undefined, "onAgentStart"]));
  });

  it("goes on giving what is left after the stop, says SessionClosed once, then SessionNotFound", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    // One by the other route: the rest is there when it has ended.
    for await (const { data } of server.events(`${feed}/events`)) if (isIdle(data)) break;
    await server.close(feed);
    for (const route of ["stop", "query"])
      assert.deepEqual(await server.post(`${feed}/${route}`, "x"), { error: "SessionNotFound" });
    const rest = callbacksOf(normal(await server.drain(feed)));
    assert.deepEqual([rest.length, rest[0], rest.at(-1)], [6, "onAgentStart", "onIdle"]);
    for (let calls = 0; calls < 2; calls += 1)
      assert.deepEqual(await server.get(`${feed}/live`), { error: "SessionNotFound" });
  });

  it("refuses a query while another one is being answered, in the feed", async () => {
    const id = await server.startSession("hangs");
    const feed = `copilot/session/${id}`;
    for (const prompt of ["Hello", "Hello again"])
      assert.deepEqual(await server.post(`${feed}/query`, prompt), {});
    const answers = await server.takeUntil(feed, (one) => "sessionError" in one);
    assert.match(String(answers.at(-1)?.["sessionError"]), /busy/);
    await server.close(feed);
    await server.drain(feed);
  });
});

describe("copilot/session/recent", () => {
  async function recent(sessionId: string): Promise<Answer> {
    const { sessions } = await server.get("copilot/session/recent");
    assert.ok(Array.isArray(sessions));
    return recordOf(JSON.stringify(sessions.find((one) => one.sessionId === sessionId)));
  }

  it("has what a session was asked, and after which response", async () => {
    const sessionId = await server.startSession("talks");
    const { length } = await ask(sessionId, "Who are you?");
    await ask(sessionId, "The token is a-very-secret-token.");
    const { startTime, prompts, ...session } = await recent(sessionId);
    assert.deepEqual(session, {
      sessionId,
      modelId: "talks",
      workingDirectory: server.workingDirectory,
      tasks: [],
    });
    assert.equal(new Date(String(startTime)).toISOString(), startTime);
    assert.deepEqual(prompts, [
      { after: 0, text: "Who are you?" },
      { after: length, text: "The token is ***." },
    ]);
  });

  it("has the tasks that were started in a session, and when it ended", async () => {
    const sessionId = await server.startSession("talks");
    const { taskId } = await server.post(`copilot/task/start/ok/session/${sessionId}`);
    await server.drain(`copilot/task/${String(taskId)}`);
    await server.post(`copilot/session/${sessionId}/stop`);
    const { tasks, prompts, startTime, endTime } = await recent(sessionId);
    const task = { after: 0, taskId, taskName: "ok" };
    assert.deepEqual({ tasks, prompts }, { tasks: [task], prompts: [] });
    assert.ok(String(startTime) <= String(endTime) && !Number.isNaN(Date.parse(String(endTime))));
  });

  it("has no sessions of jobs", async () => {
    const before = await server.get("copilot/session/recent");
    await server.runJob("job");
    assert.deepEqual(await server.get("copilot/session/recent"), before);
  });

  it("keeps a megabyte of prompts at most, and the beginning of a long one", async () => {
    const sessionId = await server.startSession("talks");
    const long = "long ".repeat(14_000);
    for (let number = 0; number < 20; number += 1) await ask(sessionId, `${number} ${long}`);
    const { prompts } = await recent(sessionId);
    assert.ok(Array.isArray(prompts) && prompts.length > 5 && prompts.length < 20);
    assert.match(prompts.at(-1).text, /^19 long .*…$/);
    assert.ok(JSON.stringify(prompts).length < 1.1 * 1024 * 1024);
  });
});

/** `copilot/session/…`: the documents' routes of a session that belongs to no task. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { calls, entryOf, models, ref } from "../rig/server-fixtures.ts";

/** A model id chooses the script. */
const plays: Readonly<Record<string, readonly unknown[]>> = {
  talks: ["Hello!", "Hello again!", "And again!"],
  thinks: [{ reasoning: "What shall I say?", text: "Good morning." }],
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
  sessions: Object.entries(plays).map(([model, turns]) => ({ model, turns })),
  files: { "work/note.txt": "a note\n" },
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
  it("refuses a model that nobody knows", async () => {
    const answer = await server.post("copilot/session/start/nobody", server.workingDirectory);
    assert.deepEqual(answer, { error: "ModelIdNotFound" });
  });

  for (const folder of ["work", "./work", "../work", "", "file:///tmp"]) {
    it(`refuses the working directory ${JSON.stringify(folder)}, which is not absolute`, async () => {
      assert.deepEqual(await server.post("copilot/session/start/talks", folder), {
        error: "WorkingDirectoryNotAbsolutePath",
      });
    });
  }

  for (const name of ["nowhere", "work/note.txt", "work/\u0000"]) {
    it(`refuses a working directory that is no folder: ${JSON.stringify(name)}`, async () => {
      assert.deepEqual(
        await server.post("copilot/session/start/talks", join(server.folder, name)),
        {
          error: "WorkingDirectoryNotExists",
        },
      );
    });
  }

  it("takes a model id with a slash and a space in it", async () => {
    const id = await server.startSession(encodeURIComponent("maker/model 1.5"));
    const last = (await ask(id)).findLast((one) => one["callback"] === "onEndMessage");
    assert.equal(last?.["completeContent"], "Any id is a name.");
  });

  it("starts several sessions at once, each with responses of its own", async () => {
    const ids = await Promise.all(
      ["talks", "thinks", "talks"].map((id) => server.startSession(id)),
    );
    assert.equal(new Set(ids).size, 3);
    const texts = await Promise.all(
      ids.map(
        async (id) =>
          (await ask(id)).find((one) => one["callback"] === "onEndMessage")?.["completeContent"],
      ),
    );
    assert.deepEqual(texts, ["Hello!", "Good morning.", "Hello!"]);
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

  it("gives reasoning before the message", async () => {
    const id = await server.startSession("thinks");
    const answers = normal(await ask(id));
    assert.deepEqual(
      answers.map((one) => one["callback"]),
      [
        "onAgentStart",
        "onStartReasoning",
        "onReasoning",
        "onEndReasoning",
        "onStartMessage",
        "onMessage",
        "onEndMessage",
        "onAgentEnd",
        "onIdle",
      ],
    );
    assert.deepEqual(answers.slice(1, 4), [
      { callback: "onStartReasoning", reasoningId: "id" },
      { callback: "onReasoning", reasoningId: "id", delta: "What shall I say?" },
      { callback: "onEndReasoning", reasoningId: "id", completeContent: "What shall I say?" },
    ]);
  });

  it("gives a tool call with its arguments and its result", async () => {
    const id = await server.startSession("reads");
    const answers = await ask(id);
    const start = answers.find((one) => one["callback"] === "onStartToolExecution");
    const end = answers.find((one) => one["callback"] === "onEndToolExecution");
    assert.ok(start !== undefined && end !== undefined);
    assert.equal(start["toolName"], "view");
    assert.equal(typeof start["toolArguments"], "string");
    assert.deepEqual(JSON.parse(String(start["toolArguments"])), {
      path: join(server.workingDirectory, "note.txt"),
    });
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

  it("waits 5 seconds for a response, then says so, and another call goes on waiting", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    const start = performance.now();
    assert.deepEqual(await server.get(`${feed}/live`), { error: "HttpRequestTimeout" });
    // The clocks of two processes.
    assert.ok(performance.now() - start > 4900);
    assert.equal((await ask(id)).at(-1)?.["callback"], "onIdle");
  });

  it("answers a call that waits as soon as there is a response", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    const waiting = server.get(`${feed}/live`);
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    assert.equal((await waiting)["callback"], "onAgentStart");
  });

  it("refuses a second call while one waits, which still gets its response", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    // Whichever comes second is refused.
    const both = [server.get(`${feed}/live`), server.get(`${feed}/live`)];
    assert.deepEqual(await Promise.race(both), { error: "ParallelCallNotSupported" });
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    const callbacks = (await Promise.all(both)).map((one) => one["callback"]);
    assert.deepEqual(new Set(callbacks), new Set([undefined, "onAgentStart"]));
  });

  it("loses nothing when a client goes away while it waits", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    const calls = [new AbortController(), new AbortController()].map((gone) => ({
      gone,
      answered: server.request(`${feed}/live`, { signal: gone.signal }),
    }));
    // The one that isn't refused waits.
    const refused = await Promise.race(calls.map(({ answered }) => answered));
    assert.deepEqual(await refused.json(), { error: "ParallelCallNotSupported" });
    for (const { gone } of calls) gone.abort();
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    for await (const { data } of server.events(`${feed}/events`)) if (isIdle(data)) break;
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    assert.equal((await server.drain(feed))[0]?.["callback"], "onAgentStart");
    await Promise.allSettled(calls.map(({ answered }) => answered));
  });

  it("goes on giving what is left after the stop, says SessionClosed once, then SessionNotFound", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    // One by the other route: the rest is there when it has ended.
    for await (const { data } of server.events(`${feed}/events`)) if (isIdle(data)) break;
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    for (const route of ["stop", "query"])
      assert.deepEqual(await server.post(`${feed}/${route}`, "x"), { error: "SessionNotFound" });
    assert.deepEqual(
      normal(await server.drain(feed)).map((one) => one["callback"]),
      ["onAgentStart", "onStartMessage", "onMessage", "onEndMessage", "onAgentEnd", "onIdle"],
    );
    for (let calls = 0; calls < 2; calls += 1)
      assert.deepEqual(await server.get(`${feed}/live`), { error: "SessionNotFound" });
  });

  it("answers a call that waits when the session is stopped", async () => {
    const id = await server.startSession("talks");
    const feed = `copilot/session/${id}`;
    const waiting = server.get(`${feed}/live`);
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    const answers = [await waiting, await server.get(`${feed}/live`)];
    assert.deepEqual(answers, [{ error: "SessionClosed" }, { error: "SessionNotFound" }]);
  });

  it("refuses a query while another one is being answered, in the feed", async () => {
    const id = await server.startSession("hangs");
    const feed = `copilot/session/${id}`;
    for (const prompt of ["Hello", "Hello again"])
      assert.deepEqual(await server.post(`${feed}/query`, prompt), {});
    const answers = await server.takeUntil(feed, (one) => "sessionError" in one);
    assert.match(String(answers.at(-1)?.["sessionError"]), /busy/);
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    await server.drain(feed);
  });

  it("ends a session in the middle of an answer", async () => {
    const id = await server.startSession("hangs");
    const feed = `copilot/session/${id}`;
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    await server.takeUntil(feed, (one) => one["callback"] === "onStartMessage");
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    await server.drain(feed);
    assert.deepEqual(await server.get(`${feed}/live`), { error: "SessionNotFound" });
  });
});

describe("a session that never was", { concurrency: true }, () => {
  for (const id of ["nobody", "constructor", "..%2f..", "task-1", "a%00b"]) {
    it(`is not found by any route: ${id}`, async () => {
      for (const route of ["live", "query", "stop"])
        assert.deepEqual(await server.post(`copilot/session/${id}/${route}`, "x"), {
          error: "SessionNotFound",
        });
      for (const route of ["live", "stop"])
        assert.deepEqual(await server.get(`copilot/session/${id}/${route}`), {
          error: "SessionNotFound",
        });
    });
  }
});

/** A server whose models answer when the test lets them: what can be seen of a job while it waits. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startModelServer, type Reply } from "../rig/model-server.ts";
import { startServer } from "../rig/server.ts";
import type { ServerEvent } from "../rig/answer.ts";
import { entryOf, models, ref } from "../rig/server-fixtures.ts";

/** Who waits for an answer, by the prompt. */
const waiting = new Map<string, (reply: Reply) => void>();
const asked = new Map<string, () => void>();

/** Resolves when the model is asked. */
function isAsked(prompt: string): Promise<void> {
  if (waiting.has(prompt)) return Promise.resolve();
  return new Promise((resolve) => asked.set(prompt, resolve));
}

async function answer(prompt: string, reply: Reply): Promise<void> {
  await isAsked(prompt);
  waiting.get(prompt)?.(reply);
  waiting.delete(prompt);
}

const modelServer = await startModelServer(
  ({ prompt, toolResults }) => {
    if (toolResults.length > 0) return { text: "Done." };
    return new Promise((resolve) => {
      waiting.set(prompt, resolve);
      asked.get(prompt)?.();
    });
  },
  { models: ["special", "gpt-5-mini", "another"] },
);
const server = await startServer({
  entry: {
    ...entryOf({ one: ref("one") }),
    models: { ...models, other: "another" },
    tasks: {
      one: {
        model: { category: "driving" },
        prompt: "One.",
        criteria: { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes: 0 } },
      },
    },
  },
  provider: modelServer.baseUrl,
});
after(async () => {
  await server.stop();
  await modelServer.close();
});

describe("a server with a model server", { concurrency: true }, () => {
  it("lists the models of the model server", async () => {
    const { models: listed, ...others } = await server.get("copilot/models");
    assert.ok(Array.isArray(listed));
    assert.deepEqual(others, {});
    const expected = ["gpt-5-mini", "another", "special"];
    assert.deepEqual(new Set(listed.map((one) => one.id)), new Set(expected));
    assert.equal(listed.length, expected.length);
    for (const one of listed) assert.deepEqual(one, { name: one.id, id: one.id });
  });

  it("installs no entry with a model that the model server doesn't offer", async () => {
    const file = join(server.folder, "entries", "typo.json");
    const entry = { ...entryOf({ job: ref("ok") }), models: { ...models, other: "speciall" } };
    await writeFile(file, JSON.stringify(entry, null, 2));
    const { result, error } = await server.post("copilot/test/installJobsEntry", file);
    assert.equal(result, "InvalidateEntry");
    assert.equal(error, 'entry.models["other"]: The model "speciall" is not offered.');
  });

  it("starts sessions with the models of the model server, and with no other", async () => {
    for (const model of ["another", "special"]) {
      const id = await server.startSession(model);
      const feed = `copilot/session/${id}`;
      assert.deepEqual(await server.post(`${feed}/query`, `To ${model}.`), {});
      await answer(`To ${model}.`, { text: "Hello!" });
      await server.takeUntil(feed, (one) => one["completeContent"] === "Hello!");
      await server.close(feed);
    }
    assert.deepEqual(await server.post("copilot/session/start/third", server.workingDirectory), {
      error: "ModelIdNotFound",
    });
  });

  it("sends each event as soon as it happens", async () => {
    const jobId = await server.startJob("one");
    const events = server.events(`copilot/job/${jobId}/events`);
    const started = await next(events);
    assert.equal(started.data["callback"], "workStarted");
    const tasks = server.events(`copilot/task/${String(started.data["taskId"])}/events`);
    const session = await next(tasks);
    assert.equal(session.data["callback"], "taskSessionStarted");
    await answer("One.", {
      toolCalls: [{ name: "job_prepare_document", arguments: { argument: "a report" } }],
    });
    let last = session;
    for await (const event of tasks) last = event;
    assert.deepEqual(last.data, { error: "TaskClosed" });
    const stopped = { callback: "workStopped", workId: 0, succeeded: true };
    assert.deepEqual((await next(events)).data, stopped);
    await events.return();
  });
});

async function next(events: AsyncGenerator<ServerEvent, void, void>): Promise<ServerEvent> {
  const { value } = await events.next();
  return value ?? assert.fail("the stream has ended");
}

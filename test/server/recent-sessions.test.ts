/** `copilot/session/recent`: what the page shows of the sessions beyond their feeds. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { recordOf, type Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";

const server = await startServer({
  entry: {
    models: { driving: "gpt-5-mini" },
    tasks: { greet: { model: { category: "driving" }, prompt: "Greet." } },
    jobs: { hello: { work: { kind: "Ref", taskId: "greet" } } },
  },
  env: { SHOP_TOKEN: "a-very-secret-token" },
});
after(() => server.stop());

async function recent(sessionId: string): Promise<Answer> {
  const { sessions } = await server.get("copilot/session/recent");
  assert.ok(Array.isArray(sessions));
  return recordOf(JSON.stringify(sessions.find((one) => one.sessionId === sessionId)));
}

/** Sends a prompt and returns how many responses came of it. */
async function ask(sessionId: string, prompt: string): Promise<number> {
  assert.deepEqual(await server.post(`copilot/session/${sessionId}/query`, prompt), {});
  const isIdle = ({ callback }: Answer): boolean => callback === "onIdle";
  return (await server.takeUntil(`copilot/session/${sessionId}`, isIdle)).length;
}

describe("copilot/session/recent", () => {
  it("has what a session was asked, and after which response", async () => {
    const sessionId = await server.startSession();
    const first = await ask(sessionId, "Who are you?");
    await ask(sessionId, "The token is a-very-secret-token.");
    const { startTime, prompts, ...session } = await recent(sessionId);
    assert.deepEqual(session, {
      sessionId,
      modelId: "gpt-5-mini",
      workingDirectory: server.workingDirectory,
      tasks: [],
    });
    assert.equal(new Date(String(startTime)).toISOString(), startTime);
    assert.deepEqual(prompts, [
      { after: 0, text: "Who are you?" },
      { after: first, text: "The token is ***." },
    ]);
  });

  it("has the tasks that were started in a session, and when it ended", async () => {
    const sessionId = await server.startSession();
    const { taskId } = await server.post(`copilot/task/start/greet/session/${sessionId}`);
    await server.drain(`copilot/task/${String(taskId)}`);
    await server.post(`copilot/session/${sessionId}/stop`);
    const { tasks, prompts, startTime, endTime } = await recent(sessionId);
    assert.deepEqual(
      { tasks, prompts },
      { tasks: [{ after: 0, taskId, taskName: "greet" }], prompts: [] },
    );
    assert.ok(String(startTime) <= String(endTime) && !Number.isNaN(Date.parse(String(endTime))));
  });

  it("has no sessions of jobs", async () => {
    const before = await server.get("copilot/session/recent");
    await server.runJob("hello");
    assert.deepEqual(await server.get("copilot/session/recent"), before);
  });

  it("keeps the last 200 prompts, and the beginning of a long one", async () => {
    const sessionId = await server.startSession();
    await ask(sessionId, "long ".repeat(14_000));
    const { prompts: first } = await recent(sessionId);
    assert.ok(Array.isArray(first));
    assert.match(first.at(-1).text, /^long .*…$/);
    assert.ok(first.at(-1).text.length < 66_000);
    for (let number = 1; number <= 200; number += 1)
      await server.post(`copilot/session/${sessionId}/query`, `${number}`);
    const { prompts } = await recent(sessionId);
    assert.ok(Array.isArray(prompts));
    assert.equal(prompts.length, 200);
    assert.equal(prompts[0].text, "1");
  });
});

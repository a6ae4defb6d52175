/** Sessions of a server, and tasks that run in them. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry, Task } from "../../src/entry/model.ts";
import { makeAccount } from "../rig/account.ts";
import { listen } from "../rig/listen.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { callbacksOf, drain, LaterClock, type LiveRig, makeLive, started } from "./live-rig.ts";

const model = { category: "work" };
const task: Task = { model, prompt: "Work on $user-input.", requireUserInput: true };
const checked: Task = {
  ...task,
  availability: { condition: "job_boolean_true before?" },
  criteria: {
    condition: "job_boolean_true after?",
    runConditionInSameSession: false,
    failureAction: { retryTimes: 1 },
  },
};
const entry: Entry = {
  models: { driving: "driver", work: "worker" },
  tasks: { t: task, checked },
  jobs: { j: { work: { kind: "Ref", taskId: "t", modelOverride: { id: "special" } } } },
};
const yes = { tools: [{ name: "job_boolean_true", arguments: { argument: "so" } }] };
const no = { tools: [{ name: "job_boolean_false", arguments: { argument: "no" } }] };

async function session(rig: LiveRig, modelId = "worker"): Promise<string> {
  return started(await rig.live.startSession(modelId, rig.folder)).sessionId;
}

describe("a session of a server", () => {
  it("can have the models of the model server, asked once a minute, and those of the entry", async (t) => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.end('{"data":[{"id":"worker"},{"id":"other"}]}');
    });
    const clock = new LaterClock();
    const provider = { baseUrl: await listen(t, server) };
    const host = new JobHost({ provider, environment: {}, clock });
    t.after(() => host.close());
    const ids = async (): Promise<string[]> => (await host.live.listModels()).map(({ id }) => id);
    const offered = ["worker", "other"];
    assert.deepEqual(await Promise.all([ids(), ids()]), [offered, offered]);
    await host.installJobsEntry(entry);
    assert.deepEqual(await ids(), offered);
    assert.equal(asked, 1);
    clock.later = 61_000;
    await ids();
    assert.equal(asked, 2);
  });

  it("can have the models of the account, the cheapest first", async (t) => {
    const prices = { dear: [125, 1000], usual: [25, 200], worker: [0, 0] } as const;
    const { runtimePath } = await makeAccount(t, prices);
    const host = new JobHost({ runtimePath, gitHubToken: "gho_token", environment: {} });
    t.after(() => host.close());
    await host.installJobsEntry(entry);
    assert.deepEqual(
      (await host.live.listModels()).map(({ id, price }) => `${id} ${price?.output}`),
      ["worker 0", "usual 2", "dear 10", "auto undefined"],
    );
  });
});

describe("a task in a session of a server", () => {
  it("is played by the rules that its own sessions would have, and skips its availability", async (t) => {
    const rig = await makeLive(t, entry, [
      { task: "checked", role: "task", retry: 0, turns: [{ text: "Bad." }] },
      { task: "checked", role: "driving", retry: 0, turns: [{ replies: [no, { text: "No." }] }] },
      { task: "checked", role: "task", retry: 1, turns: [{ text: "Good." }] },
      { task: "checked", role: "driving", retry: 1, turns: [{ replies: [yes, { text: "Yes." }] }] },
    ]);
    const id = await session(rig);
    const { taskId } = started(rig.live.startTask("checked", "it", id));
    const told = await drain(rig.live, "task", taskId);
    assert.deepEqual(callbacksOf(told), ["taskSucceeded", "error"], JSON.stringify(told));
    assert.ok(!JSON.stringify(told).includes("[AVAILABILITY]"));
    assert.equal(told.filter((one) => String(one["reason"]).startsWith("[CRITERIA]")).length, 2);
  });
});

describe("the library on the same host", () => {
  it("keeps no history of what was not started for a server", async (t) => {
    const rig = await makeLive(t, entry, [{ turns: [{ text: "Done." }] }]);
    const { outcome } = await rig.host.runJob("j", {
      userInput: "it",
      workingDirectory: rig.folder,
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(rig.live.jobs, []);
    const { path } = await makeWorkspace(t);
    const [own, id] = await rig.host.helperSessionStart("worker", path);
    assert.equal(rig.live.feed("session", id), undefined);
    await own.stop();
  });
});

/** Live feeds and reporters see streamed text without its secrets, and in the end all of the rest. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Entry } from "../../src/entry/model.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { isDelta } from "../../src/events/session-activity.ts";
import type { LiveResponse } from "../../src/host/feed.ts";
import { JobHost } from "../../src/host/job-host.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { drain as drainSession, taskLog } from "../run/host-rig.ts";
import { callbacksOf, drain, makeLive, parsed, started } from "./live-rig.ts";

const secret = "correct horse battery staple";
const inLines = Buffer.from(`x`.repeat(45) + secret)
  .toString("base64")
  .replaceAll(/.{76}/g, "$&\n");
// The model server streams word by word.
const said = (word: string): string =>
  `${word} one: the phrase is ${secret}.\nIn base64:\n${inLines}\nThat is all, correct horse`;
const shown = (word: string): string =>
  `${word} one: the phrase is ***.\nIn base64:\n${"eHh4".repeat(15)}***\nThat is all, correct horse`;

async function hostWithSecret(t: TestContext) {
  const server = await modelServer(t, () => ({
    reasoning: said("Thought"),
    text: said("Answer"),
  }));
  const events: RunEvent[] = [];
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    environment: { ...process.env, PASSPHRASE: secret },
    reporters: [{ report: (event) => void events.push(event) }],
  });
  t.after(() => host.close());
  await host.installJobsEntry({
    models: { driving: "m" },
    tasks: { t: { model: { category: "driving" }, prompt: ["Go"] } },
    jobs: { job: { work: { kind: "Ref", taskId: "t" } } },
  });
  const { path: folder } = await makeWorkspace(t);
  return { host, folder, events };
}

function assertFeed(responses: readonly LiveResponse[]): void {
  assert.ok(!JSON.stringify(responses).includes(secret));
  for (const [kind, word] of [
    ["Reasoning", "Thought"],
    ["Message", "Answer"],
  ] as const) {
    const pieces = responses.filter(({ callback }) => callback === `on${kind}`);
    const end = responses.findIndex(({ callback }) => callback === `onEnd${kind}`);
    assert.equal(
      pieces.map(({ delta }) => (typeof delta === "string" ? delta : "")).join(""),
      shown(word),
    );
    assert.equal(responses[end]?.["completeContent"], shown(word));
    assert.ok(responses.lastIndexOf(pieces.at(-1) ?? {}) < end, "the rest comes before the end");
    assert.ok(pieces.length > 1, "it does not wait for the end");
  }
}

test("the feed of a lent session, and the events of the task that runs in it", async (t) => {
  const { host, folder, events } = await hostWithSecret(t);
  const [session] = await host.helperSessionStart("m", folder);
  const { callback, ended } = taskLog();
  await host.startTask("t", "", session, true, callback, undefined, folder, () => {});
  await ended;
  assertEvents(events);
  await session.sendRequest("Once more");
  await session.stop();
  const responses = await drainSession(host, session);
  const second = responses.findIndex(({ callback: name }) => name === "onIdle") + 1;
  assertFeed(responses.slice(0, second));
  assertFeed(responses.slice(second));
});

function assertEvents(events: readonly RunEvent[]): void {
  assert.ok(!JSON.stringify(events).includes(secret));
  const acts = events.flatMap((event) => (event.type === "activity" ? [event.activity] : []));
  for (const [kind, word] of [
    ["reasoning", "Thought"],
    ["message", "Answer"],
  ] as const) {
    const ends = acts.findIndex((act) => act.kind === `${kind}.ended`);
    const pieces = acts.flatMap((act, index) =>
      isDelta(act) && act.kind === `${kind}.delta` ? [{ text: act.text, index }] : [],
    );
    const end = acts[ends];
    assert.equal(pieces.map(({ text }) => text).join(""), shown(word));
    assert.equal(end !== undefined && "text" in end ? end.text : "", shown(word));
    assert.ok((pieces.at(-1)?.index ?? 0) < ends);
  }
  assert.deepEqual(
    events.map(({ at }) => at),
    events.map(({ at }) => at).toSorted((a, b) => a - b),
  );
}

const entry: Entry = {
  models: { driving: "driver" },
  tasks: { t: { model: { category: "driving" }, prompt: "$user-input", requireUserInput: true } },
  jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
};

test("no feed, error or state of a server holds a secret", async (t) => {
  const says = { text: `It is ${secret}.`, reasoning: `Should I say ${secret}?` };
  const fails = { replies: [{ error: { status: 400, message: `The key ${secret} is wrong.` } }] };
  const rig = await makeLive(
    t,
    entry,
    [{ task: "t", attempt: 1, turns: [says] }, { turns: [says, fails] }],
    { environment: { PATH: process.env["PATH"], PASSPHRASE: secret } },
  );
  const { jobId } = started(await rig.live.startJob("j", `Say ${secret}.`, rig.folder));
  const job = await drain(rig.live, "job", jobId);
  const taskId = String(job[0]?.["taskId"]);
  const task = await drain(rig.live, "task", taskId);
  const sessions = [String(task[0]?.["sessionId"])];
  const { sessionId } = started(await rig.live.startSession("driver", rig.folder));
  sessions.push(sessionId);
  for (const [prompt, last] of [
    ["one", "onIdle"],
    ["two", "sessionError"],
  ] as const) {
    rig.live.query(sessionId, prompt);
    for (let name = ""; name !== last;) {
      const taken = await rig.live.take("session", sessionId, 60_000);
      assert.ok(taken.kind === "response");
      [name = ""] = callbacksOf([parsed(taken.json)]);
    }
  }
  const shown = JSON.stringify([
    rig.live.jobs,
    job,
    task,
    ...sessions.map((id) => rig.live.feed("session", id)?.read(0)),
    rig.live.feed("journal", jobId)?.read(0),
  ]);
  assert.ok(!shown.includes(secret));
  assert.ok(shown.includes("It is ***.") && shown.includes("The key *** is wrong."));
  assert.ok(shown.includes("Say ***."));
});

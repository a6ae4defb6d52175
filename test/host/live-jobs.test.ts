/** Jobs as a server sees them: their feeds, those of their tasks and sessions, and their states. */
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Entry, Task, Work } from "../../src/entry/model.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { readFile } from "node:fs/promises";
import { ref } from "../rig/engine.ts";
import { until } from "../sessions/rig.ts";
import {
  callbacksOf,
  drain,
  LaterClock,
  makeLive,
  nameOf,
  parsed,
  started,
  type LiveRig,
} from "./live-rig.ts";

const model = { category: "work" };
const plain: Task = { model, prompt: "Work." };
const entryOf = (tasks: Entry["tasks"], work: Work): Entry => ({
  models: { driving: "driver", work: "worker" },
  tasks,
  jobs: { j: { work } },
});
const done = { repeat: "any", turns: [{ text: "Done." }] };
const hanging = { repeat: "any", turns: [{ replies: [{ hang: true }] }] };

async function run(rig: LiveRig): Promise<string> {
  return started(await rig.live.startJob("j", undefined, rig.folder)).jobId;
}

async function story(rig: LiveRig, jobId: string): Promise<string[]> {
  return (await drain(rig.live, "job", jobId)).map((one) => {
    switch (one["callback"]) {
      case "workStarted":
        return `${String(one["workId"])} started`;
      case "workStopped":
        return `${String(one["workId"])} ${one["succeeded"] === true ? "succeeded" : "failed"}`;
      default:
        return nameOf(one);
    }
  });
}

/** The live ids of the tasks of a job, as it starts them. */
function startsOf(rig: LiveRig, jobId: string): string[] {
  const items = rig.live.feed("job", jobId)?.read(0) ?? [];
  return items
    .map(({ json }) => parsed(json))
    .filter((one) => one["callback"] === "workStarted")
    .map((one) => String(one["taskId"]));
}

describe("a job of a server", () => {
  it("fails if a task is stopped that is a condition: that is no answer", async (t) => {
    const [condition, other] = [ref("t"), ref("u")];
    const work: Work = { kind: "Alt", condition, trueWork: other, falseWork: other };
    const rig = await makeLive(t, entryOf({ t: plain, u: plain }, work), [
      { ...hanging, task: "t" },
      { ...done, task: "u" },
    ]);
    const jobId = await run(rig);
    await until(() => startsOf(rig, jobId).length > 0, "the task has started");
    const id = rig.live.job(jobId)?.tasks[0]?.taskId ?? "";
    assert.equal(rig.live.stopTask(id), undefined);
    const told = await story(rig, jobId);
    assert.deepEqual(
      told.filter((one) => !/started|error/.test(one)),
      ["0 failed", "jobFailed"],
    );
    const task = await drain(rig.live, "task", id);
    assert.deepEqual(callbacksOf(task).slice(-2), ["taskFailed", "error"]);
    assert.match(JSON.stringify(task), /stopped by the caller/);
    assert.equal(rig.live.stopTask(id)?.reason, "TaskNotFound");
    assert.deepEqual(
      [rig.live.job(jobId)?.status, rig.live.job(jobId)?.tasks[0]?.status],
      ["Failed", "Failed"],
    );
  });

  it("has a feed for each item of an Each, also of items that run at the same time", async (t) => {
    const work: Work = {
      kind: "Each",
      items: { values: ["a", "b"] },
      work: ref("t"),
      parallel: true,
    };
    const rig = await makeLive(t, entryOf({ t: plain }, work), [done]);
    const jobId = await run(rig);
    const told = await story(rig, jobId);
    assert.deepEqual(told.slice(0, 2), ["0 started", "0 started"]);
    const ids = startsOf(rig, jobId);
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) {
      const task = callbacksOf(await drain(rig.live, "task", id));
      assert.deepEqual(task.filter((name) => name === "taskSucceeded").length, 1, task.join());
    }
  });

  it("gives every event of its run in its journal feed, deltas included, and writes its journal", async (t) => {
    const { path } = await makeWorkspace(t);
    const journals = join(path, "journals");
    const entry = entryOf({ t: plain }, ref("t"));
    const named: Entry = { ...entry, jobs: { "../a b/c": entry.jobs["j"] ?? { work: ref("t") } } };
    const rig = await makeLive(t, named, [done], { journals });
    const { jobId } = started(await rig.live.startJob("../a b/c", undefined, rig.folder));
    const events = await drain(rig.live, "journal", jobId);
    assert.deepEqual([events[0]?.["type"], events.at(-2)?.["type"]], ["run.started", "run.ended"]);
    assert.ok(events.slice(0, -1).every((event) => event["runId"] === jobId));
    assert.match(JSON.stringify(events), /message\.delta/);
    const [name, ...others] = await readdir(journals);
    assert.deepEqual(others, []);
    assert.match(name ?? "", new RegExp(`^a-b-c-\\d{4}-\\d\\d-\\d\\dT\\d{6}Z-${jobId}\\.jsonl$`));
    const { events: written, problems } = parseJournal(
      await readFile(join(journals, name ?? ""), "utf8"),
    );
    assert.deepEqual(problems, []);
    assert.equal(written.at(-1)?.type, "run.ended");
  });

  it("runs without a journal if it can't be written", async (t) => {
    const { path } = await makeWorkspace(t);
    await writeFile(join(path, "file"), "");
    const warned: string[] = [];
    const onWarning = ({ message }: Error): void => void warned.push(message);
    process.on("warning", onWarning);
    t.after(() => process.off("warning", onWarning));
    const rig = await makeLive(t, entryOf({ t: plain }, ref("t")), [done], {
      journals: join(path, "file", "journals"),
    });
    const told = await story(rig, await run(rig));
    assert.deepEqual(told.slice(-2), ["jobSucceeded", "error"]);
    await until(() => warned.some((message) => message.includes("journal")), "it is reported");
  });
});

describe("the history of a server", () => {
  it("keeps jobs, their tasks and sessions for an hour after their end, and their files no longer", async (t) => {
    const clock = new LaterClock();
    const long = { repeat: "any", turns: [{ text: "x".repeat(600_000) }] };
    const rig = await makeLive(t, entryOf({ t: plain }, ref("t")), [long], { clock });
    const jobId = await run(rig);
    const job = await drain(rig.live, "job", jobId);
    const taskId = String(job[0]?.["taskId"]);
    const task = await drain(rig.live, "task", taskId);
    const sessionId = String(task[0]?.["sessionId"]);
    assert.ok((await readdir(rig.feeds)).length > 0, "long feeds are in files");
    const session = await drain(rig.live, "session", sessionId);
    assert.ok(session.some((one) => String(one["completeContent"]).length === 600_000));
    clock.later = 59 * 60_000;
    assert.equal(rig.live.jobs.length, 1);
    assert.ok(rig.live.feed("task", taskId) !== undefined);
    clock.later = 61 * 60_000;
    assert.deepEqual(rig.live.jobs, []);
    assert.equal(rig.live.job(jobId), undefined);
    for (const [kind, id] of [
      ["task", taskId],
      ["session", sessionId],
      ["journal", jobId],
    ] as const)
      assert.equal(rig.live.feed(kind, id), undefined);
    assert.deepEqual(await readdir(rig.feeds), []);
  });
});

describe("a rehearsal on a server", () => {
  it("starts anew with each run, in a copy of the folder of that run", async (t) => {
    const made = { path: "${workingDirectory}/made.txt", file_text: "made" };
    const writes = { tools: [{ name: "create", arguments: made }] };
    const looks = { tools: [{ name: "view", arguments: { path: "${workingDirectory}/of.txt" } }] };
    const rule = {
      task: "t",
      turns: [{ replies: [looks, { toolResults: "this run", ...writes }, { text: "Done." }] }],
    };
    for (const inPlace of [false, true]) {
      const rig = await makeLive(t, entryOf({ t: plain }, ref("t")), [rule], {
        permissions: "workspace",
        inPlace,
      });
      const folders = ["a", "b"].map((name) => join(rig.folder, name));
      for (const folder of folders) {
        await mkdir(folder);
        await writeFile(join(folder, "of.txt"), "this run\n");
      }
      const ids = await Promise.all(folders.map((folder) => run({ ...rig, folder })));
      for (const id of ids) assert.equal((await story(rig, id)).at(-2), "jobSucceeded");
      const events = await drain(rig.live, "journal", ids[0] ?? "");
      assert.equal(events[0]?.["workingDirectory"] === folders[0], inPlace);
      for (const folder of folders)
        assert.equal((await readdir(folder)).includes("made.txt"), inPlace);
      await rig.host.close();
      const copy = String(events[0]?.["workingDirectory"]);
      if (!inPlace) await assert.rejects(readdir(copy), /ENOENT/);
    }
  });

  it("works in a new workspace in each run, if it has one", async (t) => {
    const view = { name: "view", arguments: { path: "${workingDirectory}/made.txt" } };
    const replies = [{ tools: [view] }, { toolResults: "by the script", text: "Done." }];
    const rule = { repeat: 1, turns: [{ replies }] };
    const rig = await makeLive(t, entryOf({ t: plain }, ref("t")), [rule], {
      script: { workspace: { files: { "made.txt": "by the script" } } },
    });
    for (let count = 0; count < 2; count += 1)
      assert.equal((await story(rig, await run(rig))).at(-2), "jobSucceeded");
    const { sessionId } = started(await rig.live.startSession("worker", rig.folder));
    rig.live.query(sessionId, "Look.");
    const session = rig.live.feed("session", sessionId);
    await until(() => JSON.stringify(session?.read(0)).includes("onIdle"), "it has answered");
    assert.match(JSON.stringify(session?.read(0)), /by the script/);
    assert.doesNotMatch(JSON.stringify(session?.read(0)), /sessionError/);
  });

  it("waits for actions before it replies, in a job and in a borrowed session", async (t) => {
    const entry: Entry = {
      ...entryOf({ t: { ...plain, protocol: "actions" } }, ref("t")),
      permissions: { tools: ["echo"] },
      tools: {
        echo: {
          description: "Says it.",
          parameters: { type: "object" },
          command: [process.execPath, "-e", "console.log('the echo')"],
        },
      },
    };
    const action = { action_id: "a", action: "echo", type: "tool", params: {}, execution: "ASYNC" };
    const turns = [
      { document: { actions: [action] } },
      { after: "a", document: { stop: false } },
      { prompt: "the echo", document: { response: "Heard." } },
    ];
    const rig = await makeLive(t, entry, [{ task: "t", turns }, { turns: ["Hello."] }]);
    assert.equal((await story(rig, await run(rig))).at(-2), "jobSucceeded");
    const { sessionId } = started(await rig.live.startSession("worker", rig.folder));
    const { taskId } = started(rig.live.startTask("t", "", sessionId));
    assert.match(JSON.stringify(await drain(rig.live, "task", taskId)), /taskSucceeded/);
  });

  it("gives its models and limits to the runs, and the options of the host come first", async (t) => {
    const rule = { model: "third", turns: [{ text: "Done." }] };
    const rig = await makeLive(t, entryOf({ t: plain }, ref("t")), [rule], {
      models: { work: "third" },
      script: { models: { work: "second" }, limits: { parallel: 3 } },
    });
    const jobId = await run(rig);
    assert.equal((await story(rig, jobId)).at(-2), "jobSucceeded");
    const [plan] = await drain(rig.live, "journal", jobId);
    assert.match(
      JSON.stringify(plan?.["limits"]),
      /"parallel":\{"value":3,"source":"limits.parallel of/,
    );
  });
});

/** Jobs as a server sees them: their feeds, those of their tasks and sessions, and their states. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Task, Work } from "../../src/entry/model.ts";
import { drain, makeLive, started, type LiveRig } from "./live-rig.ts";

const model = { category: "work" };
const plain: Task = { model, prompt: "Work." };
const ref = (taskId: string): Work => ({ kind: "Ref", taskId });
const entryOf = (tasks: Entry["tasks"], work: Work): Entry => ({
  models: { driving: "driver", work: "worker" },
  tasks,
  jobs: { j: { work } },
});

async function run(rig: LiveRig, jobName = "j"): Promise<string> {
  return started(await rig.live.startJob(jobName, undefined, rig.folder)).jobId;
}

describe("a job of a server", () => {
  it("responds in order, each task under a live id of its own", async (t) => {
    const entry = entryOf(
      { t: plain, u: plain },
      { kind: "Seq", works: [ref("t"), { kind: "Par", works: [ref("u"), ref("t")] }] },
    );
    const rig = await makeLive(t, entry, [{ repeat: "any", turns: [{ text: "Done." }] }]);
    const jobId = await run(rig);
    assert.equal(rig.live.job(jobId)?.status, "Running");
    const job = await drain(rig.live, "job", jobId);
    assert.deepEqual(job.slice(-2), [{ callback: "jobSucceeded" }, { error: "closed" }]);
    assert.deepEqual(
      job.slice(0, 2).map(({ callback, workId }) => [callback, workId]),
      [
        ["workStarted", 0],
        ["workStopped", 0],
      ],
    );
    assert.deepEqual(job[1], { callback: "workStopped", workId: 0, succeeded: true });
    const ids = job.filter((one) => one["callback"] === "workStarted").map((one) => one["taskId"]);
    assert.equal(new Set(ids).size, 3);
    const state = rig.live.job(jobId);
    assert.deepEqual(
      state?.tasks.map(({ workIdInJob, status }) => [workIdInJob, status]),
      [
        [0, "Succeeded"],
        [1, "Succeeded"],
        [2, "Succeeded"],
      ],
    );
    assert.equal(state?.tasks[0]?.taskId, ids[0]);
    for (const id of ids) {
      assert.match(String(id), /^task-/);
      const task = await drain(rig.live, "task", String(id));
      const sessionId = String(task[0]?.["sessionId"]);
      assert.deepEqual(task[0], {
        callback: "taskSessionStarted",
        taskId: sessionId,
        isDrivingSession: true,
        sessionId,
        isDriving: true,
      });
      const stopped = { callback: "taskSessionStopped", taskId: sessionId, sessionId };
      assert.deepEqual(task.filter((one) => one["callback"] !== "taskDecision").slice(1), [
        { ...stopped, succeeded: true },
        { callback: "taskSucceeded" },
        { error: "closed" },
      ]);
      const session = await drain(rig.live, "session", sessionId);
      assert.deepEqual(session[0], { callback: "onGeneratedUserPrompt", prompt: "Work." });
      assert.ok(session.some((one) => one["callback"] === "onEndMessage"));
      assert.deepEqual(session.slice(-2), [{ callback: "onIdle" }, { error: "closed" }]);
    }
    assert.equal((await rig.live.take("job", jobId, 0)).kind, "gone");
  });
});

/** Works as a client sees it in the feed of the job: what starts and stops, in which order, and how it ends. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { alt, entryOf, jobFeed, loop, par, ref, seq, sessions } from "../rig/server-fixtures.ts";

const [ok, fails, crashes] = [ref("ok"), ref("fails"), ref("crashes")];
const first = ref("first");

/** `0 ok`: work 0 starts and succeeds. `0 fails`: it starts and fails. */
function each(...runs: readonly string[]): string[] {
  return runs.flatMap((run) => {
    const [id, fate] = run.split(" ");
    return [`${id} started`, `${id} ${fate === "ok" ? "succeeded" : "failed"}`];
  });
}

/** Name → the work, and its feed in short, in which a crash is `crash`. */
const inOrder: Readonly<Record<string, readonly [Answer, readonly string[]]>> = {
  "a Seq whose middle work fails": [seq(ok, fails, ok), [...each("0 ok", "1 fails"), "jobFailed"]],
  "an Alt whose condition fails": [
    alt(fails, ok, ok),
    [...each("0 fails", "2 ok"), "jobSucceeded"],
  ],
  "a Loop whose postcondition crashes": [
    loop(ok, { postCondition: [true, crashes] }),
    [...each("0 ok", "1 fails"), "crash", "jobFailed"],
  ],
  "a Loop with both conditions, which the precondition ends": [
    loop(ok, { preCondition: [true, first], postCondition: [true, ok] }),
    [...each("0 ok", "1 ok", "2 ok", "0 fails"), "jobSucceeded"],
  ],
  "a task that needs another previous task": [
    seq(ok, ref("afterFails")),
    [...each("0 ok", "1 fails"), "jobFailed"],
  ],
  "a task whose condition of availability is answered no": [
    seq(ref("notReady"), ok),
    [...each("0 fails"), "jobFailed"],
  ],
  "a Loop in an Alt in a Seq": [
    seq(ok, alt(fails, ok, loop(ok, { postCondition: [true, first] })), ok),
    [...each("0 ok", "1 fails", "3 ok", "4 ok", "3 ok", "4 fails", "5 ok"), "jobSucceeded"],
  ],
};

/** Name → the work, the fate of each work that starts, and the end. */
const inParallel: Readonly<Record<string, readonly [Answer, readonly string[], string]>> = {
  "a Par of which one fails while another takes longer": [
    par(fails, ref("slow")),
    ["0 fails", "1 ok"],
    "jobFailed",
  ],
  "a Par as a condition": [
    alt(par(ok, fails), ok, ok),
    ["0 ok", "1 fails", "3 ok"],
    "jobSucceeded",
  ],
};

const works = { ...inOrder, ...inParallel };
const server = await startServer({
  entry: entryOf(Object.fromEntries(Object.entries(works).map(([name, [work]]) => [name, work]))),
  sessions,
});
after(() => server.stop());

describe("the feed of a job reports", { concurrency: 4 }, () => {
  for (const [name, [, lines]] of Object.entries(inOrder)) {
    it(name, async () => {
      const { job, tasks } = await server.runJob(name);
      const crash = job.find((one) => "jobError" in one);
      assert.deepEqual(
        job,
        jobFeed(lines, job).map((one) => (one["callback"] === "crash" ? crash : one)),
      );
      if (crash !== undefined) {
        assert.deepEqual(Object.keys(crash), ["jobError"]);
        assert.match(String(crash["jobError"]), /a bad request/);
      }
      checkTasks(job, tasks);
    });
  }

  for (const [name, [, fates, end]] of Object.entries(inParallel)) {
    it(name, async () => {
      const { job, tasks } = await server.runJob(name);
      assert.deepEqual(job.at(-1), { callback: end });
      const sorted = (feed: readonly Answer[]): string[] =>
        feed.map((one) => JSON.stringify({ ...one, taskId: undefined })).sort();
      assert.deepEqual(sorted(job), sorted(jobFeed([...each(...fates), end], [])));
      for (const fate of fates) {
        const id = Number(fate.split(" ")[0]);
        const own = job.filter((one) => one["workId"] === id).map((one) => one["callback"]);
        assert.deepEqual(own, ["workStarted", "workStopped"]);
      }
      checkTasks(job, tasks);
    });
  }
});

/** Each work that started has a task of its own, whose feed ends as the work does. */
function checkTasks(job: readonly Answer[], tasks: ReadonlyMap<string, readonly Answer[]>): void {
  const open = new Map<unknown, string>();
  const ends = new Map<string, string>();
  for (const { callback, workId, taskId, succeeded } of job) {
    if (callback === "workStarted") open.set(workId, String(taskId));
    if (callback !== "workStopped") continue;
    const id = open.get(workId) ?? "";
    assert.match(id, /^task-/);
    open.delete(workId);
    ends.set(id, succeeded === true ? "taskSucceeded" : "taskFailed");
  }
  assert.equal(open.size, 0, "a work that started has not stopped");
  const last = [...tasks].map(([id, feed]) => [id, feed.at(-1)?.["callback"]] as const);
  assert.deepEqual(new Map(last), ends);
}

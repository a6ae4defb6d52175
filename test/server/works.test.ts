/** Every kind of work as a client sees it in the feed of the job: what starts and stops, in which order, and how it ends. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import { alt, entryOf, jobFeed, loop, par, ref, seq, sessions } from "../rig/server-fixtures.ts";

const [ok, fails, crashes] = [ref("ok"), ref("fails"), ref("crashes")];
const [first, later] = [ref("first"), ref("later")];

/** `0 ok`: work 0 starts and succeeds. `0 fails`: it starts and fails. */
function each(...runs: readonly string[]): string[] {
  return runs.flatMap((run) => {
    const [id, fate] = run.split(" ");
    return [`${id} started`, `${id} ${fate === "ok" ? "succeeded" : "failed"}`];
  });
}

/** Name → the work, and its feed in short, in which a crash is `crash`. */
const inOrder: Readonly<Record<string, readonly [Answer, readonly string[]]>> = {
  "a task that succeeds": [ok, [...each("0 ok"), "jobSucceeded"]],
  "a task that fails": [fails, [...each("0 fails"), "jobFailed"]],
  "a task that crashes": [crashes, [...each("0 fails"), "crash", "jobFailed"]],

  "a Seq of one work": [seq(ok), [...each("0 ok"), "jobSucceeded"]],
  "a Seq that succeeds": [seq(ok, ok, ok), [...each("0 ok", "1 ok", "2 ok"), "jobSucceeded"]],
  "a Seq whose first work fails": [seq(fails, ok, ok), [...each("0 fails"), "jobFailed"]],
  "a Seq whose middle work fails": [seq(ok, fails, ok), [...each("0 ok", "1 fails"), "jobFailed"]],
  "a Seq whose last work fails": [seq(ok, fails), [...each("0 ok", "1 fails"), "jobFailed"]],
  "a Seq whose first work crashes": [seq(crashes, ok), [...each("0 fails"), "crash", "jobFailed"]],
  "a Seq in a Seq that fails": [
    seq(ok, seq(ok, fails, ok), ok),
    [...each("0 ok", "1 ok", "2 fails"), "jobFailed"],
  ],

  "an Alt whose condition succeeds": [alt(ok, ok, ok), [...each("0 ok", "1 ok"), "jobSucceeded"]],
  "an Alt whose condition fails": [
    alt(fails, ok, ok),
    [...each("0 fails", "2 ok"), "jobSucceeded"],
  ],
  "an Alt whose condition succeeds, without a true branch": [
    alt(ok, undefined, fails),
    [...each("0 ok"), "jobSucceeded"],
  ],
  "an Alt whose condition fails, without a false branch": [
    alt(fails, fails),
    [...each("0 fails"), "jobSucceeded"],
  ],
  "an Alt without branches whose condition succeeds": [alt(ok), [...each("0 ok"), "jobSucceeded"]],
  "an Alt without branches whose condition fails": [
    alt(fails),
    [...each("0 fails"), "jobSucceeded"],
  ],
  "an Alt whose true branch fails": [alt(ok, fails, ok), [...each("0 ok", "1 fails"), "jobFailed"]],
  "an Alt whose false branch fails": [
    alt(fails, ok, fails),
    [...each("0 fails", "2 fails"), "jobFailed"],
  ],
  "an Alt whose condition crashes": [
    alt(crashes, ok, ok),
    [...each("0 fails"), "crash", "jobFailed"],
  ],
  "an Alt whose condition is a Seq that fails": [
    alt(seq(ok, fails), ok, ok),
    [...each("0 ok", "1 fails", "3 ok"), "jobSucceeded"],
  ],

  "a Loop without conditions": [loop(ok), [...each("0 ok"), "jobSucceeded"]],
  "a Loop whose body fails": [loop(fails), [...each("0 fails"), "jobFailed"]],
  "a Loop whose body crashes": [loop(crashes), [...each("0 fails"), "crash", "jobFailed"]],
  "a Loop whose precondition must succeed, and fails at once": [
    loop(ok, { preCondition: [true, fails] }),
    [...each("0 fails"), "jobSucceeded"],
  ],
  "a Loop whose precondition must succeed, and does": [
    loop(ok, { preCondition: [true, ok] }),
    [...each("0 ok", "1 ok"), "jobSucceeded"],
  ],
  "a Loop whose precondition must fail, and does": [
    loop(ok, { preCondition: [false, fails] }),
    [...each("0 fails", "1 ok"), "jobSucceeded"],
  ],
  "a Loop whose precondition must fail, and succeeds": [
    loop(ok, { preCondition: [false, ok] }),
    [...each("0 ok"), "jobSucceeded"],
  ],
  "a Loop whose precondition crashes": [
    loop(ok, { preCondition: [false, crashes] }),
    [...each("0 fails"), "crash", "jobFailed"],
  ],
  "a Loop whose postcondition succeeds once": [
    loop(ok, { postCondition: [true, first] }),
    [...each("0 ok", "1 ok", "0 ok", "1 fails"), "jobSucceeded"],
  ],
  "a Loop whose postcondition fails once": [
    loop(ok, { postCondition: [false, later] }),
    [...each("0 ok", "1 fails", "0 ok", "1 ok"), "jobSucceeded"],
  ],
  "a Loop whose postcondition crashes": [
    loop(ok, { postCondition: [true, crashes] }),
    [...each("0 ok", "1 fails"), "crash", "jobFailed"],
  ],
  "a Loop whose body fails in its second iteration": [
    loop(first, { postCondition: [true, ok] }),
    [...each("0 ok", "1 ok", "0 fails"), "jobFailed"],
  ],
  "a Loop with both conditions, which the precondition ends": [
    loop(ok, { preCondition: [true, first], postCondition: [true, ok] }),
    [...each("0 ok", "1 ok", "2 ok", "0 fails"), "jobSucceeded"],
  ],
  "a Loop with both conditions, which the postcondition ends": [
    loop(ok, { preCondition: [true, ok], postCondition: [false, later] }),
    [...each("0 ok", "1 ok", "2 fails", "0 ok", "1 ok", "2 ok"), "jobSucceeded"],
  ],

  "a task that runs after one of its previous tasks": [
    seq(ok, ref("afterOk")),
    [...each("0 ok", "1 ok"), "jobSucceeded"],
  ],
  "a task that needs a previous task, and is the first": [
    seq(ref("afterOk"), ok),
    [...each("0 fails"), "jobFailed"],
  ],
  "a task that needs another previous task": [
    seq(ok, ref("afterFails")),
    [...each("0 ok", "1 fails"), "jobFailed"],
  ],
  "a task that repairs what failed before it": [
    alt(fails, ok, ref("afterFails")),
    [...each("0 fails", "2 ok"), "jobSucceeded"],
  ],
  "a task whose condition of availability is answered yes": [
    ref("ready"),
    [...each("0 ok"), "jobSucceeded"],
  ],
  "a task whose condition of availability is answered no": [
    seq(ref("notReady"), ok),
    [...each("0 fails"), "jobFailed"],
  ],

  "a Loop in an Alt in a Seq": [
    seq(ok, alt(fails, ok, loop(ok, { postCondition: [true, first] })), ok),
    [...each("0 ok", "1 fails", "3 ok", "4 ok", "3 ok", "4 fails", "5 ok"), "jobSucceeded"],
  ],
  "an Alt in a Loop, which takes both ways": [
    loop(alt(first, ok, ok), { postCondition: [false, later] }),
    [...each("0 ok", "1 ok", "3 fails", "0 fails", "2 ok", "3 ok"), "jobSucceeded"],
  ],
  "a failure deep inside": [
    seq(ok, alt(ok, loop(seq(ok, fails)), ok), ok),
    [...each("0 ok", "1 ok", "2 ok", "3 fails"), "jobFailed"],
  ],
};

/** Name → the work, the fate of each work that starts, and the end. */
const inParallel: Readonly<Record<string, readonly [Answer, readonly string[], string]>> = {
  "a Par that succeeds": [par(ok, ok, ok), ["0 ok", "1 ok", "2 ok"], "jobSucceeded"],
  "a Par whose first work fails": [par(fails, ok, ok), ["0 fails", "1 ok", "2 ok"], "jobFailed"],
  "a Par whose last work fails": [par(ok, ok, fails), ["0 ok", "1 ok", "2 fails"], "jobFailed"],
  "a Par of which one fails while another takes longer": [
    par(fails, ref("slow")),
    ["0 fails", "1 ok"],
    "jobFailed",
  ],
  "a Par whose works all fail": [par(fails, fails), ["0 fails", "1 fails"], "jobFailed"],
  "a Par in a Par": [par(ok, par(ok, fails)), ["0 ok", "1 ok", "2 fails"], "jobFailed"],
  "a Par as a condition": [
    alt(par(ok, fails), ok, ok),
    ["0 ok", "1 fails", "3 ok"],
    "jobSucceeded",
  ],
  "a Par of Seqs, of which one fails": [
    par(seq(fails, ok), seq(ok, ok)),
    ["0 fails", "2 ok", "3 ok"],
    "jobFailed",
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

/** `copilot/job…`: what is listed, started, followed, asked about, and stopped at each stage. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { named, recordOf, type Answer } from "../rig/answer.ts";
import { startCli, type CliResult } from "../rig/cli.ts";
import { startServer } from "../rig/server.ts";
import {
  alt,
  jobFeed,
  loop,
  models,
  par,
  ref,
  seq,
  sessions,
  tasks,
} from "../rig/server-fixtures.ts";

const [ok, hangs] = [ref("ok"), ref("hangs")];
const everything = seq(
  ok,
  alt(ref("fails"), par(ok, ok), loop(ok, { postCondition: [false, ok] })),
  loop(par(seq(ok, ok), alt(ok, ok)), { preCondition: [true, ref("fails")] }),
);

const works: Readonly<Record<string, Answer>> = {
  ok,
  two: seq(ok, ref("fails"), ok),
  everything,
  asks: ref("asks"),
  hangs: seq(ok, hangs, ok),
  hangsInPar: par(hangs, ok, seq(hangs, ok)),
  crashes: loop(ok, { postCondition: [true, ref("crashes")] }),
};
/** The feed of the job `two`. */
const ofTwo = ["0 started", "0 succeeded", "1 started", "1 failed", "jobFailed"];
/** The work of `two`, as it is prepared. */
const numbered = seq(
  ...["ok", "fails", "ok"].map((id, workIdInJob) => ({ ...ref(id), workIdInJob })),
);
const grid = [
  { keyword: "one", jobs: [{ name: "go", jobName: "ok" }, null] },
  { keyword: "two", jobs: [{ name: "all", jobName: "everything" }] },
];

const server = await startServer({
  entry: {
    models,
    tasks: {
      ...tasks,
      asks: { model: { category: "driving" }, prompt: "Do $user-input.", requireUserInput: true },
    },
    jobs: Object.fromEntries(Object.entries(works).map(([name, work]) => [name, { work }])),
    grid,
  },
  sessions: [
    { task: "asks", turns: [{ prompt: { equals: "Do a dance\non two lines." }, text: "Done." }] },
    ...sessions,
  ],
});
after(() => server.stop());

describe("copilot/job", () => {
  it("gives the grid, the jobs as prepared, and their charts", async () => {
    const answer = await server.get("copilot/job");
    assert.deepEqual(Object.keys(answer).sort(), ["chart", "grid", "jobs"]);
    assert.deepEqual(answer["grid"], grid);
    for (const field of ["jobs", "chart"])
      assert.deepEqual(Object.keys(Object(answer[field])), Object.keys(works));
    assert.deepEqual(Object(answer["jobs"]).two, { requireUserInput: false, work: numbered });
    assert.deepEqual(Object(answer["chart"]).ok, {
      nodes: [{ id: 0, hint: ["TaskNode", 0], label: "ok" }],
    });
  });
});

describe("copilot/job/start", () => {
  it("needs an absolute working directory that exists, in the first line", async () => {
    const start = (body: string): Promise<Answer> => server.post("copilot/job/start/ok", body);
    for (const body of ["", "work", "work\n", `\n${server.workingDirectory}`])
      assert.deepEqual(await start(body), { error: "WorkingDirectoryNotAbsolutePath" });
    for (const name of ["nowhere", "server.rehearsal.json"]) {
      const body = `${join(server.folder, name)}\ninput`;
      assert.deepEqual(await start(body), { error: "WorkingDirectoryNotExists" });
    }
  });

  it("passes on the lines after the first as the user's input, also with the line ends of Windows", async () => {
    const workingDirectory = server.workingDirectory;
    const userInput = "a dance\non two lines";
    const { jobId } = await server.post(
      "copilot/job/start/asks",
      `${workingDirectory}\r\n${userInput}`,
    );
    const { job } = await server.follow(String(jobId));
    assert.deepEqual(job.at(-1), { callback: "jobSucceeded" });
    const recent = listIn(await server.get("copilot/job/recent"), "jobs");
    const own = recent.find((one) => one["jobId"] === jobId);
    const { startTime, endTime, tasks: shown, ...run } = own ?? assert.fail("it is not there");
    const facts = { jobId, jobName: "asks", status: "Succeeded", workingDirectory, userInput };
    assert.deepEqual(run, facts);
    for (const time of [startTime, endTime])
      assert.equal(new Date(String(time)).toISOString(), time);
    assert.ok(String(startTime) <= String(endTime));
    assert.match(JSON.stringify(shown), /"status":"Succeeded"/);
  });

  it("refuses a job that needs input and gets none", async () => {
    for (const body of [server.workingDirectory, `${server.workingDirectory}\n`]) {
      const response = await server.request("copilot/job/start/asks", { method: "POST", body });
      assert.equal(response.status, 400);
      const answer = recordOf(await response.text());
      assert.deepEqual(Object.keys(answer).sort(), ["error", "reason"]);
      assert.equal(answer["error"], "UserInputRequired");
    }
  });

  it("runs the same job several times at once", async () => {
    const ids = await Promise.all([1, 2, 3].map(() => server.startJob("two")));
    assert.equal(new Set(ids).size, 3);
    const feeds = await Promise.all(ids.map((id) => server.follow(id)));
    for (const { job } of feeds) assert.deepEqual(job, jobFeed(ofTwo, job));
    const taskIds = feeds.flatMap(({ tasks: started }) => [...started.keys()]);
    assert.equal(new Set(taskIds).size, 6, "ids of tasks are used once");
  });

  it("gives the error of a crash, and to each work a task whose feed ends as it does", async () => {
    const { job, tasks: feeds } = await server.runJob("crashes");
    const crash = job.find((one) => "jobError" in one) ?? {};
    assert.deepEqual(Object.keys(crash), ["jobError"]);
    assert.match(String(crash["jobError"]), /a bad request/);
    const expected = jobFeed(ofTwo, job);
    assert.deepEqual(job, [...expected.slice(0, -1), crash, ...expected.slice(-1)]);
    assert.deepEqual(
      [...feeds.values()].map((feed) => feed.at(-1)?.["callback"]),
      ["taskSucceeded", "taskFailed"],
    );
  });
});

describe("copilot/job/{job-id}/stop", { concurrency: true }, () => {
  const stages: Readonly<Record<string, readonly [hanging: readonly number[], before: string[]]>> =
    {
      hangs: [[1], ["0 started", "0 succeeded", "1 started"]],
      hangsInPar: [[0, 2], []],
    };
  for (const [name, [hanging, before]] of Object.entries(stages)) {
    it(`reports every running work as stopped, then jobCanceled: ${name}`, async () => {
      const jobId = await server.startJob(name);
      const feed = `copilot/job/${jobId}`;
      const started = new Set<unknown>();
      const first = await server.takeUntil(feed, (one) => {
        if (one["callback"] === "workStarted") started.add(one["workId"]);
        return hanging.every((id) => started.has(id));
      });
      if (before.length > 0) assert.deepEqual(first, jobFeed(before, first));
      await server.close(feed);
      const rest = await server.drain(feed);
      assert.deepEqual(rest.at(-1), { callback: "jobCanceled" });
      const all = [...first, ...rest];
      const stopped = named(all, "workStopped");
      assert.deepEqual(new Set(stopped.map((one) => one["workId"])), started);
      for (const { workId, succeeded } of stopped)
        if (hanging.includes(Number(workId))) assert.equal(succeeded, false);
      // Every task has a feed that ends.
      for (const { taskId } of all.filter((one) => "taskId" in one))
        await server.drain(`copilot/task/${String(taskId)}`);
      assert.deepEqual(await server.post(`${feed}/stop`), { error: "JobNotFound" });
      assert.equal((await server.get(`${feed}/status`))["status"], "Canceled");
    });
  }

  it("stops a job right after its start", async () => {
    const jobId = await server.startJob("hangs");
    const feed = `copilot/job/${jobId}`;
    await server.close(feed);
    const all = await server.drain(feed);
    assert.deepEqual(all.at(-1), { callback: "jobCanceled" });
    assert.equal(named(all, "workStarted").length, named(all, "workStopped").length);
  });
});

describe("copilot/job/running and copilot/job/{job-id}/status", { concurrency: true }, () => {
  it("show a job that runs, with its tasks", async () => {
    const jobId = await server.startJob("hangs");
    const feed = `copilot/job/${jobId}`;
    const taken = await server.takeUntil(feed, (one) => one["workId"] === 1);
    const taskIds = taken.filter((one) => "taskId" in one).map((one) => one["taskId"]);
    const status = await server.get(`${feed}/status`);
    const { startTime } = status;
    assert.equal(new Date(String(startTime)).toISOString(), startTime);
    const job = { jobId, jobName: "hangs", startTime, status: "Running" };
    assert.deepEqual(status, {
      ...job,
      tasks: [
        { workIdInJob: 0, taskId: taskIds[0], status: "Succeeded" },
        { workIdInJob: 1, taskId: taskIds[1], status: "Running" },
        { workIdInJob: 2, status: "Waiting" },
      ],
    });
    assert.deepEqual(await listed(jobId), job);
    await server.close(feed);
    await server.drain(feed);
    assert.deepEqual(await listed(jobId), { ...job, status: "Canceled" });
    const ended = await server.get(`${feed}/status`);
    assert.deepEqual(
      listIn(ended, "tasks").map((one) => one["status"]),
      ["Succeeded", "Canceled", "Skipped"],
    );
  });

  it("show a job that has ended", async () => {
    const jobId = await server.startJob("two");
    await server.follow(jobId);
    const { status, tasks: shown } = await server.get(`copilot/job/${jobId}/status`);
    assert.ok(Array.isArray(shown));
    assert.deepEqual(
      [status, ...shown.map((one) => one.status)],
      ["Failed", "Succeeded", "Failed", "Skipped"],
    );
    assert.equal((await listed(jobId))?.["status"], "Failed");
  });

  it("name the task of the last iteration of a work in a loop", async () => {
    const jobId = await server.startJob("everything");
    const { job } = await server.follow(jobId);
    const last = new Map(job.filter((one) => "taskId" in one).map((one) => [one["workId"], one]));
    const status = await server.get(`copilot/job/${jobId}/status`);
    const shown = listIn(status, "tasks");
    assert.deepEqual(
      shown.map((one) => one["workIdInJob"]),
      shown.map((_, index) => index),
    );
    for (const { workIdInJob, taskId } of shown)
      assert.equal(taskId, last.get(workIdInJob)?.["taskId"]);
  });
});

describe("examples/client.mjs, as a user runs it,", { concurrency: true }, () => {
  const main = join(import.meta.dirname, "../../../examples/client.mjs");
  const run = (job: string): Promise<CliResult> => {
    const env = { AGENT_JOBS_URL: server.url };
    return startCli([job], { cwd: server.workingDirectory, env, main }).ended;
  };

  it("follows a job to its end, and fails as it does", async () => {
    const { code, stdout, stderr } = await run("two");
    assert.deepEqual({ code, stderr }, { code: 1, stderr: "" });
    const answers = stdout.trimEnd().split("\n").map(recordOf);
    assert.deepEqual(answers, jobFeed(ofTwo, answers));
  });

  it("ends with the error of the server", async () => {
    const { code, stderr } = await run("nothing");
    assert.equal(code, 1);
    assert.match(stderr, /Error: JobNotFound/);
  });
});

async function listed(jobId: string): Promise<Answer | undefined> {
  const answer = await server.get("copilot/job/running");
  assert.deepEqual(Object.keys(answer), ["jobs"]);
  return listIn(answer, "jobs").find((one) => one["jobId"] === jobId);
}

function listIn(answer: Answer, field: string): readonly Answer[] {
  const value: unknown = answer[field];
  assert.ok(Array.isArray(value), field);
  return value;
}

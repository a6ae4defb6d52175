/** `copilot/job…`: what is listed, started, followed, asked about, and stopped at each stage. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordOf, type Answer } from "../rig/answer.ts";
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
  hangsAsCondition: alt(hangs, ok, ok),
  hangsInLoop: loop(hangs, { postCondition: [true, ok] }),
  hangsInPrecondition: loop(ok, { preCondition: [true, hangs] }),
  hangsInPostcondition: loop(ok, { postCondition: [true, hangs] }),
  crashesInPar: par(hangs, ref("crashes")),
  availability: seq(ref("availability"), ok),
  criteria: seq(ref("criteria"), ok),
  retry: seq(ref("retry"), ok),
  overloaded: seq(ref("overloaded"), ok),
};
const check = "Is it so? Call job_boolean_true or job_boolean_false.";
const driving = { category: "driving" };
const again = { failureAction: { retryTimes: 1, additionalPrompt: "Again." } };
/** Each waits somewhere else until it is stopped. */
const waiting = {
  availability: { model: driving, prompt: "Go.", availability: { condition: check } },
  criteria: { model: driving, prompt: "Go.", criteria: { condition: check, ...again } },
  retry: {
    model: driving,
    prompt: "Go.",
    criteria: { toolExecuted: ["job_prepare_document"], ...again },
  },
  overloaded: { model: driving, prompt: "Go." },
};
const hang = { text: "I begin", hang: true };
const grid = [
  { keyword: "one", jobs: [{ name: "go", jobName: "ok" }, null] },
  { keyword: "two", jobs: [{ name: "all", jobName: "everything" }] },
];

const server = await startServer({
  entry: {
    models,
    tasks: {
      ...tasks,
      ...waiting,
      asks: { model: { category: "driving" }, prompt: "Do $user-input.", requireUserInput: true },
    },
    jobs: Object.fromEntries(Object.entries(works).map(([name, work]) => [name, { work }])),
    grid,
  },
  sessions: [
    { task: "asks", turns: [{ prompt: { equals: "Do a dance\non two lines." }, text: "Done." }] },
    { task: "availability", turns: [{ prompt: check, ...hang }] },
    { task: "criteria", turns: ["Done.", { prompt: check, ...hang }] },
    { task: "retry", turns: ["I forgot.", { prompt: "Again.", ...hang }] },
    { task: "overloaded", turns: [{ error: { status: 503, headers: { "retry-after": "600" } } }] },
    ...sessions,
  ],
});
after(() => server.stop());

describe("copilot/job", () => {
  it("gives the grid, the jobs as prepared, and their charts", async () => {
    const answer = await server.get("copilot/job");
    assert.deepEqual(Object.keys(answer).sort(), ["chart", "grid", "jobs"]);
    assert.deepEqual(answer["grid"], grid);
    const jobs = recordIn(answer, "jobs");
    assert.deepEqual(Object.keys(jobs), Object.keys(works));
    for (const [name, work] of Object.entries(works)) {
      let next = 0;
      const numbered: unknown = JSON.parse(JSON.stringify(work), (_, value: unknown) =>
        isRef(value) ? { ...value, workIdInJob: -1 } : value,
      );
      const expected: unknown = JSON.parse(
        JSON.stringify(numbered).replaceAll('"workIdInJob":-1', () => `"workIdInJob":${next++}`),
      );
      assert.deepEqual(jobs[name], { requireUserInput: name === "asks", work: expected });
    }
    const charts = recordIn(answer, "chart");
    assert.deepEqual(Object.keys(charts), Object.keys(works));
    for (const name of Object.keys(works)) checkChart(charts[name], countRefs(works[name]));
  });
});

describe("copilot/job/start", () => {
  it("needs a job of the entry", async () => {
    for (const name of ["nothing", "constructor", "__proto__", "OK"])
      assert.deepEqual(await server.post(`copilot/job/start/${name}`, server.workingDirectory), {
        error: "JobNotFound",
      });
  });

  it("needs an absolute working directory that exists, in the first line", async () => {
    const start = (body: string): Promise<Answer> => server.post("copilot/job/start/ok", body);
    for (const body of ["", "work", "work\n", `\n${server.workingDirectory}`])
      assert.deepEqual(await start(body), { error: "WorkingDirectoryNotAbsolutePath" });
    for (const folder of [
      join(server.folder, "nowhere"),
      join(server.folder, "server.rehearsal.json"),
    ])
      assert.deepEqual(await start(`${folder}\ninput`), { error: "WorkingDirectoryNotExists" });
  });

  it("passes on the lines after the first as the user's input", async () => {
    const { job } = await server.runJob("asks", "a dance\non two lines");
    assert.deepEqual(job.at(-1), { callback: "jobSucceeded" });
  });

  it("takes a body with the line ends of Windows", async () => {
    const body = `${server.workingDirectory}\r\na dance\non two lines`;
    const { jobId } = await server.post("copilot/job/start/asks", body);
    const { job } = await server.follow(String(jobId));
    assert.deepEqual(job.at(-1), { callback: "jobSucceeded" });
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
    for (const { job } of feeds)
      assert.deepEqual(
        job,
        jobFeed(["0 started", "0 succeeded", "1 started", "1 failed", "jobFailed"], job),
      );
    const taskIds = feeds.flatMap(({ tasks: started }) => [...started.keys()]);
    assert.equal(new Set(taskIds).size, 6, "ids of tasks are used once");
  });
});

describe("copilot/job/{job-id}/live", { concurrency: true }, () => {
  it("says JobsClosed once after the end, then JobNotFound", async () => {
    const jobId = await server.startJob("ok");
    // Until it has ended; nothing is taken from the feed.
    for await (const event of server.events(`copilot/job/${jobId}/events`)) void event;
    const feed = await server.drain(`copilot/job/${jobId}`);
    assert.deepEqual(feed, jobFeed(["0 started", "0 succeeded", "jobSucceeded"], feed));
    for (let calls = 0; calls < 2; calls += 1)
      assert.deepEqual(await server.get(`copilot/job/${jobId}/live`), { error: "JobNotFound" });
  });

  it("waits 5 seconds, and refuses a second call meanwhile", async () => {
    const jobId = await server.startJob("hangs");
    const feed = `copilot/job/${jobId}`;
    await server.takeUntil(feed, (one) => one["workId"] === 1);
    const both = [server.get(`${feed}/live`), server.get(`${feed}/live`)];
    assert.deepEqual(await Promise.race(both), { error: "ParallelCallNotSupported" });
    const answers = (await Promise.all(both)).map((one) => one["error"]);
    assert.deepEqual(new Set(answers), new Set(["ParallelCallNotSupported", "HttpRequestTimeout"]));
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    await server.drain(feed);
  });

  it("takes GET and POST alike", async () => {
    const jobId = await server.startJob("ok");
    const answer = await server.post(`copilot/job/${jobId}/live`);
    assert.equal(answer["callback"], "workStarted");
    await server.drain(`copilot/job/${jobId}`);
  });
});

describe("copilot/job/{job-id}/stop", { concurrency: true }, () => {
  const stages: Readonly<Record<string, readonly [hanging: readonly number[], before: string[]]>> =
    {
      hangs: [[1], ["0 started", "0 succeeded", "1 started"]],
      hangsInPar: [[0, 2], []],
      hangsAsCondition: [[0], ["0 started"]],
      hangsInLoop: [[0], ["0 started"]],
      hangsInPrecondition: [[0], ["0 started"]],
      hangsInPostcondition: [[1], ["0 started", "0 succeeded", "1 started"]],
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
      assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
      const rest = await server.drain(feed);
      assert.deepEqual(rest.at(-1), { callback: "jobCanceled" });
      const all = [...first, ...rest];
      const stopped = all.filter((one) => one["callback"] === "workStopped");
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

  for (const [name, prompt] of Object.entries({
    availability: check,
    criteria: check,
    retry: "Again.",
  })) {
    it(`ends a task in every phase: ${name}`, () =>
      stopTask(name, async (task) => {
        const opened = await server.takeUntil(task, (one) => "isDriving" in one);
        const session = `copilot/session/${String(opened.at(-1)?.["sessionId"])}`;
        await server.takeUntil(session, (one) => String(one["prompt"]).includes(prompt));
        await server.takeUntil(session, (one) => one["callback"] === "onMessage");
      }));
  }

  it("stops a job right after its start", async () => {
    const jobId = await server.startJob("everything");
    const feed = `copilot/job/${jobId}`;
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    const all = await server.drain(feed);
    assert.deepEqual(all.at(-1), { callback: "jobCanceled" });
    const count = (callback: string): number =>
      all.filter((one) => one["callback"] === callback).length;
    assert.equal(count("workStarted"), count("workStopped"));
  });

  it("knows no job that never was, nor one that has ended", async () => {
    const ended = await server.startJob("ok");
    await server.follow(ended);
    for (const id of [ended, "nothing", "task-1"])
      assert.deepEqual(await server.post(`copilot/job/${id}/stop`), { error: "JobNotFound" });
    for (const route of ["live", "status"])
      assert.deepEqual(await server.get(`copilot/job/nothing/${route}`), { error: "JobNotFound" });
  });

  it("isn't needed after a crash, which stops what runs beside it", async () => {
    const { job } = await server.runJob("crashesInPar");
    assert.deepEqual(job.at(-1), { callback: "jobFailed" });
    assert.ok("jobError" in (job.at(-2) ?? {}));
    const stopped = job.filter((one) => one["callback"] === "workStopped");
    assert.deepEqual(new Set(stopped.map((one) => one["workId"])), new Set([0, 1]));
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
    assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
    await server.drain(feed);
    assert.deepEqual(await listed(jobId), { ...job, status: "Canceled" });
    const ended = await server.get(`${feed}/status`);
    assert.deepEqual(
      listIn(ended, "tasks").map((one) => one["status"]),
      ["Succeeded", "Canceled", "Skipped"],
    );
  });

  for (const [name, expected] of [
    ["ok", { status: "Succeeded", tasks: ["Succeeded"] }],
    ["two", { status: "Failed", tasks: ["Succeeded", "Failed", "Skipped"] }],
  ] as const) {
    it(`show a job that has ended: ${name}`, async () => {
      const jobId = await server.startJob(name);
      await server.follow(jobId);
      const { status, tasks: shown } = await server.get(`copilot/job/${jobId}/status`);
      assert.ok(Array.isArray(shown));
      assert.deepEqual({ status, tasks: shown.map((one) => one.status) }, expected);
      assert.equal((await listed(jobId))?.["status"], expected.status);
    });
  }

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

// While it waits, so may the turns of other jobs.
describe("a job whose model server is overloaded", () => {
  it("is stopped while it waits", () =>
    stopTask("overloaded", async (task) => {
      await server.takeUntil(task, (one) => String(one["reason"]).includes(" Waiting "));
    }));
});

/** Stops a job in its first work, when that has come so far. */
async function stopTask(name: string, isThere: (task: string) => Promise<void>): Promise<void> {
  const jobId = await server.startJob(name);
  const feed = `copilot/job/${jobId}`;
  const [work] = await server.takeUntil(feed, (one) => "workId" in one);
  const task = `copilot/task/${String(work?.["taskId"])}`;
  await isThere(task);
  assert.deepEqual(await server.post(`${feed}/stop`), { result: "Closed" });
  const rest = await server.drain(feed);
  assert.deepEqual(rest, jobFeed(["0 failed", "jobCanceled"], rest));
  assert.deepEqual((await server.drain(task)).at(-1), { callback: "taskFailed" });
}

async function listed(jobId: string): Promise<Answer | undefined> {
  const answer = await server.get("copilot/job/running");
  assert.deepEqual(Object.keys(answer), ["jobs"]);
  return listIn(answer, "jobs").find((one) => one["jobId"] === jobId);
}

function isRef(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "Ref";
}

function countRefs(work: Answer | undefined): number {
  return JSON.stringify(work).split('"kind":"Ref"').length - 1;
}

function recordIn(answer: Answer, field: string): Answer {
  const value = answer[field];
  assert.ok(typeof value === "object" && value !== null && !Array.isArray(value), field);
  return { ...value };
}

function listIn(answer: Answer, field: string): readonly Answer[] {
  const value: unknown = answer[field];
  assert.ok(Array.isArray(value), field);
  return value;
}

/** Every node is reachable from the first, one of them is the end, and each work is drawn once. */
function checkChart(chart: unknown, works: number): void {
  assert.ok(typeof chart === "object" && chart !== null && "nodes" in chart);
  const nodes = listIn({ ...chart }, "nodes");
  assert.deepEqual(Object.keys(chart), ["nodes"]);
  const arrowsOf = (node: Answer): readonly Answer[] =>
    "arrows" in node ? listIn(node, "arrows") : [];
  const ids = nodes.map((node) => node["id"]);
  assert.equal(new Set(ids).size, nodes.length);
  const seen = new Set<unknown>();
  const reach = (id: unknown): void => {
    if (seen.has(id)) return;
    seen.add(id);
    const node = nodes.find((one) => one["id"] === id);
    assert.ok(node !== undefined, `an arrow to nowhere: ${String(id)}`);
    for (const arrow of arrowsOf(node)) {
      assert.equal(typeof arrow["loopBack"], "boolean");
      assert.ok(arrow["label"] === undefined || typeof arrow["label"] === "string");
      reach(arrow["to"]);
    }
  };
  reach(ids[0]);
  assert.equal(seen.size, nodes.length, "a node that can't be reached");
  assert.equal(nodes.filter((node) => arrowsOf(node).length === 0).length, 1, "one end");
  const drawn: unknown[] = [];
  for (const { hint, label } of nodes) {
    assert.ok(label === undefined || typeof label === "string");
    if (!Array.isArray(hint)) {
      assert.match(String(hint), /^(ParBegin|ParEnd|CondBegin|CondEnd|LoopEnd|AltEnd)$/);
      continue;
    }
    assert.ok(hint[0] === "TaskNode" || hint[0] === "CondNode");
    drawn.push(hint[1]);
  }
  assert.deepEqual(new Set(drawn), new Set(Array.from({ length: works }, (_, id) => id)));
  assert.equal(drawn.length, works);
}

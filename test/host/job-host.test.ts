import assert from "node:assert/strict";
import { describe, it, test, type TestContext } from "node:test";
import { DENIALS_IN_A_ROW } from "../../src/engine/budgets.ts";
import type { Entry } from "../../src/entry/model.ts";
import { JobHost } from "../../src/host/job-host.ts";
import { ref } from "../rig/engine.ts";
import type { Script } from "../rig/model-server.ts";
import { drain, type HostRig, jobLog, makeHost as makeHostWith, taskLog } from "../run/host-rig.ts";
import { until } from "../sessions/rig.ts";

const entry: Entry = {
  models: { driving: "driver", work: "worker" },
  tasks: {
    greet: { model: { category: "work" }, prompt: "Greet $user-input", requireUserInput: true },
    check: {
      model: { category: "work" },
      prompt: "Work",
      availability: { previousTasks: ["greet"] },
      criteria: {
        condition: "job_boolean_true?",
        runConditionInSameSession: false,
        failureAction: { retryTimes: 0 },
      },
    },
  },
  jobs: { both: { work: { kind: "Seq", works: [ref("greet"), ref("check")] } } },
};

const agreeable: Script = ({ prompt, toolResults }) =>
  prompt.includes("?") && toolResults.length === 0
    ? { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] }
    : { text: "fine" };

const makeHost = (t: TestContext, script: Script): Promise<HostRig> =>
  makeHostWith(t, entry, script);

describe("JobHost", () => {
  it("runs a job and tells its callbacks, in order and nothing after the end", async (t) => {
    const { host, folder, prompts } = await makeHost(t, agreeable);
    const { log, callback, ended } = jobLog();
    const job = await host.startJob("both", "you", folder, callback);
    assert.deepEqual([job.status, log], ["Executing", []], "the handle comes before the callbacks");
    assert.deepEqual(job.warnings, []);
    assert.ok(host.hasRunningSessions());
    await ended;
    assert.deepEqual(log, [
      "workStarted 0 greet",
      "workStopped 0 true",
      "workStarted 1 check",
      "workStopped 1 true",
      "jobSucceeded",
    ]);
    assert.deepEqual([job.status, job.runningWorkIds], ["Succeeded", []]);
    assert.ok(!host.hasRunningSessions());
    await host.installJobsEntry(entry);
    assert.deepEqual(prompts().slice(0, 3), ["Greet you", "Work", "job_boolean_true?"]);
  });

  it("cancels a job: each running work is stopped, then jobCanceled, then nothing", async (t) => {
    const { host, folder } = await makeHost(t, () => ({ hang: "before" }));
    const { log, callback, ended } = jobLog();
    const job = await host.startJob("both", "you", folder, {
      ...callback,
      workStarted(workId, taskId) {
        callback.workStarted(workId, taskId);
        assert.deepEqual(job.runningWorkIds, [0]);
        setTimeout(() => job.stop(), 300);
      },
    });
    await ended;
    assert.deepEqual(log, ["workStarted 0 greet", "workStopped 0 false", "jobCanceled"]);
    assert.equal(job.status, "Canceled");
  });

  it("refuses what can't be started, and a new entry while something runs", async (t) => {
    const { host, folder } = await makeHost(t, () => ({ text: "fine", delay: 300 }));
    const { callback, ended } = jobLog();
    const first = /installJobsEntry first/;
    await assert.rejects(new JobHost().startJob("both", "", folder, callback), first);
    assert.throws(() => new JobHost().ensureInstalledEntry(), first);
    const missing = host.startJob("toString", "", folder, callback);
    await assert.rejects(missing, /There is no job "toString"/);
    const warned = new JobHost();
    assert.deepEqual(warned.entryWarnings, []);
    await warned.installJobsEntry({
      ...entry,
      permissions: { shell: ["npm test && npm run lint"] },
      promptVariables: { unused: ["nobody reads this"] },
    });
    const warnings = warned.entryWarnings.map(({ codePath }) => codePath).join("\n");
    assert.match(warnings, /permissions/);
    assert.match(warnings, /unused/);
    const bad = { ...entry, jobs: { bad: { work: ref("nope") } } };
    const refused = new JobHost().installJobsEntry(bad);
    await assert.rejects(refused, /^DiagnosticsError: entry\.jobs\["bad"\]/);
    await host.installJobsEntry({
      ...entry,
      jobs: { ...entry.jobs, alone: { work: ref("check") } },
    });
    const alone = jobLog();
    const job = await host.startJob("alone", "you", folder, alone.callback);
    assert.deepEqual(job.warnings, [
      'The user input is not used: no prompt of the job "alone" contains $user-input.',
    ]);
    await alone.ended;
    await host.startJob("both", "you", folder, callback);
    await assert.rejects(host.installJobsEntry(entry), /session is running/);
    await ended;
  });

  it("runs a task with sessions of its own, one for each purpose, and tells every decision", async (t) => {
    const { startTask } = await makeHost(t, agreeable);
    const { log, callback, ended } = taskLog();
    const ignoring = { ignorePrerequisites: true, modelId: "given" } as const;
    const task = await startTask("check", callback, ignoring);
    assert.throws(() => task.drivingSession, /has not opened a driving session/);
    await ended;
    assert.equal(task.status, "Succeeded");
    assert.deepEqual(log, [
      "started s1 false",
      "[OPERATION] Task session started: s1, model given",
      "stopped s1 true",
      "[OPERATION] Task session ended: s1",
      "started s2 true",
      "[OPERATION] Driving session started: s2, model driver",
      "stopped s2 true",
      "[OPERATION] Driving session ended: s2",
      "[CRITERIA] criteria.condition holds: job_boolean_true was called: yes",
      "[TASK SUCCEEDED] Task succeeded",
      "taskSucceeded",
    ]);
  });

  it("runs a task in a borrowed session, and leaves it open", async (t) => {
    const { host, folder, prompts, startTask } = await makeHost(t, agreeable);
    const [session, id] = await host.helperSessionStart("lent", folder);
    assert.equal(host.helperGetSession(id), session);
    const { log, callback, ended } = taskLog();
    const task = await startTask("check", callback, { session, ignorePrerequisites: true });
    assert.equal(task.drivingSession, session);
    await ended;
    assert.deepEqual(log, [
      "[CRITERIA] criteria.condition holds: job_boolean_true was called: yes",
      "[TASK SUCCEEDED] Task succeeded",
      "taskSucceeded",
    ]);
    await session.sendRequest("And now?");
    assert.deepEqual([...new Set(prompts())], ["Work", "job_boolean_true?", "And now?"]);
    await session.stop();
    assert.equal(host.helperGetSession(id), undefined);
    assert.ok(!host.hasRunningSessions());
  });

  it("reports the crash of a task to the exception handler, and its failure", async (t) => {
    const { startTask } = await makeHost(t, () => ({ status: 400 }));
    const errors: unknown[] = [];
    const { log, callback, ended } = taskLog();
    const onCrash = (error: unknown): void => void errors.push(error);
    const task = await startTask("greet", callback, { userInput: "you", onCrash });
    await ended;
    assert.deepEqual(
      [task.status, log.at(-1), errors],
      ["Failed", "taskFailed", [task.crashError]],
    );
    assert.match(String(errors[0]), /400/);
  });

  it("stops a task without any further callback", async (t) => {
    const { host, startTask } = await makeHost(t, () => ({ hang: "before" }));
    const { log, callback } = taskLog();
    const stopping = {
      ...callback,
      taskSessionStarted: () => setTimeout(() => task.stop(), 200),
    };
    const task = await startTask("greet", stopping, { userInput: "you" });
    await until(() => !host.hasRunningSessions(), "its sessions are gone");
    assert.deepEqual(
      [task.status, log],
      ["Failed", ["[OPERATION] Session started: ID, model worker"]],
    );
  });

  it("keeps the responses of a helper session in order, those of others between them", async (t) => {
    const { host, folder } = await makeHost(t, agreeable);
    const [session] = await host.helperSessionStart("m", folder);
    host.helperPushSessionResponse(session, { callback: "onGeneratedUserPrompt", prompt: "Hello" });
    await session.sendRequest("Hello");
    const names = (await drain(host, session)).map(({ callback }) => callback);
    assert.deepEqual(
      names.filter((name) => name !== "onMessage"),
      [
        "onGeneratedUserPrompt",
        "onAgentStart",
        "onStartMessage",
        "onEndMessage",
        "onAgentEnd",
        "onIdle",
      ],
    );
    await host.helperSessionStop(session);
  });
});

const writing: Entry = {
  models: { driving: "driver" },
  tasks: { write: { model: { category: "driving" }, prompt: ["Write it down."] } },
  jobs: {},
};

test("denials in a borrowed session are events and decisions, and too many in a row fail the task", async (t) => {
  const { host, folder, events, startTask } = await makeHostWith(t, writing, ({ toolResults }) => ({
    toolCalls: [{ name: "view", arguments: { path: `/etc/secret-${toolResults.length}` } }],
  }));
  const [session] = await host.helperSessionStart("lent", folder);
  t.after(() => session.stop());
  const { log, callback, ended } = taskLog();
  const crashes: unknown[] = [];
  await startTask("write", callback, { session, onCrash: (crash) => void crashes.push(crash) });
  await ended;
  assert.equal(log.at(-1), "taskFailed");
  const activities = events.flatMap((event) =>
    event.type === "activity" && event.activity.kind === "permission.denied"
      ? [`${event.activity.operation} ${event.activity.target}`]
      : [],
  );
  assert.deepEqual(
    activities,
    Array.from({ length: DENIALS_IN_A_ROW }, (_, n) => `read /etc/secret-${n}`),
  );
  const decisions = log.filter((line) => line.startsWith("[OPERATION] Denied read"));
  assert.equal(decisions.length, DENIALS_IN_A_ROW);
  assert.equal(crashes.length, 1);
  assert.ok(log.some((line) => /^\[SESSION CRASHED\].*denied 10 times in a row/.test(line)));
});

/** A job as a promise, and the reason that a failed job tells. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JobHostOptions } from "../../src/host/host-options.ts";
import { JobHost } from "../../src/host/job-host.ts";
import type { Entry } from "../../src/entry/model.ts";
import { modelServer, type Reply } from "../rig/model-server.ts";
import { ref } from "../rig/engine.ts";
import { makeRepository } from "../rig/workspace.ts";
import { jobLog } from "../run/host-rig.ts";

const task = { model: { category: "driving" } } as const;
const entry: Entry = {
  models: { driving: "m" },
  tasks: {
    greet: { ...task, prompt: "Greet $user-input", requireUserInput: true },
    changed: { ...task, prompt: "See $change-files", availability: { change: ["src/**"] } },
    prepare: {
      ...task,
      prompt: "Prepare",
      criteria: { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes: 0 } },
    },
  },
  jobs: {
    greet: { work: ref("greet") },
    changed: { work: ref("changed") },
    both: { work: { kind: "Seq", works: [ref("greet"), ref("prepare")] } },
  },
};

async function makeHost(
  t: TestContext,
  answer: (prompt: string) => Reply,
  more: JobHostOptions = {},
): Promise<JobHost> {
  const server = await modelServer(t, ({ prompt }) => answer(prompt));
  const host = new JobHost({ provider: { baseUrl: server.baseUrl }, ...more });
  t.after(() => host.close());
  await host.installJobsEntry(entry);
  return host;
}

describe("runJob", () => {
  it("gives the outcome and every work of a job that succeeds", async (t) => {
    const prompts: string[] = [];
    const host = await makeHost(t, (prompt) => {
      prompts.push(prompt);
      return { text: "Hello, you." };
    });
    const { outcome, works, view } = await host.runJob("greet", { userInput: "you" });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.deepEqual(
      works.map(({ workId, taskId, status, lastMessage }) => [workId, taskId, status, lastMessage]),
      [[0, "greet", "succeeded", "Hello, you."]],
    );
    assert.equal(view.totals.modelCalls, 1);
    assert.deepEqual(prompts, ["Greet you"]);
    assert.equal(host.hasRunningSessions(), false);
    await host.installJobsEntry(entry);
  });

  it("starts nothing without the user input that a job or a task requires, like every other edge", async (t) => {
    const prompts: string[] = [];
    const host = await makeHost(t, (prompt) => (prompts.push(prompt), { text: "Hello." }));
    const missing = /^The job "greet" requires user input\.$/;
    const { callback } = jobLog();
    await assert.rejects(host.runJob("greet"), { name: "UsageError", message: missing });
    await assert.rejects(host.runJob("greet", { userInput: " \n" }), { message: missing });
    await assert.rejects(host.startJob("greet", "", ".", callback), { message: missing });
    const never = (): void => assert.fail("nothing has started");
    const ofTask = {
      taskSucceeded: never,
      taskFailed: never,
      taskDecision: never,
      taskSessionStarted: never,
      taskSessionStopped: never,
    };
    await assert.rejects(
      host.startTask("greet", "", undefined, true, ofTask, undefined, ".", never),
      { message: /^The task "greet" requires user input\.$/ },
    );
    assert.deepEqual([prompts, host.hasRunningSessions()], [[], false]);
  });

  it("knows the change of the folder, and a job that it has nothing for is no failure", async (t) => {
    const workspace = await makeRepository(t, { "src/a.ts": "one\n" });
    const { path, git } = workspace;
    await workspace.write("src/b.ts", "two\n");
    const prompts: string[] = [];
    const answer = (prompt: string): Reply => (prompts.push(prompt), { text: "Seen." });
    const host = await makeHost(t, answer, { base: "HEAD", uncommitted: true });
    const changed = await host.runJob("changed", { workingDirectory: path });
    assert.deepEqual(changed.outcome, { kind: "succeeded" });
    assert.deepEqual(prompts, ["See added src/b.ts +1 -0"]);
    await git("add", "--all");
    await git("commit", "--quiet", "--message=Two");
    const { log, callback, ended } = jobLog();
    await host.startJob("changed", "", path, callback);
    await ended;
    assert.deepEqual(log.slice(-2), ["workStopped 0 true", "jobSucceeded"]);
    const skipped = await host.runJob("changed", { workingDirectory: path });
    assert.deepEqual(skipped.outcome, {
      kind: "skipped",
      reason: "nothing ran: the change is empty",
    });
    const elsewhere = host.runJob("changed", { workingDirectory: "/" });
    await assert.rejects(elsewhere, /not in a git repository/);
    assert.equal(prompts.length, 1);
  });

  it("is fulfilled for a job that fails, with the reason that jobFailed passes", async (t) => {
    const host = await makeHost(t, () => ({ text: "no tool" }));
    const { outcome, works } = await host.runJob("both", { userInput: "you" });
    assert.ok(outcome.kind === "failed");
    assert.match(outcome.reason, /"prepare".*job_prepare_document/);
    assert.deepEqual(
      works.map(({ status }) => status),
      ["succeeded", "failed"],
    );
    const { callback, log, ended } = jobLog();
    let told = "";
    const jobFailed = (reason: string): void => {
      told = reason;
      callback.jobFailed(reason);
    };
    await host.startJob("both", "you", ".", { ...callback, jobFailed });
    await ended;
    assert.deepEqual([told, log.at(-1)], [outcome.reason, "jobFailed"]);
  });

  it("is fulfilled for a folder that is not there", async (t) => {
    const host = await makeHost(t, () => ({ text: "fine" }));
    const { outcome } = await host.runJob("greet", {
      userInput: "you",
      workingDirectory: "/no/such/folder",
    });
    assert.ok(outcome.kind === "failed");
    assert.match(outcome.reason, /\/no\/such\/folder/);
  });

  it("is canceled by its signal, before it begins and while it runs", async (t) => {
    const stop = new AbortController();
    const host = await makeHost(t, () => {
      setTimeout(() => stop.abort(), 50);
      return { hang: "before" };
    });
    const running = await host.runJob("both", { userInput: "you", signal: stop.signal });
    assert.equal(running.outcome.kind, "canceled");
    assert.deepEqual(
      running.works.map(({ status }) => status),
      ["canceled", "skipped"],
    );
    const before = await host.runJob("both", {
      userInput: "you",
      signal: AbortSignal.abort(),
    });
    assert.equal(before.outcome.kind, "canceled");
  });
});

/** A job that shows itself on GitHub while it runs: whichever way its step ends, nothing there runs for ever. */
import assert from "node:assert/strict";
import { describe, it, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, sendSignal } from "../../src/platform/processes.ts";
import { readMarker } from "../../src/github/markers.ts";
import { actionPost } from "../rig/dist.ts";
import type { RepositoryOptions } from "../rig/github-repository.ts";
import {
  runPost,
  runStep,
  startStep,
  type Step,
  type StepOptions,
  type StepResult,
} from "../rig/runner.ts";
import { head, repositoryWith, type World } from "./repository-rig.ts";

const outputs = { check: true, report: { comment: "sticky", progress: true, when: "always" } };

function entryOf(run: string, more: object = {}): string {
  return JSON.stringify({
    models: { driving: "m" },
    outputs,
    permissions: { preset: "workspace", sandbox: "off" },
    tasks: {},
    jobs: { main: { work: { kind: "Run", run } } },
    ...more,
  });
}

const world = (t: TestContext, entry: string, options?: Partial<RepositoryOptions>) =>
  repositoryWith(t, { "review.yml": entry }, options);
const setting = (here: World, event = "pull-request"): StepOptions =>
  here.setting({ event, inputs: { entry: "review.yml" } });
const step = (t: TestContext, here: World, event?: string): Promise<StepResult> =>
  runStep(t, setting(here, event));

const checks = ({ github }: World): unknown =>
  github.checks.all.map(({ name, status, conclusion, title }) => [name, status, conclusion, title]);

describe("the check run and the comment of a step", () => {
  it("are made before the job begins, and say how it ended", async (t) => {
    const here = await world(t, entryOf("echo hello"));
    const result = await step(t, here);
    assert.equal(result.code, 0, result.raw);
    const { calls, comments } = here.github;
    assert.deepEqual(
      new Set(calls.slice(0, 2).map(({ path }) => path)),
      new Set(["/repos/octo/shop/check-runs", "/repos/octo/shop/issues/7/comments"]),
    );
    assert.ok(calls.some(({ body }) => body["status"] === "in_progress"));
    assert.deepEqual(checks(here), [["agent-jobs: main", "completed", "success", "No findings"]]);
    assert.match(comments[0]?.body ?? "", /✓ Job `main` succeeded/);
    assert.equal(comments.length, 1);
    assert.deepEqual(
      JSON.parse(result.outputs["deliveries"] ?? "").map((one: { what: string }) => one.what),
      ["report comment on #7, updated", 'check "agent-jobs: main": success'],
    );
    assert.equal(result.state["live"], "");
    const again = setting(here);
    await runStep(t, { ...again, env: { GITHUB_RUN_ATTEMPT: "2" } });
    assert.deepEqual([here.github.checks.all.length, comments.length], [2, 1]);
  });

  const ends: readonly (readonly [
    name: string,
    entry: string,
    conclusion: string,
    title: RegExp,
    comment: RegExp,
  ])[] = [
    ["a job that fails", entryOf("exit 3"), "failure", /^The job failed: /, /✗ Job `main` failed/],
    [
      "a job that has no runtime, and doesn't begin,",
      entryOf("", {
        tasks: { t: { prompt: "Hello.", model: { category: "driving" } } },
        jobs: { main: { work: { kind: "Ref", taskId: "t" } } },
      }),
      "failure",
      /^The job failed: .*nowhere/,
      /Job `main` failed/,
    ],
  ];
  for (const [name, entry, conclusion, title, comment] of ends)
    test(`of ${name} say so`, async (t) => {
      const here = await world(t, entry);
      const one = setting(here);
      // Only a model needs a runtime.
      const env = {
        ...one.env,
        ...(entry.includes("Run") ? {} : { COPILOT_CLI_PATH: "/nowhere" }),
      };
      const result = await runStep(t, { ...one, env });
      assert.equal(result.code, 1, result.raw);
      const [check] = here.github.checks.all;
      assert.deepEqual([check?.status, check?.conclusion], ["completed", conclusion]);
      assert.match(check?.title ?? "", title);
      assert.match(here.github.comments[0]?.body ?? "", comment);
    });

  it("say why there is no report, if the pull request has moved on", async (t) => {
    const here = await world(t, entryOf("echo hello"));
    here.github.head = "d".repeat(40);
    await step(t, here);
    const [comment] = here.github.comments;
    assert.match(comment?.body ?? "", /Job `main` succeeded\n\noutdated: the head of/);
    assert.equal(readMarker(comment?.body ?? "")?.status, "ended");
    assert.equal(here.github.checks.all[0]?.conclusion, "success");
  });

  it("are made by the step that delivers the journal, if that isn't the step of the agents", async (t) => {
    const here = await world(t, entryOf("echo hello"));
    const one = setting(here);
    const kept = { ...one.inputs, "output-dir": "out", staged: "true" };
    const { outputs: made } = await runStep(t, { ...one, inputs: kept });
    assert.deepEqual(here.github.calls, []);
    const inputs = {
      ...one.inputs,
      journal: made["journal"] ?? "",
      "journal-digest": made["journal-digest"] ?? "",
    };
    const delivery = { ...one, mode: "deliver", inputs } as const;
    const result = await runStep(t, delivery);
    assert.equal(result.code, 0, result.raw);
    assert.deepEqual(checks(here), [["agent-jobs: main", "completed", "success", "No findings"]]);
    await runStep(t, delivery);
    assert.equal(here.github.checks.all.length, 1);
  });

  it("fail no step if the token may not write them: a warning names the permission", async (t) => {
    const here = await world(t, entryOf("echo hello"), { writes: [] });
    const result = await step(t, here);
    assert.equal(result.code, 0, result.raw);
    const warnings = result.commands.filter(({ name }) => name === "warning");
    assert.ok(
      warnings.some(({ message }) =>
        /^check "agent-jobs: main".*needs `checks: write`/.test(message),
      ),
      result.raw,
    );
  });

  it("are not written by a staged run", async (t) => {
    const here = await world(t, entryOf("echo hello"));
    const one = setting(here);
    const result = await runStep(t, { ...one, inputs: { ...one.inputs, staged: "true" } });
    assert.equal(result.code, 0, result.raw);
    assert.deepEqual(here.github.calls, []);
    assert.match(result.summary, /check "agent-jobs: main"/);
  });
});

describe("an event that isn't trusted", () => {
  const skipped = ["agent-jobs: main", "completed", "neutral"];

  it("has a neutral check, by the entry of the base, unless the commit has one already", async (t) => {
    const here = await world(t, entryOf("echo hello"));
    // The head may say what it likes.
    await here.workspace.write("review.yml", entryOf("", { outputs: { check: { name: "ci" } } }));
    const result = await step(t, here, "pull-request-bot");
    assert.equal(result.outputs["result"], "skipped", result.raw);
    const [check] = here.github.checks.all;
    assert.deepEqual([check?.name, check?.status, check?.conclusion], skipped);
    assert.equal(here.github.comments.length, 0);
    const other = await world(t, entryOf("echo hello"));
    other.github.checks.add({ name: "agent-jobs: main", head_sha: head, conclusion: "failure" });
    await step(t, other, "pull-request-bot");
    assert.deepEqual(
      other.github.checks.all.map(({ conclusion }) => conclusion),
      ["failure"],
    );
  });

  for (const event of ["pull-request-fork", "issue-comment-stranger"])
    test(`such as ${event} has none, because its token can't write or it is about no commit`, async (t) => {
      const here = await world(t, entryOf("echo hello"));
      await step(t, here, event);
      assert.deepEqual(here.github.calls, []);
    });
});

/** A step whose command waits. */
async function waiting(t: TestContext): Promise<{ readonly here: World; readonly running: Step }> {
  const here = await world(t, entryOf("touch started; sleep 300"));
  const running = await startStep(t, setting(here));
  t.after(() => sendSignal(running.pid, "SIGKILL"));
  while ((await here.workspace.read("started").catch(() => undefined)) === undefined) {
    assert.ok(isRunning(running.pid), "It ended early.");
    await sleep(50);
  }
  return { here, running };
}

describe("a step", () => {
  it("that is canceled completes both at once", async (t) => {
    const { here, running } = await waiting(t);
    running.signal("SIGINT");
    const result = await running.ended;
    assert.equal(result.outputs["result"], "cancelled", result.raw);
    const [check] = here.github.checks.all;
    assert.deepEqual([check?.status, check?.conclusion], ["completed", "cancelled"]);
    assert.match(here.github.comments[0]?.body ?? "", /Job `main` was canceled[^]*SIGINT/);
    assert.equal(result.state["live"], "");
  });

  it("that is killed leaves both to its post step, which ends nothing else", async (t) => {
    const { here, running } = await waiting(t);
    const state = await running.state();
    running.signal("SIGKILL");
    await running.ended;
    const [check] = here.github.checks.all;
    assert.equal(check?.status, "in_progress");
    const env = {
      GITHUB_REPOSITORY: "octo/shop",
      GITHUB_API_URL: here.github.url,
      GITHUB_RUN_ID: "99",
      GITHUB_RUN_ATTEMPT: "1",
      "INPUT_GITHUB-TOKEN": "ghs_0123456789abcdef",
    };
    const post = (other: object = {}, changed = state): Promise<StepResult> =>
      runPost(here.workspace.path, changed, actionPost, { ...env, ...other });
    await post({ GITHUB_RUN_ATTEMPT: "2" });
    await post({}, { ...state, live: "{}" });
    assert.equal(check.status, "in_progress");
    const ended = await post();
    assert.equal(ended.code, 0, ended.raw);
    assert.deepEqual([check.status, check.conclusion], ["completed", "cancelled"]);
    const [comment] = here.github.comments;
    assert.match(comment?.body ?? "", /Job `main` was canceled[^]*the step was killed/);
    assert.equal(readMarker(comment?.body ?? "")?.status, "ended");
  });
});

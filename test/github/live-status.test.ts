/** What GitHub shows of a job while it runs, on the fake API and a clock that is moved by hand. */
import assert from "node:assert/strict";
import { describe, it, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { createGithubApi } from "../../src/github/github-api.ts";
import { createGithubPort } from "../../src/github/github-port.ts";
import { LiveStatus } from "../../src/github/live-status.ts";
import { markerOf, readMarker } from "../../src/github/markers.ts";
import type { GithubRepository, RepositoryOptions } from "../rig/github-repository.ts";
import { plannedTasks } from "../rig/plan.ts";
import { delivered, head, one, origin, start } from "./rig.ts";

const both: Outputs = { check: true, report: { comment: "sticky", progress: true } };
const about = { job: "review", entry: ".github/review.yml", origin };
const mention = "@octocat\u001b[31m::error::|<img>";

/** A clock that only `pass` moves. */
class ManualClock {
  #now = 0;
  readonly #timers = new Map<() => void, number>();
  now = (): number => this.#now;
  sleep = (): Promise<void> => Promise.resolve();
  after = (milliseconds: number, listener: () => void): (() => void) => {
    this.#timers.set(listener, this.#now + milliseconds);
    return () => void this.#timers.delete(listener);
  };
  pass(milliseconds: number): void {
    this.#now += milliseconds;
    for (const [listener, due] of this.#timers) {
      if (due > this.#now) continue;
      this.#timers.delete(listener);
      listener();
    }
  }
}

interface Scene {
  readonly live: LiveStatus;
  readonly clock: ManualClock;
  readonly log: readonly string[];
  readonly repository: GithubRepository;
  readonly tell: (body: RunEventBody) => void;
  /** Waits until GitHub was sent so many writes. */
  readonly writes: (count: number) => Promise<void>;
}

async function scene(
  t: TestContext,
  options: Partial<RepositoryOptions> = {},
  outputs = both,
): Promise<Scene> {
  const repository = await start(t, options);
  const clock = new ManualClock();
  const log: string[] = [];
  const live = liveOn(repository, clock, outputs, log);
  const view = createRunView();
  return {
    live,
    clock,
    log,
    repository,
    tell(body) {
      const event = { at: clock.now(), runId: "r", ...body };
      applyEvent(view, event);
      live.reporter.report(event, view);
    },
    async writes(count) {
      for (let turn = 0; repository.calls.length < count; turn += 1) {
        assert.ok(turn < 20_000, `${repository.calls.length} of ${count} writes`);
        await setImmediate();
      }
    },
  };
}

function liveOn(
  repository: GithubRepository,
  clock: ManualClock,
  outputs: Outputs,
  log: string[],
): LiveStatus {
  return new LiveStatus({
    about,
    outputs,
    clock,
    log: (line) => void log.push(line),
    connect(signal) {
      const api = createGithubApi({
        token: "ghs_1",
        repository: "octo/shop",
        apiUrl: repository.url,
        // The limit of a request, ten seconds, is never reached, and nothing else waits.
        clock: {
          now: () => 0,
          sleep: (ms) => (ms === 10_000 ? new Promise(() => {}) : Promise.resolve()),
        },
        ...(signal && { signal }),
      });
      return createGithubPort(api, (text) => text.replaceAll("hunter2", "***"));
    },
  });
}

const work = (workId: number) => ({ workId, taskId: tasks[workId] ?? "", iteration: 1 });
const tasks = ["lint", `review ${mention} hunter2`];
const started: RunEventBody = {
  type: "run.started",
  jobName: "review",
  workingDirectory: "/ws",
  ...plannedTasks(tasks.map((taskId) => [taskId, "m"])),
};
const begun = (workId: number): RunEventBody => ({ type: "work.started", work: work(workId) });
const ended = (workId: number): RunEventBody => ({
  type: "work.ended",
  work: work(workId),
  outcome: { kind: "succeeded" },
});

const statusOf = ({ comments }: GithubRepository): unknown =>
  comments.map(({ body }) => readMarker(body)?.status);

describe("a job that runs", () => {
  it("is a check run in progress and a comment, each with the steps, updated at most every 15 s and only if a step changed", async (t) => {
    const { live, clock, repository, tell, writes } = await scene(t);
    await live.begin();
    const [check] = repository.checks.all;
    assert.deepEqual(
      [check?.status, check?.head, check?.title],
      ["in_progress", head, "The job is starting"],
    );
    assert.deepEqual(repository.calls.length, 2);
    tell(started);
    tell(begun(0));
    clock.pass(0);
    await writes(4);
    assert.equal(check?.title, "0 of 2 steps done");
    tell(ended(0));
    tell(begun(1));
    clock.pass(14_000);
    for (let turn = 0; turn < 500; turn += 1) await setImmediate();
    assert.equal(repository.calls.length, 4);
    clock.pass(1_000);
    await writes(6);
    assert.equal(check.title, "1 of 2 steps done");
    const [comment] = repository.comments;
    for (const text of [check.summary, comment?.body ?? ""]) {
      assert.match(
        text,
        /### Job `review` is running\n\n\| Step \|[^]*lint<\/code> \| ✓ succeeded/,
      );
      assert.match(
        text,
        /commit `a{12}` · \[run\]\(https:\/\/github\.com\/octo\/shop\/actions\/runs\/77\/attempts\/1\)/,
      );
      assert.doesNotMatch(text, /hunter2|@octocat|(?!\n)\p{Cc}|<img/u);
    }
    clock.pass(60_000);
    tell(begun(1));
    clock.pass(60_000);
    await live.stop();
    assert.equal(repository.calls.length, 6);
    assert.equal(check.status, "in_progress");
  });

  it("keeps the last report in the comment below the steps, until the next report replaces all of it", async (t) => {
    const { live, clock, repository, tell, writes } = await scene(t);
    const report = { report: { comment: "sticky" } } as const;
    await delivered(repository, {
      outputs: report,
      findings: [one],
      report: "# Earlier",
      origin: { workflowRun: "76" },
    });
    const before = readMarker(repository.comments[0]?.body ?? "");
    await live.begin();
    tell(started);
    clock.pass(0);
    await writes(5);
    const { body = "" } = repository.comments[0] ?? {};
    assert.match(body, /is running[^]*\n\n---\n\nThe last report:\n[^]*Earlier/);
    assert.equal(body.match(/Earlier/g)?.length, 1);
    assert.deepEqual(readMarker(body), { ...before, status: "77/1" });
    await live.stop();
    await delivered(repository, { outputs: report, report: "# Next" });
    const next = repository.comments[0]?.body ?? "";
    assert.match(next, /Next/);
    assert.doesNotMatch(next, /running|Earlier/);
    await live.end({ conclusion: "success", reason: "" });
    assert.deepEqual([repository.comments.length, repository.comments[0]?.body], [1, next]);
  });

  it("leaves the comment to another run that has taken it over or put its report there", async (t) => {
    const { live, repository, tell, clock, writes } = await scene(t);
    await live.begin();
    const outputs: Outputs = { report: { comment: "sticky" } };
    await delivered(repository, { outputs, origin: { workflowRun: "78" } });
    const [comment] = repository.comments;
    const report = comment?.body ?? "";
    assert.equal(readMarker(report)?.key, "78/1");
    const { length } = repository.calls;
    tell(started);
    clock.pass(15_000);
    await writes(length + 1);
    await live.stop();
    await live.end({ conclusion: "success", reason: "" });
    assert.equal(comment?.body, report);
  });

  it("that ends without a report says so above the last one, and completes its check run", async (t) => {
    const { live, repository } = await scene(t);
    const report = { report: { comment: "sticky" } } as const;
    await delivered(repository, {
      outputs: report,
      report: "# Earlier",
      origin: { workflowRun: "76" },
    });
    await live.begin();
    await live.stop();
    const reason = `A limit. ${mention} hunter2`;
    assert.equal(await live.end({ conclusion: "cancelled", reason }), true);
    const { body = "" } = repository.comments[0] ?? {};
    assert.match(body, /Job `review` was canceled[^]*A limit\.[^]*Earlier/);
    assert.doesNotMatch(body, /starting|hunter2|@octocat|<img/);
    assert.deepEqual(statusOf(repository), ["ended"]);
    const [check] = repository.checks.all;
    assert.deepEqual([check?.status, check?.conclusion], ["completed", "cancelled"]);
    assert.match(check?.title ?? "", /^The job was canceled: A limit\./);
    const { length } = repository.calls;
    await live.end({ conclusion: "failure", reason: "" });
    assert.equal(repository.calls.length, length);
  });

  it("is found and ended by another process, and nothing else is: not another attempt, leg or author", async (t) => {
    const { live, repository, clock } = await scene(t);
    await live.begin();
    const [ours] = repository.comments;
    repository.comment(ours?.body ?? "", "mallory");
    const leg = markerOf({
      kind: "report",
      job: "review",
      entry: about.entry,
      leg: "b",
      status: "77/1",
    });
    repository.comment(leg);
    const [check] = repository.checks.all;
    const forged = {
      name: check?.name,
      head_sha: head,
      external_id: check?.externalId,
      status: "in_progress",
    };
    repository.checks.add(forged, "evil");
    repository.checks.add({ ...forged, external_id: "agent-jobs/77/2/0" });
    const bodies = repository.comments.map(({ body }) => body);
    const other = liveOn(repository, clock, both, []);
    await other.end({ conclusion: "cancelled", reason: "the step was killed" });
    assert.match(repository.comments[0]?.body ?? "", /was canceled[^]*the step was killed/);
    assert.deepEqual(
      repository.comments.slice(1).map(({ body }) => body),
      bodies.slice(1),
    );
    assert.deepEqual(
      repository.checks.all.map(({ status }) => status),
      ["completed", "in_progress", "in_progress"],
    );
  });

  for (const isDone of [false, true])
    test(`is one check run and one comment if GitHub answers 502 to both ${isDone ? "after" : "before"} it made them`, async (t) => {
      const { live, clock, repository, tell, writes, log } = await scene(t, {
        breaks: ({ method, path }) =>
          method === "POST" && path !== "/graphql" && repository.calls.length <= 2
            ? { status: 502, ...(isDone && { isDone }) }
            : undefined,
      });
      await live.begin();
      assert.equal(log.length, 2, log.join("\n"));
      tell(started);
      clock.pass(0);
      await writes(4);
      await live.stop();
      await live.end({ conclusion: "success", reason: "" });
      assert.deepEqual(
        [repository.checks.all.map(({ conclusion }) => conclusion), repository.comments.length],
        [["success"], 1],
      );
    });

  it("that may not show itself says once which permission is missing, and asks no more", async (t) => {
    const { live, clock, repository, tell, log } = await scene(t, { writes: [] });
    await live.begin();
    const { length } = repository.asked;
    tell(started);
    tell(begun(0));
    clock.pass(0);
    await live.stop();
    assert.equal(await live.end({ conclusion: "failure", reason: "" }), true);
    assert.equal(repository.asked.length, length);
    assert.deepEqual(
      log.map((line) => line.replace(/: GitHub.*/, "")),
      [
        "Can't show the progress in the check run: needs `checks: write`",
        "Can't show the progress in the comment: needs `pull-requests: write`",
      ],
    );
  });

  it("shows only what the entry asks for, and no comment without a pull request", async (t) => {
    const { live, repository } = await scene(t, {}, { report: both.report, findings: {} });
    await live.begin();
    assert.deepEqual([repository.checks.all.length, repository.comments.length], [0, 1]);
    const { live: checked, repository: other } = await scene(t, {}, { check: true });
    await checked.begin();
    assert.deepEqual([other.checks.all.length, other.comments.length], [1, 0]);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createGithubReporter } from "../../src/github/github-reporter.ts";
import type { GithubCore } from "../../src/github/step-log.ts";
import { options, report } from "./summary-rig.ts";
import { commandsOf } from "./runner.ts";
import * as samples from "./samples.ts";
import { ManualClock } from "../reports/terminal/screen.ts";
import { plannedTasks } from "../rig/plan.ts";
import { tell } from "../rig/tell.ts";

/** A reporter whose words, of every kind, are kept in one list. */
function saying(changed: Partial<GithubCore> = {}) {
  const said: string[] = [];
  const say = (message: string): void => void said.push(message);
  const clock = new ManualClock();
  const reporter = createGithubReporter({
    ...options,
    clock,
    randomToken: () => "token",
    core: {
      info: say,
      startGroup: say,
      endGroup: () => say("end"),
      error: say,
      warning: say,
      notice: say,
      writeSummary: async () => say("summary"),
      ...changed,
    },
  });
  return { said, clock, reporter };
}

test("the annotations come through @actions/core with file and line, after the log", async () => {
  const { output, lines } = await report(samples.failure().events);
  const error = commandsOf(output).find(({ name }) => name === "error");
  assert.deepEqual(error, {
    name: "error",
    properties:
      "title=TASK FAILED%3A review-correctness,file=.github/agent-jobs/review.yml,line=18",
    data: "[TASK FAILED] criteria not met: no file was read before the verdict",
  });
  const result = lines.findIndex((line) => line.includes("total"));
  const annotated = lines.findIndex((line) => line.startsWith("::error"));
  assert.ok(result !== -1 && result < annotated);
});

test("stopped in the middle, it tells a canceled run from what is known", async () => {
  const { output, summary } = await report(samples.canceled().events);
  assert.match(summary ?? "", /^## ■ Job <code>review<\/code> was canceled$/m);
  assert.match(summary ?? "", /<code>review-tests<\/code> \| ■\u00A0canceled/);
  assert.match(summary ?? "", /<code>merge<\/code> \| –\u00A0skipped/);
  assert.match(output, /::notice title=Job review was canceled/);
});

test("it finishes once, however often it is asked, and says nothing afterwards", async () => {
  const { said, reporter } = saying();
  const { events } = samples.failure();
  tell(reporter, ...events.slice(0, 20));
  const first = reporter.finish();
  assert.equal(reporter.finish(), first);
  await first;
  const count = said.length;
  assert.equal(said.at(-1), "summary");
  tell(reporter, ...events.slice(20));
  await reporter.close?.();
  assert.equal(said.length, count);
});

test("a summary that can't be written rejects after everything else has been said", async () => {
  const { said, reporter } = saying({
    writeSummary: () => Promise.reject(new Error("no file")),
  });
  tell(reporter, ...samples.failure().events);
  await assert.rejects(reporter.finish(), /no file/);
  assert.ok(said.some((message) => message.startsWith("[TASK FAILED] criteria not met")));
});

test("the log has a line at least every minute while something runs", async () => {
  const { said, clock, reporter } = saying();
  const work = { workId: 0, taskId: "##[error]a\n::error::b", iteration: 1 };
  const plan = plannedTasks([[work.taskId, "m"]]);
  tell(reporter, {
    at: 0,
    runId: "run",
    type: "run.started",
    jobName: "j",
    workingDirectory: "w",
    ...plan,
  });
  tell(reporter, { at: 0, runId: "run", type: "work.started", work, modelId: "m" });
  await clock.pass(30_000);
  assert.equal(said.at(-1), "00:30 still running: #0 ## [error]a ⏎ ::error::b 00:30 starting");
  // The group of a work is only printed when it ends.
  const decision = { kind: "note", text: "x" } as const;
  tell(reporter, { at: 90_000, runId: "run", type: "decision", work, decision });
  await clock.pass(60_000);
  assert.match(said.at(-1) ?? "", /^01:30 still running: /);
  const count = said.length;
  tell(reporter, { at: 130_000, runId: "run", type: "run.ended", outcome: { kind: "succeeded" } });
  await reporter.close?.();
  assert.equal(clock.sleeping, 0);
  assert.ok(said.length > count);
});

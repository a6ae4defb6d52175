import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import stringWidth from "fast-string-width";
import type { RunEvent, RunEventBody, RunOutcome } from "../../../src/events/event.ts";
import { viewsOf } from "../../../src/events/view.ts";
import { chartOf } from "../../../src/reports/flow-chart.ts";
import {
  createTerminalReporter,
  printLastLine,
  type TerminalOptions,
} from "../../../src/reports/terminal/terminal-reporter.ts";
import * as samples from "../../events/samples.ts";
import { ManualClock, Screen } from "./screen.ts";
import { nightly } from "../../rig/nightly.ts";
import { plannedTasks, ref } from "../../rig/plan.ts";
import { tell } from "../../rig/tell.ts";

/** A reporter, and what it has written. */
function reporting(options: Partial<TerminalOptions> = {}) {
  let text = "";
  const reporter = createTerminalReporter({
    stream: { write: (part) => void (text += part) },
    verbosity: "normal",
    colors: false,
    live: true,
    clock: new ManualClock(),
    ...options,
  });
  return { reporter, text: () => text };
}

function run(events: readonly RunEvent[], options: Partial<TerminalOptions> = {}): string {
  const { reporter, text } = reporting(options);
  tell(reporter, ...events);
  return text();
}

const stamped = (at: number, body: RunEventBody): RunEvent => ({ at, runId: "run", ...body });
const [start = assert.fail()] = samples.story();
const succeeded = { kind: "succeeded" } as const;

test("a run is told in lines with a clock and a work, then what was said, a chart, a table and the end", () => {
  const [view = assert.fail()] = viewsOf(samples.story()).values();
  const chart = chartOf(view).trimEnd().split("\n");
  assert.deepEqual(run(samples.story(), { chart: chartOf }).split("\n"), [
    "00:00 job nightly started: 2 steps in repo",
    "00:01 #0 review  started, model m1",
    "00:05 #0 review  [SESSION CRASHED] Prompt, attempt 1 of 5: Bad gateway",
    "00:07 #0 review  [DECISION] Retrying the prompt in a new session, attempt 2 of 5, model m1",
    "00:15 #0 review  said: I am ⏎ done.",
    "00:16 #0 review  [CRITERIA] criteria.toolExecuted does not hold: grep was not executed (toolExecuted = grep)",
    "00:17 #0 review  [DECISION] Retry 1 of 2: grep was not executed",
    "00:20 #0 review  said: I am ⏎ done.",
    "00:22 #0 review  [TASK SUCCEEDED] Task succeeded",
    "00:23 #0 review  succeeded after 00:22: 3 attempts, 2 model calls, tokens 2.0k in, 40 out",
    "",
    "#0 review said:",
    "  I am",
    "  done.",
    "",
    ...chart,
    "",
    "#  task     status     attempts  calls  tokens in  out   time",
    "0  review   succeeded         3      2       2.0k   40  00:22",
    "1  publish  skipped           0      0          0    0  00:00",
    "   total                      3      2       2.0k   40  00:24",
    "",
    "cost: 1 credit (0.01 USD)",
    "reported document: docs/report.md",
    "",
  ]);
});

test("quiet tells failures only", () => {
  assert.deepEqual(run(samples.story(), { verbosity: "quiet", chart: chartOf }).split("\n"), [
    "00:05 #0 review  [SESSION CRASHED] Prompt, attempt 1 of 5: Bad gateway",
    "",
  ]);
});

test("verbose tells prompts, tools, messages, model calls and the details of a crash too", () => {
  const text = run(samples.story(), { verbosity: "verbose" });
  assert.match(text, /#0 review {2}prompt turn, attempt 2: Review it\.\n/);
  assert.match(text, /#0 review {2}tool job_prepare_document \{"argument"/);
  assert.match(text, /#0 review {2}message: I am ⏎ done\.\n/);
  assert.doesNotMatch(text, / {2}said: /);
  assert.match(text, /#0 review {2}model call: m1, tokens 1\.0k in, 20 out, 0\.1 s\n/);
  assert.match(text, /Bad gateway \{\}\n/);
});

test("the last line is how it ended, what the exit code means where that differs, and the verdict", () => {
  const last = (events: readonly RunEvent[], passes: boolean, reason = ""): string => {
    const [view = assert.fail()] = viewsOf(events).values();
    let text = "";
    const stream = { write: (part: string) => void (text += part) };
    const words = { fails: "the exit code is 1", passes: "The step passes" };
    printLastLine({ stream, colors: false }, view, { passes, reason, words });
    return text;
  };
  const ended = (outcome: RunOutcome): RunEvent => stamped(1, { type: "run.ended", outcome });
  const failed = { kind: "failed", reason: "it broke" } as const;
  assert.equal(last([start, ended(succeeded)], true), "job nightly succeeded\n");
  assert.equal(last([start, ended(failed)], false), "job nightly failed: it broke\n");
  assert.equal(
    last([start, ended({ kind: "canceled", reason: "SIGINT" })], false),
    "job nightly canceled: SIGINT\n",
  );
  assert.ok(start.type === "run.started");
  const verdict = { verdict: "reject", reason: "It\nleaks." } as const;
  const rejected = [
    { ...start, rehearsed: true as const },
    stamped(1, { type: "work.started", work: samples.review }),
    stamped(1, { type: "verdict.given", work: samples.review, verdict }),
    ended(succeeded),
  ];
  assert.equal(
    last(rejected, false, "The verdict is reject."),
    "job nightly succeeded (rehearsal), but the exit code is 1: the verdict is reject. Verdict: Rejected: It leaks.\n",
  );
  assert.equal(
    last([start, ended(failed)], true, "it broke"),
    "job nightly failed: it broke. The step passes\n",
  );
});

test("nothing follows the end", () => {
  const end = stamped(1, { type: "run.ended", outcome: succeeded });
  const note = { kind: "note", text: "late" } as const;
  const late = stamped(2, { type: "decision", work: null, decision: note });
  assert.equal(run([start, end, late]), run([start, end]));
});

test("items over long paths are told apart, and the table has each that failed, up to a bound", () => {
  const items = Array.from(
    { length: 22 },
    (_, n) => `packages/dashboard/src/components/Page${n}.tsx`,
  );
  const events = items.flatMap((item, itemIndex) => {
    const work = { ...samples.review, item, itemIndex };
    const outcome = { kind: "failed", reason: "no" } as const;
    return [
      stamped(12_000, { type: "work.started", work, modelId: "m1" }),
      stamped(14_000, { type: "work.ended", work, outcome }),
    ];
  });
  const end = stamped(15_000, { type: "run.ended", outcome: succeeded });
  const text = run([start, ...events, end]);
  assert.match(text, /00:02 #0 review packages\/dashboa…nents\/Page7\.tsx started, model m1\n/);
  assert.match(text, /\n {5}packages\/dashboard\/src\/components\/Page19\.tsx +failed .* 00:02\n/);
  assert.match(text, /\n {5}… and 2 more +failed\n/);
  assert.doesNotMatch(text, /\n {5}packages\S+Page20/);
});

test("in a loop the line names the run", () => {
  const work = { ...samples.review, iteration: 2 };
  const again = stamped(12_000, { type: "work.started", work, modelId: "m1" });
  assert.match(run([start, again]), /00:02 #0 review iteration 2 started, model m1\n/);
});

test("an event is at most a line, and one for what was decided, and no text of others controls the terminal", () => {
  fc.assert(
    fc.property(
      samples.events,
      fc.constantFrom("quiet" as const, "normal" as const, "verbose" as const),
      (events, verbosity) => {
        const told = events.filter(({ type }) => type !== "run.ended");
        const text = run(told, { verbosity });
        const decided = told.filter((event) => event.type === "activity").length;
        // A document may have thoughts and a response, an action params and a result.
        const more = told.filter((event) => event.type === "action").length * 3;
        assert.ok(text.split("\n").length - 1 <= told.length + decided + more);
        assert.doesNotMatch(
          run(events, { verbosity }),
          /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u,
        );
      },
    ),
  );
});

test("colors and the live view are for terminals only, and can be turned off there", () => {
  assert.ok(!run(samples.story()).includes("\u001B"));
  const screen = (options: Partial<TerminalOptions>): string => {
    const stream = new Screen(100, 24);
    run(samples.story(), { stream, ...options });
    return stream.writes.join("");
  };
  assert.ok(!screen({ colors: false, live: false }).includes("\u001B"));
  assert.ok(screen({ colors: true, live: false }).includes("\u001B[31m"));
  assert.ok(screen({ colors: false, live: true }).includes("\u001B[?2026h"));
  assert.ok(!screen({ colors: false, live: false, verbosity: "quiet" }).includes("\u001B"));
});

test("on a terminal the lines are those of a log file, and the live view is gone", async () => {
  const stream = new Screen(200, 24);
  const clock = new ManualClock();
  const { reporter } = reporting({ stream, colors: true, clock });
  for (const event of samples.story()) {
    tell(reporter, event);
    await clock.pass(100);
  }
  await reporter.close?.();
  assert.equal(stream.text(), run(samples.story()));
});

test("a terminal breaks lines between words, and indents what goes on", () => {
  for (const columns of [60, 80, 120]) {
    const stream = new Screen(columns, 24);
    run(samples.story(), { stream, colors: true, verbosity: "verbose" });
    const [log = ""] = stream.text().split("\n\n");
    const words = (text: string): string[] => text.split(/\s+/);
    const [whole = ""] = run(samples.story(), { verbosity: "verbose" }).split("\n\n");
    assert.deepEqual(words(log), words(whole));
    for (const line of log.split("\n")) {
      assert.match(line, /^(\d\d:\d\d | {6}\S)/);
      assert.ok(stringWidth(line) <= columns, line);
    }
  }
});

test("closing without an end takes the live view away", async () => {
  const stream = new Screen(100, 24);
  const clock = new ManualClock();
  const { reporter } = reporting({ stream, clock });
  tell(reporter, ...samples.story().slice(0, 4));
  await clock.pass(100);
  assert.match(stream.text(), /1 running/);
  await reporter.close?.();
  assert.doesNotMatch(stream.text(), /1 running/);
  assert.equal(clock.sleeping, 0);
});

test("the table keeps to the width of the terminal, also with wide names", () => {
  const names = [
    "審査する長い名前のタスク",
    "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀",
    "x".repeat(300),
    "a\nb",
  ];
  const plan = plannedTasks(names.map((taskId) => [taskId, "m"]));
  const events = [
    stamped(0, { type: "run.started", jobName: "j", workingDirectory: "w", ...plan }),
    stamped(1, { type: "run.ended", outcome: succeeded }),
  ];
  for (const columns of [80, 200]) {
    const stream = new Screen(columns, 24);
    run(events, { stream, colors: false, live: false });
    const table = stream.writes.join("").split("\n\n")[1] ?? "";
    const lines = table.split("\n");
    assert.equal(lines.length, 6);
    const widths = lines.map((line) => stringWidth(line));
    assert.ok(Math.max(...widths) <= columns, `${Math.max(...widths)} in ${columns}`);
    const ends = lines.slice(1, 5).map((line) => stringWidth(line));
    assert.equal(new Set(ends).size, 1, table);
  }
});

test("of very many works the table shows those that failed and counts the rest", () => {
  const plan = plannedTasks(Array.from({ length: 500 }, () => ["t", "m"]));
  const work = { workId: 444, taskId: "t", iteration: 1 };
  const outcome = { kind: "failed", reason: "r" } as const;
  const text = run([
    stamped(0, { type: "run.started", jobName: "j", workingDirectory: "w", ...plan }),
    stamped(1, { type: "work.ended", work, outcome }),
    stamped(2, { type: "run.ended", outcome }),
  ]);
  assert.match(text, /\n444 {2}t {6}failed/);
  assert.match(text, /\n… and 400 more\n/);
});

const review = { workId: 0, taskId: "review", iteration: 1 } as const;

/** A run in which one work goes on, and time passes. */
function going(options: Partial<TerminalOptions>) {
  const clock = new ManualClock();
  const { reporter, text } = reporting({ clock, ...options });
  const emit = (body: RunEventBody): void => tell(reporter, stamped(clock.now(), body));
  const plan = plannedTasks([["review", "m"]]);
  emit({ type: "run.started", jobName: "j", workingDirectory: "w", ...plan });
  emit({ type: "work.started", work: review, modelId: "m" });
  return { clock, emit, text };
}

test("a log has a line after 30 seconds without one, and then one a minute, while something runs", async () => {
  const { clock, emit, text } = going({});
  const session = { work: review, sessionId: "s" };
  const asked = { purpose: "prompt", retry: 0, attempt: 1, prompt: "Look.", modelId: "m" } as const;
  emit({ type: "session.started", ...session, modelId: "m", role: "task", retry: 0, attempt: 1 });
  emit({ type: "turn.started", ...session, turnId: "t", ...asked });
  const lines = (): readonly string[] => text().match(/^.*still running.*$/gm) ?? [];
  await clock.pass(29_000);
  assert.deepEqual(lines(), []);
  await clock.pass(1_000);
  assert.deepEqual(lines(), ["00:30 still running: #0 review 00:30 thinking, no byte yet"]);
  await clock.pass(59_000);
  assert.equal(lines().length, 1);
  await clock.pass(1_000);
  await clock.pass(59_000);
  emit({ type: "decision", work: review, decision: { kind: "note", text: "here" } });
  await clock.pass(29_000);
  assert.equal(lines().length, 2);
  await clock.pass(1_000);
  assert.match(lines()[2] ?? "", /^02:59 /);
  emit({ type: "work.ended", work: review, outcome: succeeded });
  emit({ type: "run.ended", outcome: succeeded });
  assert.equal(clock.sleeping, 0);
  assert.match(text(), /\n {3}total .*\n\n$/);
});

test("quiet stays silent while the job runs", async () => {
  for (const stream of [new Screen(80, 24), new Screen(1000, 24)]) {
    const { clock } = going({ verbosity: "quiet", stream, live: stream.columns === 80 });
    await clock.pass(600_000);
    assert.equal(stream.text(), "");
  }
});

test("the start of a job of very many works is reported", () => {
  assert.ok(start.type === "run.started");
  // More than a call may have arguments.
  const works = Array.from({ length: nightly ? 200_000 : 130_000 }, () => ref(0, "review"));
  const text = run([{ ...start, work: { kind: "Seq", works } }]);
  assert.match(text, /^00:00 job nightly started: \d+ steps in repo\n$/);
});

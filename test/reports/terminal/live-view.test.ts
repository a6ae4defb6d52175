import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import stringWidth from "fast-string-width";
import type { ActionEvent } from "../../../src/events/action.ts";
import type { RunEventBody } from "../../../src/events/event.ts";
import type { SessionActivity } from "../../../src/events/session-activity.ts";
import { applyEvent, createRunView, type RunView } from "../../../src/events/view.ts";
import {
  createLiveView,
  frame,
  type LiveView,
} from "../../../src/reports/terminal/terminal-reporter.ts";
import { stillRunning } from "../../../src/reports/doing.ts";
import { createPaint } from "../../../src/reports/paint.ts";
import { ManualClock, Screen } from "./screen.ts";
import { actionEvent } from "../../rig/action-events.ts";
import { plannedTasks } from "../../rig/plan.ts";
import { modelUsed } from "../../rig/fake-sessions.ts";
import { rounds } from "../../rig/nightly.ts";

const plain = createPaint(false);

interface Rig {
  readonly screen: Screen;
  readonly clock: ManualClock;
  readonly view: RunView;
  readonly live: LiveView;
  readonly emit: (body: RunEventBody) => void;
}

function rig(columns: number, rows: number, works: number): Rig {
  const screen = new Screen(columns, rows);
  const clock = new ManualClock();
  const view = createRunView();
  const live = createLiveView(screen, clock, plain);
  const emit = (body: RunEventBody): void =>
    applyEvent(view, { at: clock.now(), runId: "run", ...body });
  emit({
    type: "run.started",
    jobName: "j",
    workingDirectory: "w",
    ...plannedTasks(Array.from({ length: works }, (_, index) => [`task-${index}`, "gpt-5"])),
  });
  for (let workId = 0; workId < works; workId += 1) {
    const work = { workId, taskId: `task-${workId}`, iteration: 1 };
    emit({ type: "work.started", work, modelId: "gpt-5" });
    const turn = { work, sessionId: `s${workId}`, turnId: "turn-1", modelId: "gpt-5" };
    emit({ type: "turn.started", ...turn, purpose: "prompt", retry: 0, attempt: 1, prompt: "p" });
  }
  return { screen, clock, view, live, emit };
}

const first = { workId: 0, taskId: "task-0", iteration: 1 };
const act = (activity: SessionActivity): RunEventBody => ({
  type: "activity",
  work: first,
  sessionId: "s0",
  turnId: "turn-1",
  activity,
});

test("a work that waits for a slot is queued, what is written is counted, and names keep both ends", async () => {
  const { screen, clock, live, emit, view } = rig(60, 24, 2);
  const names = ["review-the-whole-of-the-api-1", "review-the-whole-of-the-api-2"];
  const started = names.map((taskId, index) => ({ workId: index + 2, taskId, iteration: 1 }));
  for (const work of started) emit({ type: "work.started", work, modelId: "gpt-5" });
  const [queued = first, starting = first] = started;
  const session = { sessionId: "s9", modelId: "gpt-5", role: "both" } as const;
  emit({ type: "session.started", work: queued, ...session, retry: 0, attempt: 1 });
  const delta = { kind: "message.delta", messageId: "m", text: "x".repeat(4000) } as const;
  emit(act(delta));
  live.start(view);
  await clock.pass(1_000);
  assert.deepEqual(screen.window().slice(0, -1), [
    "3 running, 1 queued, 0 of 4 done, 00:01, 0 model calls, 0 …",
    "⠋ #0 task-0               00:01 ~1.0k tokens written, 0 ca…",
    "⠋ #1 task-1               00:01 thinking, no byte yet, 0 c…",
    "⠋ #3 review-t…f-the-api-2 00:01 starting, 0 calls, gpt-5",
    "· #2 review-t…f-the-api-1 00:01 queued, 0 calls, gpt-5",
  ]);
  const waiting = { kind: "waiting", milliseconds: 9_000, cause: "rate-limited" } as const;
  emit({ type: "decision", work: queued, decision: waiting });
  assert.match(frame(view, 1_000, 100, 24, 0, plain).join("\n"), /#2 .* waiting/);
  const ended = { kind: "message.ended", messageId: "m", text: "done" } as const;
  emit(act(ended));
  assert.match(frame(view, 1_000, 100, 24, 0, plain).join("\n"), /#0 .* thinking/);
  assert.notEqual(starting, first);
  live.stop();
});

test("the frame tells what runs, how long, with which model, how many calls and which tool", async () => {
  const { screen, clock, live, emit, view } = rig(100, 24, 2);
  live.start(view);
  await clock.pass(61_000);
  emit(act({ kind: "tool.started", toolCallId: "c", toolName: "bash", arguments: {} }));
  emit(act({ ...modelUsed(900), outputTokens: 100 }));
  await clock.pass(5000);
  assert.deepEqual(screen.window(), [
    "2 running, 0 of 2 done, 01:06, 1 model call, 1.0k tokens",
    "⠙ #0 task-0 01:06 bash 00:05, 1 call, gpt-5",
    "⠙ #1 task-1 01:06 thinking, no byte yet, 0 calls, gpt-5",
    "",
  ]);
});

test("log lines stand above the frame, in order, and the frame is gone at the end", async () => {
  const { screen, clock, live, view } = rig(60, 10, 3);
  live.start(view);
  const expected: string[] = [];
  for (let i = 0; i < 40; i += 1) {
    expected.push(`line ${i}`);
    live.print(`line ${i}\n`);
    if (i % 3 === 0) await clock.pass(100);
  }
  await clock.pass(100);
  assert.deepEqual(screen.text().split("\n").slice(0, 40), expected);
  assert.match(screen.text(), /3 running/);
  live.stop();
  live.print("the end\n");
  assert.equal(screen.text(), `${[...expected, "the end"].join("\n")}\n`);
});

test("a log line longer than the terminal is wide wraps and stays whole", async () => {
  const { screen, clock, live, view } = rig(20, 10, 1);
  live.start(view);
  await clock.pass(100);
  live.print(`${"x".repeat(45)}\n`);
  await clock.pass(100);
  live.stop();
  assert.equal(screen.text(), `${"x".repeat(20)}\n${"x".repeat(20)}\n${"x".repeat(5)}\n`);
});

test("a terminal that changes its size during the run keeps the log and no garbage", async () => {
  const { screen, clock, live, view } = rig(100, 30, 5);
  live.start(view);
  const lines: string[] = [];
  for (const [columns, rows] of [
    [100, 30],
    [45, 30],
    [30, 30],
    [120, 40],
    [60, 40],
  ] as const) {
    screen.resize(columns, rows);
    lines.push(`at ${columns}`);
    live.print(`at ${columns}\n`);
    await clock.pass(100);
    const [head, ...rest] = screen.text().split("\n").slice(lines.length);
    assert.match(head ?? "", /^5 running/);
    assert.equal(rest.length, 6);
  }
  live.stop();
  assert.equal(screen.text(), `${lines.join("\n")}\n`);
});

test("a refresh is one write, and the cursor is never hidden", async () => {
  const { screen, clock, live, view } = rig(60, 10, 2);
  live.start(view);
  await clock.pass(100);
  live.print("line\n");
  const before = screen.writes.length;
  await clock.pass(1000);
  assert.equal(screen.writes.length, before + 1);
  live.stop();
  // `Screen` knows no other mode than that of synchronized updates; and this is the one to fear.
  assert.ok(screen.writes.every((text) => !text.includes("?25l")));
});

test("before the first work and after the last there is no frame", async () => {
  const { screen, clock, live, view } = rig(60, 10, 0);
  live.start(view);
  await clock.pass(100);
  live.print("a\n");
  await clock.pass(100);
  assert.equal(screen.text(), "a\n");
  live.stop();
});

test("much text is not kept waiting for the next refresh", () => {
  const { screen, live, view } = rig(60, 10, 1);
  live.start(view);
  for (let i = 0; i < 3000; i += 1) live.print(`${"y".repeat(40)}\n`);
  assert.ok(screen.writes.length > 0);
  live.stop();
});

test("the actions of a work are below it, with their progress, and no more than there is room for", () => {
  const { view, emit } = rig(80, 24, 1);
  const under = (id: string, label: string, percent?: number, message?: string): void => {
    const one = { id, iteration: 1 };
    const waiting = { action: "t", kind: "tool", execution: "ASYNC" } as const;
    const display = { kind: "progress_bar", label } as const;
    const tell = (action: ActionEvent): void => emit({ type: "action", work: first, action });
    tell({ type: "action.waiting", ...one, ...waiting, display });
    tell({ type: "action.started", ...one });
    if (percent !== undefined)
      tell({ type: "action.progress", ...one, percent, ...(message && { message }) });
  };
  under("lint", "Lint");
  under("build", "Build\u001B[31m", 45, "compiling");
  assert.deepEqual(frame(view, 2_000, 80, 24, 0, plain).slice(1), [
    "⠋ #0 task-0 00:02 thinking, no byte yet, Build 45 % +1, 0 calls, gpt-5",
    "    Build 45 % █████████░░░░░░░░░░░ 00:02 compiling",
    "    Lint 00:02",
  ]);
  for (let n = 0; n < 9; n += 1) under(`more${n}`, `More ${n}`);
  assert.equal(frame(view, 2_000, 80, 24, 0, plain).length, 6);
  assert.equal(frame(view, 2_000, 80, 5, 0, plain).length, 3);
  const turn = { work: first, sessionId: "s0", turnId: "turn-1", purpose: "prompt" } as const;
  emit({ type: "turn.ended", ...turn, outcome: "completed" });
  assert.match(stillRunning(view, 2_000), /: #0 task-0 00:02 Build 45 % \+10$/);
});

test("the turn of a task that an action runs has the name of that task", () => {
  const { view, emit } = rig(80, 24, 1);
  const work = { ...first, taskId: "docs" };
  const turn = { work, sessionId: "d1", turnId: "turn-9", modelId: "gpt-5" };
  emit({ type: "turn.started", ...turn, purpose: "criteria", retry: 0, attempt: 1, prompt: "p" });
  assert.match(stillRunning(view, 0), /: #0 task-0 00:00 docs: checking criteria, no byte yet$/);
});

test("a frame fits every terminal", () => {
  const { view } = rig(80, 24, 30);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 220 }),
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.string({ unit: "grapheme" }), { maxLength: 5 }),
      fc.array(actionEvent, { maxLength: 20 }),
      (columns, rows, names, actions) => {
        for (const action of actions)
          applyEvent(view, { at: 5, runId: "run", type: "action", work: first, action });
        for (const [index, name] of names.entries()) {
          const work = { workId: 100 + index, taskId: name, iteration: 1 };
          applyEvent(view, { at: 5, runId: "run", type: "work.started", work, modelId: name });
        }
        const lines = frame(view, 100_000, columns, rows, 3, plain);
        if (rows === 24) assert.equal(lines.at(-1), "…");
        assert.ok(lines.length <= Math.max(1, rows - 1), `${lines.length} lines in ${rows} rows`);
        for (const line of lines)
          assert.ok(stringWidth(line) < Math.max(2, columns), `${line} in ${columns}`);
      },
    ),
    rounds(300),
  );
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task, Work } from "../../src/entry/model.ts";
import type { TurnGate } from "../../src/engine/ports.ts";
import { play, ref, type Setup } from "../rig/engine.ts";
import { type Act, type Turn } from "../rig/fake-sessions.ts";
import { answered } from "../rig/crashes.ts";

const model = { category: "work" } as const;
/** Tasks a…h: each succeeds, unless `play` refuses its check. */
const tasks: Readonly<Record<string, Task>> = Object.fromEntries(
  ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => [
    name,
    {
      model,
      prompt: name,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
  ]),
);
const succeed: Act = { tools: ["job_boolean_true"] };
const fail: Act = { tools: [] };
const failing =
  (...names: readonly string[]) =>
  ({ label }: Turn): Act =>
    names.includes(label.taskId) ? fail : succeed;
const run = (
  work: Work,
  playing: Setup["play"],
  more: Partial<Setup> = {},
): ReturnType<typeof play> => play({ tasks, work, play: playing, ...more });
const par = (...names: readonly string[]): Work => ({ kind: "Par", works: names.map(ref) });

describe("engine.md, statements 15–19: a job", () => {
  it("statement 15: Par waits for all, and fails with the reasons of those that failed", async () => {
    const { outcome, ended } = await run(par("a", "b", "c"), failing("a", "c"));
    assert.deepEqual(ended, ["a:failed", "b:succeeded", "c:failed"]);
    assert.match(
      outcome.kind === "failed" ? outcome.reason : "",
      /task "a" failed: .*; task "c" failed: /,
    );
  });

  it("statement 16: a crash stops the job and what runs beside it, and the exception is reported", async () => {
    const { outcome, ended, sessions, decisions } = await run(
      { kind: "Seq", works: [par("a", "b", "c"), ref("d")] },
      ({ label }) =>
        label.taskId === "b"
          ? { crash: answered(401) }
          : label.taskId === "a"
            ? { hang: true }
            : { ...succeed, takes: 60_000 },
    );
    assert.deepEqual(ended, ["b:crashed", "a:canceled", "c:canceled"]);
    assert.equal(outcome.kind, "failed");
    assert.ok(outcome.kind === "failed");
    assert.equal(outcome.reason, 'task "b" crashed: boom');
    assert.match(outcome.advice ?? "", /^Check the token/);
    assert.deepEqual([...sessions.closed].sort(), ["s1", "s2", "s3"]);
    assert.ok(decisions.some((text) => text.startsWith("[SESSION CRASHED]")));
  });

  it("statement 16: a condition that crashes is a crash, not an answer", async () => {
    const alt: Work = { kind: "Alt", condition: ref("a"), trueWork: ref("b"), falseWork: ref("c") };
    const { outcome, ended } = await run(alt, () => ({ crash: answered(400) }));
    assert.deepEqual([outcome.kind, ended], ["failed", ["a:crashed"]]);
  });

  const previous: Readonly<
    Record<string, readonly [Work, readonly string[], readonly string[], boolean]>
  > = {
    "none has finished": [ref("p"), ["a"], [], false],
    "the last one": [{ kind: "Seq", works: [ref("a"), ref("p")] }, ["a"], [], true],
    "only the last one counts": [
      { kind: "Seq", works: [ref("a"), ref("b"), ref("p")] },
      ["a"],
      [],
      false,
    ],
    "a failed condition task counts": [
      { kind: "Alt", condition: ref("a"), falseWork: ref("p") },
      ["a"],
      ["a"],
      true,
    ],
    "inside a Par: the one before the Par": [
      { kind: "Seq", works: [ref("a"), { kind: "Par", works: [ref("b"), ref("p")] }] },
      ["a"],
      [],
      true,
    ],
    "a branch of the Par sees its own tasks": [
      {
        kind: "Seq",
        works: [
          ref("a"),
          { kind: "Par", works: [{ kind: "Seq", works: [ref("b"), ref("p")] }, ref("c")] },
        ],
      },
      ["b"],
      [],
      true,
    ],
    "after a Par: the last of any branch": [
      { kind: "Seq", works: [par("b", "slow", "c"), ref("p")] },
      ["slow"],
      [],
      true,
    ],
    "in a loop: the condition before the body": [
      {
        kind: "Loop",
        preCondition: [true, ref("a")],
        body: ref("p"),
        postCondition: [true, ref("b")],
      },
      ["a"],
      ["b"],
      true,
    ],
  };
  for (const [name, [work, previousTasks, failed, expected]] of Object.entries(previous)) {
    it(`statement 10: previousTasks: ${name}`, async () => {
      const { ended } = await run(
        work,
        ({ label }) =>
          failed.includes(label.taskId)
            ? fail
            : label.taskId === "slow"
              ? { ...succeed, takes: 9 }
              : succeed,
        {
          tasks: {
            ...tasks,
            slow: { ...tasks["a"], prompt: "slow" },
            p: { model, prompt: "p", availability: { previousTasks: [...previousTasks] } },
          },
          limits: { loopIterations: 3 },
        },
      );
      assert.ok(ended.includes(expected ? "p:succeeded" : "p:failed"), ended.join(" "));
    });
  }

  it("statement 18: at most limits.parallel turns run at once, and waiting is not time of the turn", async () => {
    const gate = (): TurnGate => {
      let free = 2;
      const queue: (() => void)[] = [];
      return {
        async run(turn) {
          if (free === 0) await new Promise<void>((resolve) => queue.push(resolve));
          else free -= 1;
          try {
            return await turn();
          } finally {
            const next = queue.shift();
            if (next === undefined) free += 1;
            else next();
          }
        },
      };
    };
    const { sessions, events } = await run(
      par("a", "b", "c", "d", "e"),
      () => ({ ...succeed, takes: 1_000 }),
      { gate },
    );
    assert.equal(sessions.busiest, 2);
    const order = events.flatMap((event) =>
      event.type === "turn.started"
        ? [`+${event.work.taskId}`]
        : event.type === "turn.ended"
          ? [`-${event.work.taskId}`]
          : [],
    );
    assert.deepEqual(
      order.slice(0, 4),
      ["+a", "+b", "-a", "+c"],
      "a turn starts when it has its slot, not before",
    );
  });

  it("statement 19: a cancel reports every running work as canceled, then the job, then nothing", async () => {
    const abort = new AbortController();
    const { events, outcome, clock } = await run(
      { kind: "Seq", works: [par("a", "b"), ref("c")] },
      () => ({ hang: true }),
      {
        signal: abort.signal,
        onEvent: (event) =>
          void (
            event.type === "turn.started" &&
            event.work.taskId === "b" &&
            queueMicrotask(() => abort.abort("SIGINT"))
          ),
      },
    );
    assert.deepEqual(outcome, { kind: "canceled", reason: "SIGINT" });
    const ends = events.filter(
      (event) => event.type === "work.ended" || event.type === "run.ended",
    );
    assert.deepEqual(
      ends.map((event) => [event.type, event.outcome]),
      [
        ["work.ended", { kind: "canceled", reason: "SIGINT" }],
        ["work.ended", { kind: "canceled", reason: "SIGINT" }],
        ["run.ended", { kind: "canceled", reason: "SIGINT" }],
      ],
    );
    assert.equal(events.at(-1)?.type, "run.ended");
    assert.equal(clock.now(), 0);
  });

  it("statement 19: a cancel is over within 5 seconds even if a session neither stops nor closes", async () => {
    const abort = new AbortController();
    const never = new Promise<never>(() => {});
    const { outcome, clock, ended } = await run(ref("a"), () => assert.fail("replaced"), {
      signal: abort.signal,
      factory: {
        open: async () => ({
          kind: "opened",
          session: {
            id: "deaf",
            modelId: "worker",
            runTurn: () => {
              queueMicrotask(() => abort.abort("enough"));
              return never;
            },
            close: () => never,
          },
        }),
      },
    });
    assert.deepEqual([outcome, ended], [{ kind: "canceled", reason: "enough" }, ["a:canceled"]]);
    assert.ok(clock.now() < 5_000, `it took ${clock.now()} ms`);
  });

  it("statement 19: a session that opens only after the cancel is closed", async () => {
    const abort = new AbortController();
    let open = (): void => {};
    let closed = 0;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const { outcome } = await run(ref("a"), () => assert.fail("replaced"), {
      signal: abort.signal,
      factory: {
        async open() {
          queueMicrotask(() => abort.abort());
          await opened;
          const session = {
            id: "late",
            modelId: "worker",
            runTurn: () => assert.fail("no turn"),
            close: async () => void (closed += 1),
          };
          return { kind: "opened", session };
        },
      },
    });
    assert.equal(outcome.kind, "canceled");
    open();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(closed, 1);
  });

  it("limits: the job fails when it takes longer than jobMinutes, and what runs is stopped", async () => {
    const { outcome, ended, decisions, clock } = await run(par("a", "b"), () => ({ hang: true }), {
      limits: { jobMinutes: 1.5 },
    });
    assert.equal(clock.now(), 90_000);
    assert.deepEqual(outcome, {
      kind: "failed",
      reason: "exceeded limits.jobMinutes (1.5 minutes), set by limits.jobMinutes of the entry",
    });
    assert.deepEqual(ended, ["a:canceled", "b:canceled"]);
    assert.ok(
      decisions.includes(
        "[OPERATION] Exceeded limits.jobMinutes (1.5 minutes), set by limits.jobMinutes of the entry",
      ),
    );
  });

  it("statement 1: events that a session reports after its turn are dropped", async () => {
    const abort = new AbortController();
    let late = (): void => {};
    const started = (toolCallId: string) =>
      ({ kind: "tool.started", toolCallId, toolName: "bash", arguments: {} }) as const;
    const { events, outcome } = await play({
      tasks,
      work: ref("a"),
      play: () => ({}),
      signal: abort.signal,
      factory: {
        open: async () => ({
          kind: "opened",
          session: {
            id: "stubborn",
            modelId: "m",
            close: async () => {},
            runTurn: (_prompt, { onActivity }) => {
              onActivity(started("early"));
              late = () => onActivity(started("late"));
              queueMicrotask(() => abort.abort("enough"));
              return new Promise(() => {});
            },
          },
        }),
      },
    });
    late();
    assert.equal(outcome.kind, "canceled");
    assert.deepEqual(
      events.flatMap((event) => {
        if (event.type === "turn.ended") return ["turn.ended"];
        return event.type === "activity" && event.activity.kind === "tool.started"
          ? [`tool.started ${event.activity.toolCallId}`]
          : [];
      }),
      ["tool.started early", "turn.ended"],
    );
  });
});

/** The turn logic alone: what the real runtime does only sometimes, or only after an hour. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TurnOptions, TurnOutcome } from "../../src/engine/ports.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { within } from "../../src/platform/waiting.ts";
import type { RuntimeLife } from "../../src/runtime/runtime-process.ts";
import { OwnCalls, ToolNames } from "../../src/sessions/session-tools.ts";
import { runTurn, SessionStop, type UsableSession } from "../../src/sessions/turn.ts";
import type { CallQueue } from "../../src/sessions/call-queue.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { event, idle, message, PlayedSession, toolEnd, toolStart, userMessage } from "./events.ts";

interface Stage {
  readonly session: PlayedSession;
  readonly clock: FakeClock;
  readonly activities: SessionActivity[];
  readonly cancel: AbortController;
  readonly outcome: Promise<TurnOutcome>;
  /** The outcome of a turn that crashes, as soon as time allows. */
  readonly crash: () => Promise<Crash>;
  readonly die: (reason: string) => void;
}

const livingIn = (clock: Clock): RuntimeLife & { gone: boolean } => ({
  gone: false,
  ended: false,
  onDeath: () => () => undefined,
  answer: (call, milliseconds, signal) => within(call, milliseconds, clock, signal),
});

const usable = (session: PlayedSession, life: RuntimeLife): UsableSession => ({
  session,
  life,
  model: { modelId: "m", baseUrl: "http://localhost/v1" },
  calls: new OwnCalls(),
  names: new ToolNames([]),
  stopped: new SessionStop(),
});

/** Everything that is ready has happened. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

async function stage(
  options: Partial<TurnOptions> = {},
  prepare: (session: PlayedSession) => void = () => undefined,
  { clock = new FakeClock(), queue }: { clock?: FakeClock; queue?: CallQueue } = {},
): Promise<Stage> {
  const session = new PlayedSession();
  prepare(session);
  const cancel = new AbortController();
  const activities: SessionActivity[] = [];
  const exitListeners = new Set<(reason: string) => void>();
  const life = {
    ...livingIn(clock),
    onDeath(listener: (reason: string) => void) {
      exitListeners.add(listener);
      return () => exitListeners.delete(listener);
    },
  };
  const outcome = runTurn(
    usable(session, life),
    "prompt",
    {
      signal: cancel.signal,
      turnMs: 900_000,
      idleMs: 300_000,
      onActivity: (activity) => activities.push(activity),
      ...options,
    },
    { clock, queue },
  );
  void outcome.then(() => {
    assert.equal(exitListeners.size, 0, "unsubscribed from the runtime");
    assert.equal(session.listeners, 0, "unsubscribed from the session");
  });
  await settle();
  return {
    session,
    clock,
    activities,
    cancel,
    outcome,
    async crash() {
      const ended = await clock.runUntil(outcome);
      return ended.kind === "crashed" ? ended.crash : assert.fail(ended.kind);
    },
    die: (reason) => {
      life.gone = true;
      for (const listener of exitListeners) listener(reason);
    },
  };
}

const answer = { kind: "completed", toolCalls: [], text: "Hi" } as const;
const begun = userMessage("message-1");
const refused = () => event("session.error", { message: "Bad", errorType: "q" });

describe("a turn whose call waits for others", () => {
  it("says so once it has waited as long as it may be silent, also if a timer fires early", async () => {
    const clock = new FakeClock();
    const sleep = clock.sleep.bind(clock);
    clock.sleep = (milliseconds, signal) =>
      sleep(milliseconds === 6_000 ? 5_999 : milliseconds, signal);
    const told: number[] = [];
    const queue = { progressAt: 0, onWait: () => void told.push(clock.now()) };
    const { session, outcome } = await stage({ idleMs: 6_000 }, undefined, { clock, queue });
    session.play(begun);
    const others = async (): Promise<void> => {
      for (let second = 1; second <= 15; second += 1) {
        await clock.sleep(1_000);
        queue.progressAt = clock.now();
      }
      session.play(message("Hi"), idle());
    };
    void others();
    assert.deepEqual(await clock.runUntil(outcome), answer);
    assert.equal(told[0], 6_000);
  });
});

describe("where a turn begins and ends", () => {
  it("ignores everything before its own message", async () => {
    const { session, outcome, activities } = await stage();
    session.play(message("stale"), idle(), userMessage("another"), message("stale"), idle());
    session.play(begun, message("Hi"), idle());
    assert.deepEqual(await outcome, answer);
    assert.doesNotMatch(JSON.stringify(activities), /stale/);
  });

  it("takes events that arrive before send() has returned", async () => {
    let accept: (id: string) => void = () => undefined;
    const { session, outcome } = await stage({}, (one) => {
      one.onSend = () =>
        new Promise((resolve) => {
          accept = resolve;
        });
    });
    session.play(idle(), userMessage("message-1"), message("Hi"), idle());
    accept("message-1");
    assert.deepEqual(await outcome, answer);
  });

  it("a listener that throws changes nothing", async () => {
    const { session, clock, outcome } = await stage({
      onActivity: () => {
        throw new Error("listener");
      },
    });
    session.play(begun, message("Hi"), idle());
    assert.deepEqual(await outcome, answer);
    assert.equal(clock.now(), 0);
  });

  it("the text is the last message that has any", async () => {
    const { session, outcome } = await stage();
    session.play(
      begun,
      message("Let me see.", "m1"),
      message("Hi", "m2"),
      event("assistant.message", {
        content: "",
        messageId: "m3",
        toolRequests: [{ name: "view" }],
      }),
      message("not mine", "m4", "a-sub-agent"),
      idle(),
    );
    assert.deepEqual(await outcome, answer);
  });

  it("calls that share an id, or of which no start is reported, are unsuccessful", async () => {
    const { session, outcome } = await stage();
    const toolRequests = ["view", "bash"].map((name) => ({ toolCallId: "a", name }));
    session.play(
      begun,
      event("assistant.message", { messageId: "m", content: "", toolRequests }),
      toolStart("a", "view"),
      toolEnd("a"),
      toolStart("a", "bash"),
      toolEnd("a"),
      event("assistant.tool_call_delta", { toolCallId: "b", toolName: "job_boolean_false" }),
      toolEnd("b", false),
      toolEnd("c"),
      message("Hi"),
      idle(),
    );
    assert.deepEqual(await outcome, {
      ...answer,
      toolCalls: ["view", "bash", "job_boolean_false", "unknown"].map((name) => ({
        name,
        arguments: {},
        succeeded: false,
      })),
    });
  });

  it("waits for background work to end, and cancels it when it is silent for too long", async () => {
    const { session, clock, outcome } = await stage();
    session.tasks = [{ id: "shell-1", status: "running" }];
    session.play(begun, message("Hi"), event("assistant.idle"));
    assert.deepEqual(await clock.runUntil(outcome), answer);
    assert.equal(clock.now(), 300_000);
    assert.equal(session.calls.at(-1), "cancel shell-1");
    assert.equal(session.calls.includes("abort"), false);
  });

  it("ends soon when the runtime forgets to say that it is idle", async () => {
    const { session, clock, outcome } = await stage();
    session.play(begun, message("Hi"), event("assistant.idle"));
    assert.deepEqual(await clock.runUntil(outcome), answer);
    assert.ok(clock.now() < 2_000, `${clock.now()}`);
  });

  it("goes on when the model does, after background work has ended", async () => {
    const { session, clock, outcome } = await stage();
    session.tasks = [{ id: "shell-1", status: "running" }];
    session.play(begun, message("Wait."), event("assistant.idle"));
    await settle();
    session.play(event("assistant.turn_start", { turnId: "1" }), message("Hi", "m2"), idle());
    assert.deepEqual(await clock.runUntil(outcome), answer);
  });
});

describe("crashes", () => {
  for (const [what, events, expected] of [
    [
      "an answer that was begun after the last message, and is missing",
      [begun, message("Hi"), event("assistant.turn_start", { turnId: "1" }), idle()],
      { cause: "empty-answer" },
    ],
    ["an abort that is not ours", [begun, message("Hi"), idle(true)], { cause: "aborted" }],
    [
      "an error instead of the message",
      [event("session.error", { message: "No GitHub OAuth token", errorType: "query" }), idle()],
      {
        message: 'No GitHub OAuth token (model "m" of the model server http://localhost/v1).',
      },
    ],
  ] as const) {
    it(`${what} is one`, async () => {
      const { session, crash } = await stage();
      session.play(...events);
      const found = await crash();
      assert.deepEqual({ ...found, ...expected }, found);
    });
  }

  it("an error of the root is one, with what is known of it; one of a sub-agent is not", async () => {
    const { session, clock, outcome } = await stage();
    session.play(begun, toolStart("t1", "job_boolean_true", { argument: "a" }));
    session.play(event("session.error", { message: "sub", errorType: "query" }, "sub-agent"));
    session.play(toolEnd("t1"));
    session.play(
      event("session.error", { message: "Bad\n  advice", errorType: "query", statusCode: 400 }),
    );
    session.play(idle());
    assert.deepEqual(await clock.runUntil(outcome), {
      kind: "crashed",
      toolCalls: [{ name: "job_boolean_true", arguments: { argument: "a" }, succeeded: true }],
      crash: {
        cause: "rejected",
        message: 'The model server http://localhost/v1 answered 400 for model "m": "Bad".',
        status: 400,
        detail: '{"message":"Bad\\n  advice","errorType":"query","statusCode":400}',
      },
    });
    assert.deepEqual(session.calls, ["send"]);
  });

  it("after an error the session gets a moment to become quiet, no more", async () => {
    const { session, clock, crash } = await stage();
    session.play(begun, refused());
    await crash();
    assert.ok(clock.now() <= 2_000);
  });

  it("an answer without a visible character is one, whatever it is made of", async () => {
    const answered = async (text: string): Promise<string> => {
      const { session, outcome } = await stage();
      session.play(begun, message(text), idle());
      const result = await outcome;
      return result.kind === "crashed" ? result.crash.cause : result.kind;
    };
    for (const nothing of [
      ["  \n", "\u00a0\u3000", "\u200b", "\u2060\ufeff \u00ad", "\0", "\u2800", "\ufffc"],
      ["\ufffd \ufffd", "\ue000\u{f0000}", "\u0301", "\u3164\u200b", "\u0378"],
    ].flat())
      assert.equal(await answered(nothing), "empty-answer", JSON.stringify(nothing));
    for (const text of ["-", "\u2705", "\u0915\u093f", "e\u0301", "0\ufffd", "+"])
      assert.equal(await answered(text), "completed", text);
  });

  it("a session that is dead before the turn is one, and nothing is sent to it", async () => {
    const session = new PlayedSession();
    const clock = new FakeClock();
    const options = { signal: new AbortController().signal, turnMs: 1, idleMs: 1, onActivity() {} };
    const alive = livingIn(clock);
    const dead: RuntimeLife = {
      ...alive,
      gone: true,
      onDeath(listener: (reason: string) => void) {
        listener("It died.");
        return () => undefined;
      },
    };
    const ended = usable(session, alive);
    ended.stopped.stop();
    for (const [open, message] of [
      [usable(session, dead), "It died."],
      [ended, "The session was stopped."],
    ] as const) {
      const outcome = await clock.runUntil(runTurn(open, "prompt", options, { clock }));
      assert.equal(outcome.kind === "crashed" && outcome.crash.message, message);
    }
    assert.deepEqual(session.calls, []);
  });

  it("a prompt that is not taken in 15 s, or is refused, is one", async () => {
    const { clock, crash } = await stage({}, (session) => {
      session.onSend = () => new Promise(() => undefined);
    });
    assert.match((await crash()).message, /did not accept the prompt/);
    assert.equal(clock.now(), 15_000);
    const refusing = await stage({}, (session) => {
      session.onSend = () => Promise.reject(new Error("Session not found"));
    });
    assert.equal((await refusing.crash()).message, "Session not found");
  });

  it("nothing is told of a turn that has ended when its prompt is accepted after all", async () => {
    let accept = (_messageId: string): void => undefined;
    const { session, activities, crash } = await stage({}, (one) => {
      one.onSend = () => new Promise((resolve) => (accept = resolve));
    });
    session.play(begun, message("Hi"));
    await crash();
    accept("message-1");
    await settle();
    assert.deepEqual(activities, []);
  });

  it("the death of the runtime is one, at any time, and nobody asks the dead anything", async () => {
    for (const isBegun of [false, true]) {
      const { session, crash, die } = await stage({}, (one) => {
        if (!isBegun) one.onSend = () => new Promise(() => undefined);
      });
      if (isBegun) session.play(begun, toolStart("t1"));
      die("killed");
      assert.equal((await crash()).cause, "runtime-died");
      assert.deepEqual(session.calls, ["send"]);
    }
  });
});

describe("limits", () => {
  it("silence is measured from the last event, not from the start", async () => {
    const { session, clock, crash } = await stage();
    session.play(begun);
    for (let i = 0; i < 4; i += 1) {
      await clock.runUntil(clock.sleep(200_000));
      session.play(event("assistant.message_delta", { messageId: "m1", deltaContent: "x" }));
    }
    assert.equal((await crash()).cause, "deadline");
    assert.ok(clock.now() >= 900_000 && clock.now() < 905_000, `${clock.now()}`);
  });

  it("silence is no hang while a tool runs or a permission is open, and is again after that", async () => {
    const { session, clock, crash } = await stage({ turnMs: 3_600_000 });
    session.play(begun, toolStart("t1"));
    session.play(event("permission.requested", { requestId: "p1" }));
    await clock.runUntil(clock.sleep(400_000));
    session.play(event("permission.completed", { requestId: "p1" }));
    await clock.runUntil(clock.sleep(400_000));
    session.play(toolEnd("t1"));
    assert.equal((await crash()).cause, "deadline");
    assert.ok(clock.now() >= 1_100_000 && clock.now() < 1_105_000, `${clock.now()}`);
  });

  it("what a sub-agent does is no silence", async () => {
    const { session, clock, outcome } = await stage();
    session.play(begun);
    await clock.runUntil(clock.sleep(200_000));
    session.play(message("working", "m9", "sub-agent"));
    await clock.runUntil(clock.sleep(200_000));
    session.play(message("Hi"), idle());
    assert.deepEqual(await outcome, answer);
  });
});

describe("cancel", () => {
  it("ends within five seconds, whatever the runtime does", async () => {
    const { session, clock, cancel, outcome, activities } = await stage({}, (one) => {
      one.onAbort = () => new Promise(() => undefined);
    });
    session.play(begun, toolStart("t1"));
    cancel.abort();
    assert.deepEqual(await clock.runUntil(outcome), {
      kind: "canceled",
      toolCalls: [{ name: "view", arguments: {}, succeeded: false }],
    });
    assert.ok(clock.now() < 5_000);
    assert.deepEqual(
      activities.map(({ kind }) => kind),
      ["tool.started", "tool.ended"],
    );
  });

  it("wins over the crash that it causes", async () => {
    const { session, clock, cancel, outcome, die } = await stage();
    session.play(begun);
    cancel.abort();
    session.play(event("session.error", { message: "aborted", errorType: "query" }), idle(true));
    die("killed");
    assert.equal((await clock.runUntil(outcome)).kind, "canceled");
  });

  it("while the prompt is being sent counts too", async () => {
    const { clock, cancel, outcome } = await stage({}, (session) => {
      session.onSend = () => new Promise(() => undefined);
    });
    cancel.abort();
    assert.equal((await clock.runUntil(outcome)).kind, "canceled");
  });
});

it("after an error the turn ends only when the session is quiet, so that the next one can begin", async () => {
  const { session, clock, outcome } = await stage();
  let ended = false;
  void outcome.then(() => (ended = true));
  session.play(begun, refused());
  await settle();
  assert.equal(ended, false);
  session.play(idle());
  await settle();
  assert.equal(ended, true);
  assert.equal(clock.now(), 0);
});

it("a turn with a hundred thousand events leaves no timer and no listener behind", async () => {
  const { session, clock, outcome } = await stage();
  session.play(begun);
  for (let i = 0; i < 100_000; i += 1) {
    session.play(event("assistant.message_delta", { messageId: "m1", deltaContent: "x" }));
    if (i % 1_000 === 0) await settle();
  }
  session.play(message("Hi"), idle());
  assert.deepEqual(await outcome, answer);
  await settle();
  assert.equal(clock.waiting, 0);
});

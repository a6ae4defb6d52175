import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { sealed } from "../journal/rig.ts";
import { actionEvent } from "../rig/action-events.ts";
import { planned, ref } from "../rig/plan.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import * as samples from "../events/samples.ts";
import { rounds } from "../rig/nightly.ts";

const secret = "correct-horse-battery";
const redactor = createRedactor([secret, "decision", "12345678"]);
const work = { workId: 0, taskId: "t", iteration: 1 };

function acted(activity: SessionActivity, sessionId = "s"): RunEvent {
  return { at: 1, runId: "run", type: "activity", work, sessionId, turnId: "turn-1", activity };
}

test("secrets in nested values, in keys and in numbers of a model's arguments are masked", () => {
  const circular: Record<string, unknown> = {
    [`k-${secret}`]: [secret],
    [`k-${secret}${secret}`]: 1,
    n: 12345678,
    big: 5n,
  };
  circular["self"] = circular;
  const event = redactor.event(
    acted({
      kind: "model.replied",
      text: secret,
      toolCalls: [{ name: "n", arguments: circular }],
      subAgent: false,
    }),
  );
  assert.deepEqual(
    event,
    acted({
      kind: "model.replied",
      text: "***",
      toolCalls: [
        {
          name: "n",
          arguments: { "k-***": ["***"], "k-*** 2": 1, n: "***", big: "5", self: "[circular]" },
        },
      ],
      subAgent: false,
    }),
  );
});

test("arguments nested thousands of levels deep do not break it", () => {
  const event = redactor.event(
    acted({
      kind: "tool.started",
      toolCallId: "c",
      toolName: "b",
      arguments: `${"[".repeat(20_000)}"${secret}"${"]".repeat(20_000)}`,
    }),
  );
  assert.ok(!JSON.stringify(event).includes(secret));
});

test("an event keeps a megabyte of text at most, and a cut leaves no part of a secret", () => {
  const long = `${"x".repeat(900_000)}${`${secret}${"y".repeat(200)}`.repeat(2000)}`;
  const event = redactor.event(
    acted({
      kind: "model.replied",
      text: long,
      toolCalls: [{ name: "n", arguments: { a: long, b: "short" } }],
      subAgent: false,
    }),
  );
  assert.ok(event.type === "activity" && event.activity.kind === "model.replied");
  const { text, toolCalls } = event.activity;
  assert.ok(text.length < 1_100_000);
  assert.match(text, /… \(\d+ characters omitted\)$/);
  assert.deepEqual(toolCalls[0]?.arguments, {
    a: `… (${long.length} characters omitted)`,
    b: "short",
  });
  assert.ok(!JSON.stringify(event).includes(secret.slice(0, 6)));
  assert.deepEqual(redactor.event(event), event);
});

test("the plan of a run is redacted, the names that an entry gives too", () => {
  const event = redactor.event({
    at: 1,
    runId: "run",
    type: "run.started",
    jobName: "job",
    workingDirectory: "/w",
    ...planned(ref(0, "task", `model-${secret}`)),
    models: { driving: secret, [secret]: "m" },
    permissions: { [`task-${secret}`]: { preset: "read-only", url: [`https://a/${secret}`] } },
    userInput: `my key is ${secret}`,
  });
  assert.ok(event.type === "run.started" && !JSON.stringify(event).includes(secret));
  assert.deepEqual(event.models, { driving: "***", "***": "m" });
  assert.deepEqual(Object.keys(event.permissions), ["task-***"]);
  assert.equal(event.userInput, "my key is ***");
});

test("of a delta alone no text passes: a secret may be split over two", () => {
  for (const kind of ["message.delta", "reasoning.delta", "tool.delta"] as const) {
    const event = redactor.event(
      acted({
        kind,
        messageId: "m",
        reasoningId: "m",
        toolCallId: "m",
        text: secret.slice(0, 9),
      }),
    );
    assert.ok(
      event.type === "activity" && event.activity.kind === kind && event.activity.text === "",
    );
  }
});

test("a secret with colors in it is masked in what a tool prints, and in its result", () => {
  const colored = "a correct-\u001b[1mhorse\u001b[0m-bat\0tery b";
  const { activities } = createRedactor([secret]);
  const one = { toolCallId: "1" };
  const shown = [
    ...Array.from(colored).flatMap((text) => activities("s", { kind: "tool.delta", ...one, text })),
    ...activities("s", {
      kind: "tool.ended",
      ...one,
      succeeded: true,
      result: { content: colored },
    }),
  ];
  assert.equal(shown.map((each) => ("text" in each ? each.text : "")).join(""), "a *** b");
  const ended = shown.at(-1);
  assert.equal(ended?.kind === "tool.ended" && ended.result?.content, "a *** b");
});

test("every text in progress has a stream of its own, and nothing of it is kept when it is over", () => {
  const texts = createRedactor([secret]);
  const act = (sessionId: string, activity: SessionActivity): readonly string[] =>
    texts
      .events(acted(activity, sessionId))
      .flatMap((event) =>
        event.type === "activity" && "text" in event.activity
          ? [`${event.activity.kind} ${event.activity.text}`]
          : [],
      );
  const message = (id: string, text: string): SessionActivity => ({
    kind: "message.delta",
    messageId: id,
    text,
  });
  const [begin, end] = [secret.slice(0, 5), secret.slice(5)];
  // Two sessions have an id in common, one has two ids, and reasoning has the id of a message.
  assert.deepEqual(act("a", message("1", `Hi ${begin}`)), ["message.delta Hi "]);
  assert.deepEqual(act("b", message("1", `Ho ${end} `)), [`message.delta Ho ${end} `]);
  assert.deepEqual(act("a", message("2", `${end} `)), [`message.delta ${end} `]);
  assert.deepEqual(act("a", { kind: "reasoning.delta", reasoningId: "1", text: `${end} ` }), [
    `message.delta ${end} `.replace("message", "reasoning"),
  ]);
  assert.deepEqual(act("a", { kind: "tool.delta", toolCallId: "1", text: begin }), ["tool.delta "]);
  assert.deepEqual(act("a", message("1", `${end}. `)), ["message.delta ***. "]);
  // Text that was held back comes before the end of its text, and before the end of its turn.
  assert.deepEqual(act("a", message("1", begin)), ["message.delta "]);
  assert.deepEqual(act("a", { kind: "message.ended", messageId: "1", text: "all" }), [
    `message.delta ${begin}`,
    "message.ended all",
  ]);
  const last = {
    at: 7,
    runId: "run",
    type: "turn.ended",
    work,
    sessionId: "a",
    turnId: "turn-1",
    purpose: "prompt",
    outcome: "completed",
  } as const;
  assert.deepEqual(
    texts.events(last).map((event) => [event.at, event.type]),
    [
      [7, "activity"],
      [7, "turn.ended"],
    ],
  );
  assert.deepEqual(
    texts.events(last).map((event) => [event.at, event.type]),
    [[7, "turn.ended"]],
  );
  // An id that is used again begins anew.
  assert.deepEqual(act("a", message("1", `${end} `)), [`message.delta ${end} `]);
});

test("the words of the vocabulary stay, whatever the secrets are", () => {
  const event = redactor.event({
    at: 1,
    runId: "run",
    type: "decision",
    work: null,
    decision: { kind: "note", text: "a decision" },
  });
  assert.deepEqual(event, {
    at: 1,
    runId: "run",
    type: "decision",
    work: null,
    decision: { kind: "note", text: "a ***" },
  });
});

test("an event without secrets is passed on as it is, and its original is never changed", () => {
  const plain = samples.story();
  for (const event of plain) {
    const isDelta = event.type === "activity" && event.activity.kind.endsWith(".delta");
    assert.equal(redactor.event(event) === event, !isDelta);
  }
  const frozen = Object.freeze({
    at: 1,
    runId: "run",
    type: "decision",
    work: null,
    decision: Object.freeze({ kind: "note", text: secret }),
  } as const);
  redactor.event(frozen);
  assert.equal(frozen.decision.text, secret);
});

test("a secret put anywhere into any event is gone afterwards, and doing it twice changes nothing", () => {
  fc.assert(
    fc.property(samples.body, (body) => {
      const replacer = (key: string, value: unknown): unknown =>
        typeof value === "string" &&
        !/^(type|kind|role|purpose|field|outcome|cause|status|execution|preset|atMostReached|finish)$/.test(
          key,
        )
          ? `${secret}${value}`
          : value;
      const event = redactor.event({ at: 1, ...JSON.parse(JSON.stringify(body, replacer)) });
      assert.ok(!JSON.stringify(event).includes(secret), JSON.stringify(event));
      assert.deepEqual(redactor.event(event), event);
    }),
    rounds(500),
  );
});

test("every text of documents and actions is masked, and the words of the protocol stay", () => {
  const words = new Set(["type", "kind", "status", "execution"]);
  const vocabulary = ["succeeded", "skipped", "running", "SYNC", "tool", "progress_bar"];
  const masks = createRedactor([secret, ...vocabulary]);
  fc.assert(
    fc.property(actionEvent, (action) => {
      const hidden = (value: unknown, inThought: boolean): unknown => {
        if (typeof value === "string") return `${secret}${value}`;
        if (Array.isArray(value)) return value.map((one) => hidden(one, inThought));
        if (typeof value !== "object" || value === null) return value;
        return Object.fromEntries(
          Object.entries(value).map(([key, one]) => [
            key,
            // The `type` of a thought is a word of the model.
            words.has(key) && !inThought ? one : hidden(one, inThought || key === "thoughts"),
          ]),
        );
      };
      const body: RunEvent = JSON.parse(
        JSON.stringify({
          at: 1,
          runId: "run",
          type: "action",
          work,
          action: hidden(action, false),
        }),
      );
      const event = masks.event(body);
      assert.ok(!JSON.stringify(event).includes(secret), JSON.stringify(event));
      assert.deepEqual(masks.event(event), event);
      // It is still an event of the same kind, with the same status.
      assert.deepEqual(parseJournal(sealed([event]).join("")).problems, []);
      for (const word of words) {
        assert.equal(Reflect.get(Object(event), word), Reflect.get(body, word));
        assert.equal(
          Reflect.get(event.type === "action" ? event.action : {}, word),
          Reflect.get(action, word),
        );
      }
    }),
    rounds(500),
  );
});

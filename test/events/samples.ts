/** Events for tests: arbitrary ones in any order, and one run that makes sense. */
import * as fc from "fast-check";
import type { MadeDecision } from "../../src/events/decision.ts";
import type { RunEvent, RunEventBody, WorkRef } from "../../src/events/event.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { chart } from "../rig/flow-events.ts";
import { plannedTasks } from "../rig/plan.ts";
import { everyEvent } from "./every-event.ts";

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);
const count = fc.nat({ max: 5000 });
const workRef: fc.Arbitrary<WorkRef> = fc.record({
  workId: fc.nat({ max: 4 }),
  taskId: fc.constantFrom("a", "b", "c"),
  iteration: fc.integer({ min: 1, max: 3 }),
});
/** Values that replace texts, numbers and names of `everyEvent`. */
const drawn = fc.record({
  work: workRef,
  texts: fc.array(text, { minLength: 1, maxLength: 4 }),
  counts: fc.array(count, { minLength: 1, maxLength: 3 }),
  given: fc.oneof(text, fc.json(), fc.jsonValue()),
  names: fc.record({
    sessionId: fc.constantFrom("x", "y", "z"),
    turnId: fc.constantFrom("x", "y", "z"),
    toolCallId: fc.constantFrom("x", "y", "z"),
    toolName: fc.constantFrom("bash", "job_prepare_document"),
    // Of a plan: an event has that of its work.
    taskId: fc.constantFrom("a", "b"),
    // The last file is not in the plan of the workflow.
    file: fc.constantFrom("flow.wf.md", "publish.wf.md", "constructor"),
    activity: fc.constantFrom("EXECUTE_BUILD", "CHECK_OK", "ASK_SURE", "<b>```", "PROMPT_X"),
  }),
  step: fc.integer({ min: 1, max: 6 }),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

const free =
  /^(?:advice|code|content|detail|jobName|lastError|markdown|message|messageId|modelId|output|prompt|question|reason|response|result|tail|target|text|title|userInput|version)$/;
const counted = /^(?:\w+Tokens|cost|durationMs|exitCode|depth|script)$/;

function varied(event: RunEventBody, { texts, counts, names, ...draw }: Drawn): RunEventBody {
  const others = new Map<string, unknown>(Object.entries(names));
  let nth = 0;
  const changed: RunEventBody = JSON.parse(JSON.stringify(event), (key, value: unknown) => {
    nth += 1;
    if (typeof value === "string")
      return free.test(key) ? texts[nth % texts.length] : (others.get(key) ?? value);
    if (typeof value === "number") {
      if (key === "step" || key === "hit") return draw.step;
      if (key === "workIdInJob") return nth % 7;
      return counted.test(key) ? counts[nth % counts.length] : value;
    }
    if (key === "arguments") return draw.given;
    if (key === "chart") return chart;
    return key === "work" && Object(value).workId !== undefined ? draw.work : value;
  });
  return changed;
}

const types = [...new Set(everyEvent.map(({ type }) => type))];

export const body: fc.Arbitrary<RunEventBody> = fc
  .tuple(
    fc.oneof(
      ...types.map((type) => fc.constantFrom(...everyEvent.filter((one) => one.type === type))),
    ),
    drawn,
  )
  .map(([event, draw]) => varied(event, draw));

/** In any order, with a clock that may stand still but not run backwards. */
export const events: fc.Arbitrary<RunEvent[]> = fc
  .array(fc.tuple(fc.nat({ max: 5000 }), body), { maxLength: 60 })
  .map((steps) => {
    let at = 0;
    return steps.map(([wait, body]) => ({ at: (at += wait), runId: "run", ...body }));
  });

export const review: WorkRef = { workId: 0, taskId: "review", iteration: 1 };

/** One task that crashes once, is retried once and succeeds, and one that is never reached. */
export function story(): RunEvent[] {
  const act = (activity: SessionActivity, sessionId: string): RunEventBody => ({
    type: "activity",
    work: review,
    sessionId,
    turnId: "turn-1",
    activity,
  });
  const open = (sessionId: string, attempt: number): RunEventBody => ({
    type: "session.started",
    work: review,
    sessionId,
    modelId: "m1",
    role: "both",
    retry: 0,
    attempt,
  });
  const turn = (sessionId: string, retry: number, attempt: number): RunEventBody => ({
    type: "turn.started",
    work: review,
    sessionId,
    turnId: "turn-1",
    modelId: "m1",
    purpose: "prompt",
    retry,
    attempt,
    prompt: "Review it.",
  });
  const ended = (
    sessionId: string,
    purpose: "prompt" | "criteria",
    outcome: "completed" | "crashed",
  ): RunEventBody => ({
    type: "turn.ended",
    work: review,
    sessionId,
    turnId: "turn-1",
    purpose,
    outcome,
  });
  const decide = (decision: MadeDecision): RunEventBody => ({
    type: "decision",
    work: review,
    decision,
  });
  const used: SessionActivity = {
    kind: "model.used",
    modelId: "m1",
    inputTokens: 1000,
    outputTokens: 20,
    cacheReadTokens: 300,
    reasoningTokens: 4,
    cost: 0.5,
    durationMs: 70,
    subAgent: false,
  };
  const crash = {
    cause: "overloaded",
    message: "Bad gateway",
    status: 502,
    detail: "{}",
  } as const;
  const bodies: RunEventBody[] = [
    {
      type: "run.started",
      jobName: "nightly",
      entryFile: "jobs.yml",
      workingDirectory: "repo",
      ...plannedTasks([
        ["review", "m1"],
        ["publish", "m2"],
      ]),
    },
    { type: "work.started", work: review, modelId: "m1" },
    open("uuid-1", 1),
    turn("uuid-1", 0, 1),
    ended("uuid-1", "prompt", "crashed"),
    decide({ kind: "session-crashed", purpose: "prompt", attempt: 1, attempts: 5, crash }),
    { type: "session.ended", work: review, sessionId: "uuid-1", role: "both", succeeded: false },
    decide({ kind: "further-attempt", purpose: "prompt", attempt: 2, attempts: 5, modelId: "m1" }),
    open("uuid-2", 2),
    turn("uuid-2", 0, 2),
    act({ kind: "message.delta", messageId: "m", text: "I " }, "uuid-2"),
    act(
      {
        kind: "tool.started",
        toolCallId: "call-1",
        toolName: "job_prepare_document",
        arguments: { argument: "  docs/report.md \nsecond line" },
      },
      "uuid-2",
    ),
    act({ kind: "tool.ended", toolCallId: "call-1", succeeded: true }, "uuid-2"),
    act(used, "uuid-2"),
    act({ kind: "message.ended", messageId: "m", text: "I am\ndone." }, "uuid-2"),
    ended("uuid-2", "prompt", "completed"),
    decide({
      kind: "criteria-failed",
      field: "toolExecuted",
      content: "grep",
      reason: "grep was not executed",
    }),
    decide({ kind: "criteria-retry", retry: 1, of: 2, reason: "grep was not executed" }),
    turn("uuid-2", 1, 1),
    act(used, "uuid-2"),
    ended("uuid-2", "prompt", "completed"),
    { type: "session.ended", work: review, sessionId: "uuid-2", role: "both", succeeded: true },
    decide({ kind: "task-succeeded" }),
    { type: "work.ended", work: review, outcome: { kind: "succeeded" } },
    { type: "run.ended", outcome: { kind: "failed", reason: "publish is missing" } },
  ];
  return bodies.map((body, index) => ({ at: 10_000 + index * 1000, runId: "run", ...body }));
}

/** Events for tests: arbitrary ones in any order, and one run that makes sense. */
import type { EffectResult, StepInput } from "../../src/events/flow.ts";
import * as fc from "fast-check";
import type { MadeDecision } from "../../src/events/decision.ts";
import type { RunEvent, RunEventBody, WorkRef } from "../../src/events/event.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import type { PlannedLeaf, PlannedTree } from "../../src/events/plan.ts";
import { actionEvent } from "../rig/action-events.ts";
import { chart, flowTree } from "../rig/flow-events.ts";
import { planned, plannedTasks, ref } from "../rig/plan.ts";

const text = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: "binary", maxLength: 20 }));
const count = fc.nat({ max: 5000 });
const natural = fc.integer({ min: 1, max: 5000 });
const workRef: fc.Arbitrary<WorkRef> = fc.record({
  workId: fc.nat({ max: 4 }),
  taskId: fc.constantFrom("a", "b", "c"),
  iteration: fc.integer({ min: 1, max: 3 }),
});
const sessionId = fc.constantFrom("x", "y", "z");
const role = fc.constantFrom("driving" as const, "task" as const, "both" as const);
const purpose = fc.constantFrom("availability" as const, "prompt" as const, "criteria" as const);
const crash = fc.record({ cause: fc.constant("session-error" as const), message: text });

export const decision: fc.Arbitrary<MadeDecision> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("criteria-failed" as const, "criteria-passed" as const),
    field: fc.constant("condition" as const),
    content: text,
    reason: text,
  }),
  fc.record({
    kind: fc.constant("session-crashed" as const),
    purpose,
    attempt: natural,
    attempts: natural,
    crash,
  }),
  fc.record({
    kind: fc.constant("criteria-retry" as const),
    retry: natural,
    of: natural,
    reason: text,
  }),
  fc.constant({ kind: "task-succeeded" as const }),
  fc.record({ kind: fc.constant("task-failed" as const), reason: text }),
  fc.record({ kind: fc.constant("note" as const), text }),
);

export const activity: fc.Arbitrary<SessionActivity> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("message.delta" as const, "message.ended" as const),
    messageId: text,
    text,
  }),
  fc.record({
    kind: fc.constant("tool.started" as const),
    toolCallId: sessionId,
    toolName: fc.constantFrom("bash", "job_prepare_document"),
    arguments: fc.oneof(text, fc.json(), fc.jsonValue()),
  }),
  fc.record({
    kind: fc.constant("tool.ended" as const),
    toolCallId: sessionId,
    succeeded: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("model.replied" as const),
    text,
    toolCalls: fc.array(fc.record({ name: text, arguments: fc.jsonValue() }), { maxLength: 2 }),
    subAgent: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("model.used" as const),
    modelId: text,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    reasoningTokens: count,
    cost: count,
    durationMs: count,
    subAgent: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("permission.denied" as const),
    operation: text,
    target: text,
    reason: text,
  }),
);

const runOutcome = fc.oneof(
  fc.constant({ kind: "succeeded" as const }),
  fc.record({
    kind: fc.constantFrom("failed" as const, "canceled" as const),
    reason: text,
  }),
);

/** Of a file of a workflow, or of one that its plan doesn't have. */
const stepPlace = fc.constantFrom(
  { file: "flow.wf.md", activity: "EXECUTE_BUILD" },
  { file: "flow.wf.md", activity: "CHECK_OK" },
  { file: "publish.wf.md", activity: "ASK_SURE" },
  { file: "flow.wf.md", activity: "<b>```" },
  { file: "constructor", activity: "PROMPT_X" },
);
const step = fc.integer({ min: 1, max: 6 });
const script = fc.record({ tag: fc.constantFrom("sh", "mermaid", "```"), code: text });
const stepInput: fc.Arbitrary<StepInput> = fc.oneof(
  fc.record({ kind: fc.constant("prompt" as const), agent: count, text }),
  fc.record({ kind: fc.constant("ask" as const), question: text, times: count }),
  fc.record({
    kind: fc.constant("execute" as const),
    scripts: fc.array(script, { maxLength: 3 }),
  }),
);
const effect: fc.Arbitrary<EffectResult> = fc.oneof(
  fc.constant({ kind: "passed" as const }),
  fc.record({ kind: fc.constantFrom("answered" as const, "read" as const), text }),
  fc.record({
    kind: fc.constant("executed" as const),
    runs: fc.array(fc.record({ code: text, output: text, exitCode: count }), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constantFrom("failed" as const, "stopped" as const), reason: text }),
);
const stepEvent: fc.Arbitrary<RunEventBody> = fc.oneof(
  fc
    .record({ work: workRef, step, place: stepPlace, hit: natural, depth: count, input: stepInput })
    .map(({ place, ...rest }) => ({ type: "step.started" as const, ...place, ...rest })),
  fc.record({
    type: fc.constant("step.output" as const),
    work: workRef,
    step,
    script: count,
    text,
  }),
  fc
    .record({
      work: workRef,
      step,
      place: stepPlace,
      succeeded: fc.boolean(),
      reason: text,
      to: fc.constantFrom("CHECK_OK", "PROMPT_PLAN"),
      result: text,
      variables: fc.dictionary(text, text, { maxKeys: 3 }),
      effects: fc.array(effect, { maxLength: 3 }),
    })
    .map(({ place, ...rest }) => ({ type: "step.ended" as const, ...place, ...rest })),
);

const { tree } = fc.letrec<{ ref: PlannedLeaf; tree: PlannedTree }>((tie) => ({
  ref: fc.oneof(
    fc.record({
      kind: fc.constant("Ref" as const),
      workIdInJob: fc.nat({ max: 6 }),
      taskId: fc.constantFrom("a", "b"),
      modelId: text,
    }),
    fc.nat({ max: 6 }).map((workId) => flowTree(chart, workId)),
  ),
  tree: fc.oneof(
    { maxDepth: 3 },
    tie("ref"),
    fc.record({
      kind: fc.constantFrom("Seq" as const, "Par" as const),
      works: fc.array(tie("tree"), { maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("Loop" as const), body: tie("tree") }),
    fc.record({
      kind: fc.constant("Loop" as const),
      body: tie("tree"),
      postCondition: fc.tuple(fc.boolean(), tie("tree")),
      atMost: fc.integer({ min: 1, max: 9 }),
    }),
    fc.record({
      kind: fc.constant("Alt" as const),
      condition: tie("tree"),
      trueWork: tie("tree"),
    }),
  ),
}));

export const body: fc.Arbitrary<RunEventBody> = fc.oneof(
  fc.record({
    type: fc.constant("run.started" as const),
    jobName: text,
    workingDirectory: text,
    version: text,
    entryFingerprint: text,
    models: fc.record({ driving: text }),
    limits: fc.constant(planned(ref(0, "a")).limits),
    permissions: fc.constant({ a: "read-only" as const }),
    userInput: text,
    work: tree,
  }),
  fc.record({ type: fc.constant("run.ended" as const), outcome: runOutcome }),
  fc.record({ type: fc.constant("action" as const), work: workRef, action: actionEvent }),
  fc.record({ type: fc.constant("work.started" as const), work: workRef, modelId: text }),
  fc.record({
    type: fc.constant("work.ended" as const),
    work: workRef,
    outcome: fc.oneof(runOutcome, fc.record({ kind: fc.constant("crashed" as const), crash })),
  }),
  fc.record({ type: fc.constant("decision" as const), work: fc.option(workRef), decision }),
  fc.record({
    type: fc.constant("session.started" as const),
    work: workRef,
    sessionId,
    modelId: text,
    role,
    retry: count,
    attempt: natural,
  }),
  fc.record({
    type: fc.constant("session.ended" as const),
    work: workRef,
    sessionId,
    role,
    succeeded: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("turn.started" as const),
    work: workRef,
    sessionId,
    turnId: sessionId,
    modelId: text,
    purpose,
    retry: count,
    attempt: natural,
    prompt: text,
  }),
  fc.record({
    type: fc.constant("turn.ended" as const),
    work: workRef,
    sessionId,
    turnId: sessionId,
    purpose,
    outcome: fc.constantFrom("completed" as const, "crashed" as const, "canceled" as const),
  }),
  fc.record({
    type: fc.constant("activity" as const),
    work: workRef,
    sessionId,
    turnId: sessionId,
    activity,
  }),
  stepEvent,
);

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

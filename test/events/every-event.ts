/** One event of every kind, with every field that it may have. */
import { workflowLimits } from "../../src/entry/model.ts";
import type { ActionEvent } from "../../src/events/action.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { MadeDecision } from "../../src/events/decision.ts";
import type { RunEventBody, WorkOutcome } from "../../src/events/event.ts";
import type { PreviousFinding, Proposal } from "../../src/events/output-shapes.ts";
import type { PlannedLimits } from "../../src/events/plan.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { buildStory, chart, flowTree } from "../rig/flow-events.ts";
import { planned, ref } from "../rig/plan.ts";

const crash = {
  cause: "overloaded",
  status: 502,
  retryAfterMs: 10,
  message: "Bad gateway",
  detail: "{}",
} as const;
const availability = { field: "condition", content: "c", reason: "r" } as const;
const criteria = { field: "toolExecuted", content: "c", reason: "r" } as const;

const decisions: {
  readonly [Kind in MadeDecision["kind"]]: Omit<Extract<MadeDecision, { kind: Kind }>, "kind">;
} = {
  "availability-passed": availability,
  "availability-failed": availability,
  "task-unavailable": { reason: "r" },
  "task-skipped": { reason: "r" },
  "criteria-passed": criteria,
  "criteria-failed": criteria,
  "criteria-retry": { retry: 1, of: 2, reason: "r" },
  "retries-exhausted": { retries: 1, reason: "r" },
  "session-crashed": { purpose: "prompt", attempt: 1, attempts: 5, crash },
  "further-attempt": {
    purpose: "criteria",
    attempt: 2,
    attempts: 5,
    modelId: "m",
  },
  "attempts-exhausted": { purpose: "availability", attempts: 5, advice: "a" },
  waiting: { milliseconds: 5, cause: "overloaded", status: 503 },
  "runtime-restarted": { reason: "r" },
  "model-unreachable": { server: "s", reason: "r" },
  "sandbox-missing": { reason: "bubblewrap is not installed" },
  "leftovers-ended": { runs: 1 },
  "tool-server-failed": { server: "s", reason: "r" },
  "name-missing": { activity: "PROMPT_A", name: "X" },
  "left-out": { item: "c", reason: "r" },
  "script-skipped": { activity: "EXECUTE_A", reason: "r" },
  "command-passed": { name: "npm test", tail: "ok", file: "npm-test.log" },
  "command-failed": { name: "npm test", how: "exit 1", tail: "not ok", file: "npm-test.log" },
  "limit-exceeded": {
    scope: { kind: "job" },
    limit: "tokens",
    value: 5,
    used: 6,
    setBy: "the entry",
    lastError: "e",
  },
  "task-succeeded": {},
  "task-failed": { reason: "r" },
  "tool-left-out": { reason: "r" },
  "variable-missing": { name: "n" },
  note: { text: "t" },
};

const activities: {
  readonly [Kind in SessionActivity["kind"]]: Omit<
    Extract<SessionActivity, { kind: Kind }>,
    "kind"
  >;
} = {
  "reasoning.started": { reasoningId: "i" },
  "tool.announced": { toolCallId: "i" },
  "reasoning.delta": { reasoningId: "i", text: "t" },
  "reasoning.ended": { reasoningId: "i", text: "t" },
  "message.started": { messageId: "i" },
  "message.delta": { messageId: "i", text: "t" },
  "message.ended": { messageId: "i", text: "t" },
  "tool.started": {
    toolCallId: "i",
    parentToolCallId: "p",
    toolName: "n",
    arguments: { any: ["thing"] },
  },
  "tool.delta": { toolCallId: "i", text: "t", toolName: "n" },
  "tool.ended": {
    toolCallId: "i",
    toolName: "n",
    arguments: { any: ["thing"] },
    succeeded: false,
    stopped: true,
    result: { content: "c", detailedContent: "d" },
    error: { message: "m", code: "c" },
  },
  "sub-agent.tool.failed": { toolCallId: "i", error: { message: "m" } },
  "agent.started": { agentTurnId: "i" },
  "agent.ended": { agentTurnId: "i" },
  idle: {},
  "model.replied": {
    text: "t",
    reasoning: "r",
    toolCalls: [{ id: "i", name: "n", arguments: { any: "thing" } }],
    subAgent: true,
  },
  "model.used": {
    modelId: "m",
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 1,
    reasoningTokens: 1,
    cost: 1,
    durationMs: 1,
    finish: "length",
    subAgent: false,
  },
  "model.failed": { modelId: "m", statusCode: 502, message: "m", subAgent: false },
  "permission.denied": { operation: "o", target: "t", reason: "r" },
};

const said = { message: "m", detail: "{}" };
const otherCrashes: readonly Crash[] = [
  { cause: "auth", status: 401, ...said },
  { cause: "forbidden", status: 403, ...said },
  { cause: "not-found", status: 404, ...said },
  { cause: "too-large", status: 413, ...said },
  { cause: "rejected", status: 400, ...said },
  { cause: "rate-limited", status: 429, retryAfterMs: 1, ...said },
  { cause: "no-tools", status: 400, ...said },
  { cause: "session-error", status: 0, ...said },
  {
    cause: "deadline",
    limit: "idleMinutes",
    refusal: { cause: "overloaded", status: 503, retryAfterMs: 1 },
    ...said,
  },
  ...(["redirect", "unreachable", "empty-answer", "filtered", "answer-too-long"] as const).map(
    (cause) => ({ cause, ...said }),
  ),
  ...(["denied", "aborted", "runtime-died", "start-failed", "not-installed"] as const).map(
    (cause) => ({ cause, ...said }),
  ),
  { cause: "configuration", ...said },
  { cause: "internal", ...said },
];

const work = { workId: 0, taskId: "a", iteration: 1 };
const session = { work, sessionId: "s" };
const turn = { ...session, turnId: "t" };
const outcomes: readonly WorkOutcome[] = [
  { kind: "succeeded" },
  { kind: "failed", reason: "r", unanswered: true },
  { kind: "crashed", crash },
  { kind: "canceled", reason: "r" },
];

const action = { id: "i", iteration: 1 };
const actionEvents: {
  readonly [Type in ActionEvent["type"]]: Omit<Extract<ActionEvent, { type: Type }>, "type">;
} = {
  "actions.accepted": {
    iteration: 1,
    claimedStatus: "EXECUTING",
    thoughts: [{ type: "PLAN", content: "c" }],
    variables: { set: ["s"], deleted: ["d"] },
    actions: 1,
    stop: true,
    response: "r",
  },
  "actions.rejected": { iteration: 1, problems: [{ path: "/p", code: "c", message: "m" }] },
  "actions.warning": { iteration: 0, text: "t" },
  "action.waiting": {
    ...action,
    action: "a",
    kind: "tool",
    execution: "ASYNC",
    group: "g",
    inThought: true,
    requires: ["r"],
    display: { kind: "progress_bar", label: "l" },
  },
  "action.started": { ...action, params: "{}" },
  "action.progress": { ...action, percent: 5, message: "m" },
  "action.ended": {
    ...action,
    status: "skipped",
    milliseconds: 1,
    reason: "r",
    cause: { id: "c", status: "timed_out" },
    output: "o",
    outputCharacters: 1,
    replayed: true,
  },
  "card.ended": { id: "i", status: "timed_out", milliseconds: 1, reason: "r" },
};

const everyLimit: PlannedLimits = {
  ...planned(ref(0, "a")).limits,
  ...Object.fromEntries(workflowLimits.map((name) => [name, { value: 1, source: "default" }])),
};

const file = { path: "p", mode: "100644", content: "c", encoding: "utf-8" } as const;
const target = { number: 1, reason: "r" };
const proposals: {
  readonly [Kind in Proposal["kind"]]: Omit<Extract<Proposal, { kind: Kind }>, "kind">;
} = {
  comment: { ...target, body: "b" },
  label: { ...target, labels: ["l"] },
  reviewers: { ...target, reviewers: ["r"] },
  issue: { title: "t", body: "b", labels: ["l"], reason: "r" },
  pull_request: { title: "t", body: "b", branch: "b", reason: "r", base: "c", files: [file] },
  push: { title: "t", body: "b", reason: "r", base: "c", files: [file] },
  close: target,
};

const handedIn: readonly RunEventBody[] = [
  {
    type: "finding.reported",
    work,
    finding: {
      path: "p",
      line: 1,
      endLine: 2,
      headLine: 1,
      severity: "error",
      rule: "r",
      title: "t",
      message: "m",
      suggestion: "s",
      task: "a",
      fingerprint: "f",
      lineDigest: "d",
    },
  },
  { type: "finding.resolved", work, finding: "k", reason: "r", first: true },
  { type: "reply.given", work, finding: "k", message: "m", first: true },
  { type: "verdict.given", work, verdict: { verdict: "reject", reason: "r" } },
  {
    type: "output.refused",
    work,
    refused: { kind: "finding", severity: "error", path: "p", message: "m", reason: "r" },
  },
  { type: "note.added", work, note: "n" },
  ...Object.entries(proposals).map(([kind, fields]): RunEventBody => ({
    type: "proposal.made",
    work,
    proposal: JSON.parse(JSON.stringify({ kind, ...fields })),
  })),
];

const found: PreviousFinding = {
  id: "F1",
  key: "k",
  severity: "error",
  rule: "r",
  path: "p",
  line: 1,
  text: "t",
  thread: "resolved",
  resolvedBy: "b",
  byPerson: true,
  outdated: true,
  gone: true,
  replies: [{ author: "a", text: "t", own: true }],
};

export const everyEvent: readonly RunEventBody[] = [
  {
    type: "run.started",
    jobName: "j",
    entryFile: "e.yml",
    workingDirectory: "/w",
    ...planned({
      kind: "Seq",
      works: [
        { ...ref(0, "a"), modelOverride: { category: "c" } },
        { kind: "Par", works: [{ ...ref(1, "a"), modelOverride: { id: "m" } }] },
        {
          kind: "Loop",
          preCondition: [true, ref(2, "a")],
          body: ref(3, "a"),
          postCondition: [false, ref(4, "a")],
          atMost: 3,
          atMostReached: "succeed",
        },
        { kind: "Alt", condition: ref(5, "a"), trueWork: ref(6, "a"), falseWork: ref(7, "a") },
        flowTree(chart, 8),
      ],
    }),
    limits: everyLimit,
    permissions: {
      a: "workspace",
      b: { preset: "all", read: ["r"], write: ["w"], shell: ["s"], url: ["u"], tools: ["t"] },
      c: { shell: true },
    },
    userInput: "u",
    actionTasks: ["a"],
    instructions: { commit: "c", files: [{ path: "p", sha256: "s", isCut: true }] },
    conversation: { findings: [found], lastReviewedHead: "h", round: 1, notes: ["n"] },
  },
  {
    type: "run.ended",
    outcome: { kind: "succeeded" },
    jobOutcome: { kind: "failed", reason: "r" },
  },
  { type: "run.ended", outcome: { kind: "canceled", reason: "r" } },
  { type: "report.given", work, title: "t", markdown: "m" },
  { type: "result.given", work, result: { a: 1 } },
  ...handedIn,
  { type: "work.started", work, modelId: "m" },
  ...outcomes.map((outcome): RunEventBody => ({ type: "work.ended", work, outcome, report: "r" })),
  ...otherCrashes.map((other): RunEventBody => ({
    type: "work.ended",
    work,
    outcome: { kind: "crashed", crash: other },
  })),
  { type: "session.started", ...session, modelId: "m", role: "both", retry: 0, attempt: 1 },
  { type: "session.ended", ...session, role: "driving", succeeded: true },
  {
    type: "turn.started",
    ...turn,
    modelId: "m",
    purpose: "prompt",
    retry: 0,
    attempt: 1,
    prompt: "p",
  },
  { type: "turn.ended", ...turn, purpose: "criteria", outcome: "crashed" },
  ...buildStory().events.flatMap(({ at: _at, runId: _runId, ...body }): RunEventBody[] =>
    body.type === "step.started" || body.type === "step.ended" ? [body] : [],
  ),
  { type: "step.output", work, step: 1, script: 0, text: "o" },
  {
    type: "step.ended",
    work,
    step: 1,
    file: "f",
    activity: "EXECUTE_A",
    succeeded: false,
    effects: [
      { kind: "passed" },
      { kind: "read", text: "t" },
      {
        kind: "executed",
        runs: [
          {
            code: "c",
            output: "o",
            outputCharacters: 1,
            outputFile: "f",
            exitCode: 143,
            timedOut: true,
          },
        ],
      },
      { kind: "failed", reason: "r" },
      { kind: "stopped", reason: "r" },
    ],
    shell: { workingDirectory: "/w", variables: { A: "b" }, removed: ["C"], functions: "" },
    restored: true,
  },
  ...Object.entries(actionEvents).map(([type, fields]): RunEventBody => ({
    type: "action",
    work,
    action: JSON.parse(JSON.stringify({ type, ...fields })),
  })),
  ...Object.entries(decisions).map(([kind, fields], index): RunEventBody => ({
    type: "decision",
    work: index % 2 === 0 ? work : null,
    decision: JSON.parse(JSON.stringify({ kind, ...fields })),
  })),
  ...Object.entries(activities).map(([kind, fields]): RunEventBody => ({
    type: "activity",
    ...turn,
    activity: JSON.parse(JSON.stringify({ kind, ...fields })),
  })),
];

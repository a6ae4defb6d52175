/** The JSON of every event, for readers of a journal and for the fields of decisions. */
import { actionEvent } from "./action-shapes.ts";
import type {
  Model,
  PermissionPreset,
  SandboxMode,
  PermissionRules,
  Permissions,
} from "../entry/model.ts";
import type { Crash, Refusal } from "./crash.ts";
import type {
  AvailabilityField,
  CriteriaField,
  Decision,
  DerivedDecision,
  MadeDecision,
  Purpose,
  SessionRole,
  WaitingCause,
} from "./decision.ts";
import type {
  RunEvent,
  RunEventBody,
  RunOutcome,
  RunStamp,
  TurnEnded,
  WorkOutcome,
  WorkRef,
} from "./event.ts";
import { limitName, limitScope, plannedLimits } from "./limit-shapes.ts";
import type { PlannedTree } from "./plan.ts";
import { sessionActivity } from "./activity-shapes.ts";
import {
  amount,
  both,
  count,
  dictionary,
  either,
  exactly,
  flag,
  list,
  natural,
  nested,
  nullable,
  optional,
  pair,
  partial,
  positive,
  record,
  tagged,
  text,
  words,
  yes,
  type Fields,
  type Shape,
  type ShapeKind,
} from "./shape.ts";
import { flowChart, stepEnded, stepPrinted, stepStarted } from "./step-shapes.ts";

const purpose = words<Purpose>({ availability: true, prompt: true, criteria: true });
const role = words<SessionRole>({ driving: true, task: true, both: true });
const availabilityField = words<AvailabilityField>({ previousTasks: true, condition: true });
const criteriaField = words<CriteriaField>({ toolExecuted: true, condition: true });

const said = { message: text, attempts: optional(natural), detail: optional(text) };
const statusIfAny = { status: optional(count), ...said };
const retryAfterMs = optional(amount);

type Causes<T extends { readonly cause: string }> = {
  readonly [Cause in T["cause"]]: Fields<Omit<Extract<T, { readonly cause: Cause }>, "cause">>;
};

const refusals: Causes<Refusal> = {
  auth: { status: optional(exactly(401)) },
  forbidden: { status: exactly(403) },
  "not-found": { status: exactly(404) },
  "too-large": { status: exactly(413) },
  rejected: { status: count },
  "rate-limited": { status: exactly(429), retryAfterMs },
  overloaded: { status: count, retryAfterMs },
};

const crashes: Causes<Crash> = {
  auth: { ...refusals.auth, ...said },
  forbidden: { ...refusals.forbidden, ...said },
  "not-found": { ...refusals["not-found"], ...said },
  "too-large": { ...refusals["too-large"], ...said },
  rejected: { ...refusals.rejected, ...said },
  "rate-limited": { ...refusals["rate-limited"], ...said },
  overloaded: { ...refusals.overloaded, ...said },
  "no-tools": statusIfAny,
  redirect: said,
  unreachable: said,
  "session-error": statusIfAny,
  "empty-answer": said,
  filtered: said,
  "answer-too-long": said,
  deadline: {
    ...said,
    limit: words<"turnMinutes" | "idleMinutes">({ turnMinutes: true, idleMinutes: true }),
    setBy: optional(text),
    refusal: optional(tagged<Refusal, "cause">("cause", refusals)),
  },
  denied: said,
  aborted: said,
  "runtime-died": { ...said, ended: optional(flag) },
  "start-failed": said,
  "not-installed": said,
  configuration: said,
  internal: said,
};

/** A plain string is its cause. */
const crash: Shape<Crash> = {
  ...tagged<Crash, "cause">("cause", crashes),
  is: Object.keys(crashes),
};

const availability = { field: availabilityField, content: text, reason: text };
const criteria = { field: criteriaField, content: text, reason: text };

type Cases<T extends { readonly kind: string }> = {
  readonly [Kind in T["kind"]]: Fields<Omit<Extract<T, { readonly kind: Kind }>, "kind">>;
};

const made: Cases<MadeDecision> = {
  "availability-passed": availability,
  "availability-failed": availability,
  "task-unavailable": { reason: text },
  "criteria-passed": criteria,
  "criteria-failed": criteria,
  "criteria-retry": { retry: natural, of: natural, reason: text },
  "retries-exhausted": { retries: count, reason: text },
  "session-crashed": { purpose, attempt: natural, attempts: natural, crash },
  "further-attempt": {
    purpose,
    attempt: natural,
    attempts: natural,
    modelId: text,
    waitingFor: optional(text),
  },
  "attempts-exhausted": { purpose, attempts: natural, advice: optional(text) },
  waiting: {
    milliseconds: amount,
    cause: words<WaitingCause>({
      "rate-limited": true,
      overloaded: true,
      unreachable: true,
      "runtime-ended": true,
    }),
    status: optional(natural),
  },
  "runtime-restarted": { reason: text },
  "model-unreachable": { server: text, reason: text },
  "sandbox-missing": { reason: text },
  "leftovers-ended": { runs: count },
  "tool-server-failed": { server: text, reason: text },
  "tool-left-out": { reason: text },
  "name-missing": { activity: text, name: text },
  "variable-missing": { name: text },
  "script-skipped": { activity: text, reason: text },
  "limit-exceeded": {
    scope: limitScope,
    limit: limitName,
    value: positive,
    used: optional(amount),
    setBy: optional(text),
    waitingFor: optional(text),
    attempt: optional(natural),
    attempts: optional(natural),
    lastError: optional(text),
  },
  "task-succeeded": { what: optional(words<"workflow">({ workflow: true })) },
  "task-failed": { reason: text },
  note: { text },
};

const derived: Cases<DerivedDecision> = {
  "session-started": { sessionId: text, modelId: text, role },
  "session-ended": { sessionId: text, role },
  "permission-denied": { operation: text, target: text, reason: text },
  "model-call-failed": { statusCode: optional(count), reason: optional(text) },
  "tool-call-failed": { tool: text, reason: text },
};

const decisions: Cases<Decision> = { ...made, ...derived };

/** The fields of every kind of decision, with their types. */
export const decisionFields: ReadonlyMap<string, ReadonlyMap<string, ShapeKind>> = new Map(
  Object.entries<Readonly<Record<string, Shape<unknown> | { readonly optional: Shape<unknown> }>>>(
    decisions,
  ).map(([kind, fields]) => [
    kind,
    new Map(
      Object.entries(fields).map(([name, field]) => [
        name,
        "optional" in field ? field.optional.is : field.is,
      ]),
    ),
  ]),
);

const model: Shape<Model> = either(
  record<{ readonly category: string }>({ category: text }),
  record<{ readonly id: string }>({ id: text }),
);

const tree: Shape<PlannedTree> = nested(() => anyTree);
const condition = pair(flag, tree);
const anyTree = tagged<PlannedTree, "kind">("kind", {
  Ref: { workIdInJob: count, taskId: text, modelId: text, modelOverride: optional(model) },
  Flow: {
    workIdInJob: count,
    file: text,
    taskId: text,
    params: dictionary(text),
    modelId: text,
    chart: flowChart,
    restoredSteps: optional(count),
  },
  Seq: { works: list(tree) },
  Par: { works: list(tree) },
  Loop: {
    preCondition: optional(condition),
    body: tree,
    postCondition: optional(condition),
    atMost: optional(natural),
    atMostReached: optional(words<"fail" | "succeed">({ fail: true, succeed: true })),
  },
  Alt: { condition: tree, trueWork: optional(tree), falseWork: optional(tree) },
});

const preset = words<PermissionPreset>({ "read-only": true, workspace: true, all: true });
const permissions: Shape<Permissions> = either(
  preset,
  partial<PermissionRules>({
    preset: optional(preset),
    read: optional(list(text)),
    write: optional(list(text)),
    shell: optional(either(yes, list(text))),
    url: optional(list(text)),
    hosts: optional(list(text)),
    tools: optional(list(text)),
    sandbox: optional(words<SandboxMode>({ auto: true, required: true, off: true })),
  }),
);

const runOutcome = tagged<RunOutcome, "kind">("kind", {
  succeeded: {},
  failed: { reason: text, advice: optional(text) },
  canceled: { reason: text },
});

const workOutcome = tagged<WorkOutcome, "kind">("kind", {
  succeeded: {},
  failed: { reason: text, unanswered: optional(yes) },
  crashed: { crash },
  canceled: { reason: text },
});

const work = record<WorkRef>({ workId: count, taskId: text, iteration: natural });
const session = { work, sessionId: text };
const turn = { ...session, turnId: text };
const turnOutcome = words<TurnEnded["outcome"]>({ completed: true, crashed: true, canceled: true });

const bodies: {
  readonly [Type in RunEventBody["type"]]: Fields<
    Omit<Extract<RunEventBody, { readonly type: Type }>, "type">
  >;
} = {
  "run.started": {
    jobName: text,
    entryFile: optional(text),
    workingDirectory: text,
    version: text,
    entryFingerprint: text,
    models: dictionary(text),
    limits: plannedLimits,
    permissions: dictionary(permissions),
    userInput: text,
    actionTasks: optional(list(text)),
    work: tree,
  },
  "run.ended": { outcome: runOutcome, jobOutcome: optional(runOutcome) },
  "work.started": { work, modelId: text },
  "work.ended": { work, outcome: workOutcome, report: optional(text) },
  decision: { work: nullable(work), decision: tagged<MadeDecision, "kind">("kind", made) },
  "session.started": { ...session, modelId: text, role, retry: count, attempt: natural },
  "session.ended": { ...session, role, succeeded: flag },
  "turn.started": { ...turn, modelId: text, purpose, retry: count, attempt: natural, prompt: text },
  "turn.ended": { ...turn, purpose, outcome: turnOutcome },
  activity: { ...turn, activity: sessionActivity },
  "step.started": { work, ...stepStarted },
  "step.output": { work, ...stepPrinted },
  "step.ended": { work, ...stepEnded },
  action: { work, action: actionEvent },
};

export const eventTypes: ReadonlySet<string> = new Set(Object.keys(bodies));

export const eventShape: Shape<RunEvent> = both(
  record<RunStamp>({ at: count, runId: text }),
  tagged<RunEventBody, "type">("type", bodies),
);

/** Decisions and crashes: the fields of every kind. */
import { limitName, limitScope } from "./plan-shapes.ts";
import {
  amount,
  count,
  exactly,
  flag,
  natural,
  optional,
  positive,
  tagged,
  text,
  words,
  type Fields,
  type Shape,
  type Tagged,
  type ObjectOf,
  type ShapeKind,
  type TypeOf,
} from "./shape.ts";

/** What a turn is for. */
export const purpose = words("availability", "prompt", "criteria");
/** `both`: the one session of a task that runs in a single model, or a borrowed one. */
export const role = words("driving", "task", "both");

/** The model server asks to wait. */
const overloads = {
  "rate-limited": {
    status: exactly(429),
    /** How long the model server asked to wait. The current SDK does not report it. */
    retryAfterMs: optional(amount),
  },
  overloaded: { status: count, retryAfterMs: optional(amount) },
};

/** The model server rejected the request with an HTTP status. */
const refusals = {
  /** Without a status: the runtime had no credentials to send. */
  auth: { status: optional(exactly(401)) },
  forbidden: { status: exactly(403) },
  "not-found": { status: exactly(404) },
  "too-large": { status: exactly(413) },
  rejected: { status: count },
  ...overloads,
};
const refusal: Shape<Refusal> = tagged("cause", refusals);

const said = {
  /** One sentence for users. */
  message: text,
  /** How many attempts were made, once no further one is. */
  attempts: optional(natural),
  /** The whole error as a JSON string (`errorToDetailedString`). */
  detail: optional(text),
};

const crashes = {
  auth: { ...refusals.auth, ...said },
  forbidden: { ...refusals.forbidden, ...said },
  "not-found": { ...refusals["not-found"], ...said },
  "too-large": { ...refusals["too-large"], ...said },
  rejected: { ...refusals.rejected, ...said },
  "rate-limited": { ...refusals["rate-limited"], ...said },
  overloaded: { ...refusals.overloaded, ...said },
  /** The model does not support tools, and agents need them. */
  "no-tools": { status: optional(count), ...said },
  /** The model server redirects every request. */
  redirect: said,
  /** There was no connection to the model server. */
  unreachable: said,
  /** Any other error that the session reported: a broken stream, an answer that is not JSON… */
  "session-error": { status: optional(count), ...said },
  /** Neither text nor a tool call. */
  "empty-answer": said,
  /** The content filter of the model blocked the answer. */
  filtered: said,
  /** The model did not stop, and was cut off. */
  "answer-too-long": said,
  deadline: {
    ...said,
    limit: words("turnMinutes", "idleMinutes"),
    /** The option, input or field that set the limit. Absent: it is the default. */
    setBy: optional(text),
    /** The answer of the model server after which the runtime kept silent. */
    refusal: optional(refusal),
  },
  /** Too many consecutive denials. */
  denied: said,
  /** The turn or the session was not ended by this run. */
  aborted: said,
  /** `ended`: agent-jobs ended it, because it hung or used too much memory. */
  "runtime-died": { ...said, ended: optional(flag) },
  /** The runtime or the session did not start. */
  "start-failed": said,
  /** There is no Copilot runtime. */
  "not-installed": said,
  /** Something that the session needs was not given, or is gone. */
  configuration: said,
  /** A bug in agent-jobs. */
  internal: said,
};

/** A plain string is its cause. */
export const crash: Shape<Crash> = { ...tagged("cause", crashes), is: Object.keys(crashes) };

const availability = {
  field: words("change", "previousTasks", "condition"),
  content: text,
  reason: text,
};
const criteria = {
  field: words("toolExecuted", "commands", "result", "condition"),
  content: text,
  reason: text,
};
const waitingCause = words("rate-limited", "overloaded", "unreachable", "runtime-ended");

const exceededLimit = {
  /** Its field in `limits` of an entry. */
  limit: limitName,
  value: positive,
  /** How much was used. Default: `value`. */
  used: optional(amount),
  /** The option, input or field that set it. Absent: it is the default. */
  setBy: optional(text),
  /** The server that did not respond when the limit was exceeded. */
  waitingFor: optional(text),
  /** The attempt that waited for it. */
  attempt: optional(natural),
  attempts: optional(natural),
  /** The last error, with advice, if no model has answered since. */
  lastError: optional(text),
};

/** Decisions that have an event of their own. */
const made = {
  "availability-passed": availability,
  "availability-failed": availability,
  "task-unavailable": { reason: text },
  "task-skipped": { reason: text },
  "criteria-passed": criteria,
  "criteria-failed": criteria,
  "criteria-retry": { retry: natural, of: natural, reason: text },
  "retries-exhausted": { retries: count, reason: text },
  "session-crashed": { purpose, attempt: natural, attempts: natural, crash },
  "further-attempt": {
    purpose,
    /** The attempt that begins, from 2. */
    attempt: natural,
    attempts: natural,
    modelId: text,
    /** The server that did not respond to the previous attempt. */
    waitingFor: optional(text),
  },
  "attempts-exhausted": { purpose, attempts: natural, advice: optional(text) },
  waiting: {
    milliseconds: amount,
    cause: waitingCause,
    /** The HTTP status that the model server answered; absent if another turn got it. */
    status: optional(natural),
  },
  "runtime-restarted": { reason: text },
  /** No connection to the model server. */
  "model-unreachable": { server: text, reason: text },
  /** Programs of agents run without a sandbox. */
  "sandbox-missing": { reason: text },
  /** Processes and files of killed runs were removed. */
  "leftovers-ended": { runs: count },
  /** Tasks go on without the tools of this MCP server. */
  "tool-server-failed": { server: text, reason: text },
  /** A task goes on without a tool that it may call. */
  "tool-left-out": { reason: text },
  /** A text of a workflow names a variable that doesn't exist; the text stays as it is. */
  "name-missing": { activity: text, name: text },
  /** A prompt uses a runtime variable that has no value: `<MISSING>` is in its place. */
  "variable-missing": { name: text },
  /** An EXECUTE did not run a script, or had none to run. */
  "script-skipped": { activity: text, reason: text },
  /** A command of the author has exited with 0. `tail`: the end of what it printed. `file`: all of it. */
  "command-passed": { name: text, tail: text, file: optional(text) },
  /** It has exited otherwise, or not at all: `how` says it, such as `exit 1`. */
  "command-failed": { name: text, how: text, tail: text, file: optional(text) },
  "limit-exceeded": { scope: limitScope, ...exceededLimit },
  "task-succeeded": { what: optional(words("workflow")) },
  "task-failed": { reason: text },
  note: { text },
};

/** Decisions that `decisionOf` derives from other events. */
const derived = {
  "session-started": { sessionId: text, modelId: text, role },
  "session-ended": { sessionId: text, role },
  "permission-denied": { operation: text, target: text, reason: text },
  /** Errors within a session that the runtime or the model may recover from. */
  "model-call-failed": { statusCode: optional(count), reason: optional(text) },
  "tool-call-failed": { tool: text, reason: text },
};

export const madeDecision: Shape<MadeDecision> = tagged("kind", made);

/** The fields of every kind of decision, with their types. */
export const decisionFields: ReadonlyMap<string, ReadonlyMap<string, ShapeKind>> = new Map(
  Object.entries<Fields>({ ...made, ...derived }).map(([kind, fields]) => [
    kind,
    new Map(
      Object.entries(fields).map(([name, field]) => [
        name,
        "optional" in field ? field.optional.is : field.is,
      ]),
    ),
  ]),
);

export type Purpose = TypeOf<typeof purpose>;
export type SessionRole = TypeOf<typeof role>;
export type Overload = Tagged<"cause", typeof overloads>;
export type Refusal = Tagged<"cause", typeof refusals>;
export type Crash = Tagged<"cause", typeof crashes>;
export type ExceededLimit = ObjectOf<typeof exceededLimit>;
export type AvailabilityField = TypeOf<typeof availability.field>;
export type CriteriaField = TypeOf<typeof criteria.field>;
export type WaitingCause = TypeOf<typeof waitingCause>;
export type MadeDecision = Tagged<"kind", typeof made>;
export type DerivedDecision = Tagged<"kind", typeof derived>;
/** What the runner decided, and why. `[CATEGORY] text` is made from it at the edge (`decisionText`). */
export type Decision = MadeDecision | DerivedDecision;

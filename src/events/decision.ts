/** Decisions: the fields of every kind, and how it is presented. */
import { crash } from "./crash.ts";
import {
  attemptOf,
  capitalized,
  purpose,
  purposeName,
  role,
  roleName,
  times,
  withOutput,
} from "./decision-words.ts";
import { exceededLimit, limitScope, limitText } from "./exceeded-limit.ts";
import {
  amount,
  count,
  nameOf,
  natural,
  optional,
  tagged,
  text,
  words,
  type Fields,
  type ShapeKind,
  type Tagged,
  type TypeOf,
} from "./shape.ts";

export type { Purpose, SessionRole } from "./decision-words.ts";

const availability = {
  field: words("change", "previousTasks", "condition"),
  content: text,
  reason: text,
};
export type AvailabilityField = TypeOf<typeof availability.field>;
const criteria = {
  field: words("toolExecuted", "commands", "result", "condition"),
  content: text,
  reason: text,
};
export type CriteriaField = TypeOf<typeof criteria.field>;
const waitingReasons = {
  "rate-limited": "a rate limit of the model server",
  overloaded: "the model server is overloaded",
  unreachable: "the model server is unreachable",
  "runtime-ended": "a new runtime starts, and its sessions are spread over time",
} as const;
const waitingCause = nameOf(waitingReasons);
export type WaitingCause = TypeOf<typeof waitingCause>;

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

export const madeDecision = tagged("kind", made);
export type MadeDecision = TypeOf<typeof madeDecision>;
export type DerivedDecision = Tagged<"kind", typeof derived>;
/** What the runner decided, and why. `[CATEGORY] text` is made from it at the edge (`decisionText`). */
export type Decision = MadeDecision | DerivedDecision;
export type DecisionKind = Decision["kind"];

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

/** In the order in which they can be chosen from. */
export const decisionCategories = [
  "TASK SUCCEEDED",
  "TASK FAILED",
  "SESSION CRASHED",
  "AVAILABILITY",
  "CRITERIA",
  "DECISION",
  "OPERATION",
  "MISC",
] as const;
export type DecisionCategory = (typeof decisionCategories)[number];

/** How a kind of decision is presented. */
export interface DecisionTraits {
  readonly category: DecisionCategory;
  readonly severity: "good" | "neutral" | "detail" | "warning" | "error";
  readonly audience: Audience;
  /** If it is about a condition, it is only the answer "no", not a problem. */
  readonly answer?: true;
}

/** Where a decision is shown. A journal contains all of them. */
export interface Audience {
  /** The lowest verbosity at which a log shows it. */
  readonly log: "quiet" | "normal" | "verbose";
  /** In a log that groups the lines of a task: shown immediately as well as in the group. */
  readonly atOnce: boolean;
  readonly summary: boolean;
  /** Shown as an annotation of its task; the lower the number, the more important. */
  readonly annotation?: number;
  /** Also listed by itself in summaries and reports, and by `rehearse`. */
  readonly listed?: true;
}

type Row<Kind extends DecisionKind> = DecisionTraits & {
  /** The text after the prefix. */
  readonly message: (decision: Extract<Decision, { kind: Kind }>) => string;
};

const always: Audience = { log: "quiet", atOnce: true, summary: true };
const normal: Audience = { log: "normal", atOnce: false, summary: true };
/** The run goes on without something that its author asked for: nobody should have to search the log for it. */
const leftOut: Audience = { ...always, annotation: 4, listed: true };
const verbose: Audience = { log: "verbose", atOnce: false, summary: false };

/** What most decisions of a category have in common. */
const good = { severity: "good", audience: normal } as const;
const decided = { category: "DECISION", severity: "warning", audience: normal } as const;
const givenUp = { category: "DECISION", severity: "error", audience: always } as const;
const operation = { category: "OPERATION", severity: "warning", audience: normal } as const;
const omission = { ...operation, audience: leftOut } as const;
const broken = { ...operation, severity: "error", audience: always } as const;
const lifecycle = { ...operation, severity: "detail", audience: verbose } as const;

/** How each kind of decision is shown. */
const table: { readonly [Kind in DecisionKind]: Row<Kind> } = {
  "availability-passed": {
    category: "AVAILABILITY",
    ...good,
    message: ({ field, reason }) => `availability.${field} holds: ${reason}`,
  },
  "availability-failed": {
    category: "AVAILABILITY",
    severity: "warning",
    audience: normal,
    answer: true,
    message: ({ field, content, reason }) =>
      `availability.${field} does not hold: ${reason} (${field} = ${content})`,
  },
  "task-unavailable": {
    ...givenUp,
    answer: true,
    message: ({ reason }) => `The task is not available and is not retried: ${reason}`,
  },
  "task-skipped": {
    category: "AVAILABILITY",
    severity: "neutral",
    audience: normal,
    message: ({ reason }) => `The task is skipped: ${reason}`,
  },
  "criteria-passed": {
    category: "CRITERIA",
    ...good,
    message: ({ field, reason }) => `criteria.${field} holds: ${reason}`,
  },
  "criteria-failed": {
    category: "CRITERIA",
    severity: "warning",
    audience: { ...normal, annotation: 2 },
    answer: true,
    message: ({ field, content, reason }) =>
      `criteria.${field} does not hold: ${reason} (${field} = ${content})`,
  },
  "criteria-retry": {
    ...decided,
    message: ({ retry, of, reason }) => `Retry ${retry} of ${of}: ${reason}`,
  },
  "retries-exhausted": {
    ...givenUp,
    answer: true,
    message: ({ retries, reason }) =>
      retries === 0
        ? `Giving up without a retry: ${reason}`
        : `Giving up after ${retries} ${retries === 1 ? "retry" : "retries"}: ${reason}`,
  },
  "session-crashed": {
    category: "SESSION CRASHED",
    severity: "error",
    audience: { ...always, annotation: 1 },
    message: (decision) => {
      const { purpose, crash } = decision;
      const detail = crash.detail === undefined ? "" : ` ${crash.detail}`;
      return `${capitalized(purposeName(purpose))}${attemptOf(decision)}: ${crash.message}${detail}`;
    },
  },
  "further-attempt": {
    ...decided,
    message: ({ purpose, attempt, attempts, modelId, waitingFor }) =>
      waitingFor === undefined
        ? `Retrying the ${purposeName(purpose)} in a new session, attempt ${attempt} of ${attempts}, model ${modelId}`
        : `Waiting for ${waitingFor}, attempt ${attempt} of ${attempts}: retrying the ${purposeName(purpose)} in a new session, model ${modelId}`,
  },
  "attempts-exhausted": {
    ...givenUp,
    message: ({ attempts, advice }) => {
      const said =
        advice === undefined ? "" : `. ${attempts === 1 ? "Not retried: " : ""}${advice}`;
      return `Giving up: the session crashed ${times(attempts)}${said}`;
    },
  },
  waiting: {
    ...operation,
    message: ({ milliseconds, cause, status }) =>
      `Waiting ${(milliseconds / 1000).toFixed(1)} s: ${waitingReason(cause, status)}`,
  },
  "runtime-restarted": {
    ...operation,
    message: ({ reason }) => `Copilot runtime restarted: ${reason}`,
  },
  "model-unreachable": {
    ...broken,
    message: ({ server, reason }) => `Can't connect to ${server}: ${reason}. Still trying`,
  },
  "leftovers-ended": {
    ...operation,
    // Other jobs on this machine left them: readers of this run's summary don't need to know.
    audience: { ...normal, summary: false },
    message: ({ runs }) =>
      `Removed the processes and files of ${runs === 1 ? "a killed run" : `${runs} killed runs`}`,
  },
  "sandbox-missing": {
    ...operation,
    audience: { ...normal, atOnce: true },
    message: ({ reason }) =>
      `Commands run without a sandbox: ${reason}. Nothing enforces the permissions for them`,
  },
  "tool-server-failed": {
    ...omission,
    message: ({ server, reason }) => `MCP server ${server}: ${reason}`,
  },
  "tool-left-out": { ...omission, message: ({ reason }) => `A tool is left out: ${reason}` },
  "name-missing": {
    ...omission,
    message: ({ activity, name }) => `${activity}: {{${name}}} has no value and stays as it is`,
  },
  "variable-missing": {
    ...omission,
    message: ({ name }) => `$${name} has no value: the prompt has <MISSING> in its place`,
  },
  "script-skipped": { ...omission, message: ({ activity, reason }) => `${activity}: ${reason}` },
  "command-passed": {
    category: "OPERATION",
    ...good,
    message: ({ name }) => `${name} passed`,
  },
  "command-failed": {
    ...operation,
    audience: { ...always, annotation: 2 },
    answer: true,
    message: ({ name, how, tail }) => withOutput(`${name} failed (${how})`, tail),
  },
  "limit-exceeded": {
    ...broken,
    message: (decision) => `Exceeded ${limitText(decision, decision.scope)}`,
  },
  "session-started": {
    ...lifecycle,
    message: ({ role, sessionId, modelId }) =>
      `${roleName(role)} started: ${sessionId}, model ${modelId}`,
  },
  "session-ended": {
    ...lifecycle,
    message: ({ role, sessionId }) => `${roleName(role)} ended: ${sessionId}`,
  },
  "permission-denied": {
    ...operation,
    audience: { ...normal, atOnce: true, annotation: 3 },
    message: ({ operation, target, reason }) => `Denied ${operation} ${target}: ${reason}`,
  },
  "model-call-failed": {
    ...operation,
    message: ({ statusCode, reason }) =>
      `A model call failed${statusCode === undefined ? "" : ` (${statusCode})`}${reason === undefined ? "" : `: ${reason}`}`,
  },
  "tool-call-failed": {
    ...operation,
    audience: { ...normal, atOnce: true },
    message: ({ tool, reason }) => `Tool call ${tool} failed: ${reason}`,
  },
  "task-succeeded": {
    category: "TASK SUCCEEDED",
    ...good,
    message: ({ what = "task" }) => `${capitalized(what)} succeeded`,
  },
  "task-failed": {
    category: "TASK FAILED",
    severity: "error",
    audience: always,
    message: ({ reason }) => reason,
  },
  note: { category: "MISC", severity: "neutral", audience: normal, message: ({ text }) => text },
};

export function decisionTraits(kind: DecisionKind): DecisionTraits {
  return table[kind];
}

/** The category of a decision, such as `CRITERIA`. */
export function decisionCategory(decision: Decision): DecisionCategory {
  return table[decision.kind].category;
}

/** The text after the prefix. */
export function decisionMessage<Kind extends DecisionKind>(
  decision: Extract<Decision, { kind: Kind }> & { readonly kind: Kind },
): string {
  const row: Row<Kind> = table[decision.kind];
  return row.message(decision);
}

/** `[CATEGORY] text`: what `taskDecision` of the library gets. */
export function decisionText(decision: Decision): string {
  return `[${table[decision.kind].category}] ${decisionMessage(decision)}`;
}

/** The details of a crash are only for the journal and for verbose output. */
export function withoutDetail(decision: Decision): Decision {
  if (decision.kind !== "session-crashed") return decision;
  const { detail: _detail, ...crash } = decision.crash;
  return { ...decision, crash };
}

function waitingReason(cause: WaitingCause, status: number | undefined): string {
  return status === undefined ? waitingReasons[cause] : `the model server answered ${status}`;
}

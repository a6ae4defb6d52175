import type { Decision, Purpose, SessionRole, WaitingCause } from "./decision-shapes.ts";
import {
  attemptOf,
  capitalized,
  purposeName,
  roleName,
  times,
  withOutput,
} from "./decision-words.ts";
import { limitText } from "./exceeded-limit.ts";

export type {
  AvailabilityField,
  CriteriaField,
  Decision,
  DerivedDecision,
  MadeDecision,
  WaitingCause,
} from "./decision-shapes.ts";
export type { Purpose, SessionRole };

export type DecisionCategory =
  | "SESSION CRASHED"
  | "TASK SUCCEEDED"
  | "TASK FAILED"
  | "AVAILABILITY"
  | "CRITERIA"
  | "OPERATION"
  | "DECISION"
  | "MISC";

export type DecisionKind = Decision["kind"];

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

/** How each kind of decision is shown. */
const table: { readonly [Kind in DecisionKind]: Row<Kind> } = {
  "availability-passed": {
    category: "AVAILABILITY",
    severity: "good",
    audience: normal,
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
    category: "DECISION",
    severity: "error",
    audience: always,
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
    severity: "good",
    audience: normal,
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
    category: "DECISION",
    severity: "warning",
    audience: normal,
    message: ({ retry, of, reason }) => `Retry ${retry} of ${of}: ${reason}`,
  },
  "retries-exhausted": {
    category: "DECISION",
    severity: "error",
    audience: always,
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
    category: "DECISION",
    severity: "warning",
    audience: normal,
    message: ({ purpose, attempt, attempts, modelId, waitingFor }) =>
      waitingFor === undefined
        ? `Retrying the ${purposeName(purpose)} in a new session, attempt ${attempt} of ${attempts}, model ${modelId}`
        : `Waiting for ${waitingFor}, attempt ${attempt} of ${attempts}: retrying the ${purposeName(purpose)} in a new session, model ${modelId}`,
  },
  "attempts-exhausted": {
    category: "DECISION",
    severity: "error",
    audience: always,
    message: ({ attempts, advice }) => {
      const said =
        advice === undefined ? "" : `. ${attempts === 1 ? "Not retried: " : ""}${advice}`;
      return `Giving up: the session crashed ${times(attempts)}${said}`;
    },
  },
  waiting: {
    category: "OPERATION",
    severity: "warning",
    audience: normal,
    message: ({ milliseconds, cause, status }) =>
      `Waiting ${(milliseconds / 1000).toFixed(1)} s: ${waitingReason(cause, status)}`,
  },
  "runtime-restarted": {
    category: "OPERATION",
    severity: "warning",
    audience: normal,
    message: ({ reason }) => `Copilot runtime restarted: ${reason}`,
  },
  "model-unreachable": {
    category: "OPERATION",
    severity: "error",
    audience: always,
    message: ({ server, reason }) => `Can't connect to ${server}: ${reason}. Still trying`,
  },
  "leftovers-ended": {
    category: "OPERATION",
    severity: "warning",
    // Other jobs on this machine left them: readers of this run's summary don't need to know.
    audience: { ...normal, summary: false },
    message: ({ runs }) =>
      `Removed the processes and files of ${runs === 1 ? "a killed run" : `${runs} killed runs`}`,
  },
  "sandbox-missing": {
    category: "OPERATION",
    severity: "warning",
    audience: { ...normal, atOnce: true },
    message: ({ reason }) =>
      `Commands run without a sandbox: ${reason}. Nothing enforces the permissions for them`,
  },
  "tool-server-failed": {
    category: "OPERATION",
    severity: "warning",
    audience: leftOut,
    message: ({ server, reason }) => `MCP server ${server}: ${reason}`,
  },
  "tool-left-out": {
    category: "OPERATION",
    severity: "warning",
    audience: leftOut,
    message: ({ reason }) => `A tool is left out: ${reason}`,
  },
  "name-missing": {
    category: "OPERATION",
    severity: "warning",
    audience: leftOut,
    message: ({ activity, name }) => `${activity}: {{${name}}} has no value and stays as it is`,
  },
  "variable-missing": {
    category: "OPERATION",
    severity: "warning",
    audience: leftOut,
    message: ({ name }) => `$${name} has no value: the prompt has <MISSING> in its place`,
  },
  "script-skipped": {
    category: "OPERATION",
    severity: "warning",
    audience: leftOut,
    message: ({ activity, reason }) => `${activity}: ${reason}`,
  },
  "command-passed": {
    category: "OPERATION",
    severity: "good",
    audience: normal,
    message: ({ name }) => `${name} passed`,
  },
  "command-failed": {
    category: "OPERATION",
    severity: "warning",
    audience: { ...always, annotation: 2 },
    answer: true,
    message: ({ name, how, tail }) => withOutput(`${name} failed (${how})`, tail),
  },
  "limit-exceeded": {
    category: "OPERATION",
    severity: "error",
    audience: always,
    message: (decision) => `Exceeded ${limitText(decision, decision.scope)}`,
  },
  "session-started": {
    category: "OPERATION",
    severity: "detail",
    audience: verbose,
    message: ({ role, sessionId, modelId }) =>
      `${roleName(role)} started: ${sessionId}, model ${modelId}`,
  },
  "session-ended": {
    category: "OPERATION",
    severity: "detail",
    audience: verbose,
    message: ({ role, sessionId }) => `${roleName(role)} ended: ${sessionId}`,
  },
  "permission-denied": {
    category: "OPERATION",
    severity: "warning",
    audience: { ...normal, atOnce: true, annotation: 3 },
    message: ({ operation, target, reason }) => `Denied ${operation} ${target}: ${reason}`,
  },
  "model-call-failed": {
    category: "OPERATION",
    severity: "warning",
    audience: normal,
    message: ({ statusCode, reason }) =>
      `A model call failed${statusCode === undefined ? "" : ` (${statusCode})`}${reason === undefined ? "" : `: ${reason}`}`,
  },
  "tool-call-failed": {
    category: "OPERATION",
    severity: "warning",
    audience: { ...normal, atOnce: true },
    message: ({ tool, reason }) => `Tool call ${tool} failed: ${reason}`,
  },
  "task-succeeded": {
    category: "TASK SUCCEEDED",
    severity: "good",
    audience: normal,
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

const waitingReasons: Readonly<Record<WaitingCause, string>> = {
  "rate-limited": "a rate limit of the model server",
  overloaded: "the model server is overloaded",
  unreachable: "the model server is unreachable",
  "runtime-ended": "a new runtime starts, and its sessions are spread over time",
};

function waitingReason(cause: WaitingCause, status: number | undefined): string {
  return status === undefined ? waitingReasons[cause] : `the model server answered ${status}`;
}

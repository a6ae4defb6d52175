/**
 * The one table of decisions: the fields, category, severity, audience and text of each kind. The reasons in them are
 * written where something is decided, such as in `engine/run-task.ts` and `engine/criteria.ts`.
 */
import { plural, secondsText } from "../text/numbers.ts";
import { crash } from "./crash.ts";
import { withOutput } from "../text/truncate.ts";
import { exceededLimit, limitScope, limitText } from "./exceeded-limit.ts";
import * as is from "../document/describe.ts";
import type { Fields, Tagged, TypeOf } from "../document/describe.ts";

const purposes = {
  availability: "availability check",
  prompt: "prompt",
  criteria: "criteria check",
} as const;
export const purpose = is.nameOf(purposes);
export type Purpose = TypeOf<typeof purpose>;

export function purposeName(name: Purpose): string {
  return purposes[name];
}

const roles = { driving: "Driving session", task: "Task session", both: "Session" } as const;
/** `both`: the one session of a task that runs in a single model, or a borrowed one. */
export const role = is.nameOf(roles);
export type SessionRole = TypeOf<typeof role>;

export function roleName(name: SessionRole): string {
  return roles[name];
}

export function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const availability = {
  field: is.words("change", "previousTasks", "condition"),
  content: is.text,
  reason: is.text,
};
export type AvailabilityField = TypeOf<typeof availability.field>;
const criteria = {
  field: is.words("toolExecuted", "changed", "commands", "result", "condition"),
  content: is.text,
  reason: is.text,
};
export type CriteriaField = TypeOf<typeof criteria.field>;
const waitingReasons = {
  "rate-limited": "a rate limit of the model server",
  overloaded: "the model server is overloaded",
  unreachable: "the model server is unreachable",
  "runtime-ended": "a new runtime starts, and its sessions are spread over time",
} as const;
const waitingCause = is.nameOf(waitingReasons);
export type WaitingCause = TypeOf<typeof waitingCause>;

const made = {
  "availability-passed": availability,
  "availability-failed": availability,
  "task-unavailable": { reason: is.text },
  "task-skipped": { reason: is.text },
  "criteria-passed": criteria,
  "criteria-failed": criteria,
  "criteria-retry": { retry: is.natural, of: is.natural, reason: is.text },
  "retries-exhausted": { retries: is.count, reason: is.text },
  "session-crashed": { purpose, attempt: is.natural, attempts: is.natural, crash },
  "further-attempt": {
    purpose,
    attempt: is.natural,
    attempts: is.natural,
    modelId: is.text,
  },
  "attempts-exhausted": { purpose, attempts: is.natural, advice: is.optional(is.text) },
  waiting: {
    milliseconds: is.amount,
    cause: waitingCause,
    status: is.optional(is.natural),
  },
  "runtime-restarted": { reason: is.text },
  "model-unreachable": { server: is.text, reason: is.text },
  "sandbox-missing": { reason: is.text },
  "leftovers-ended": { runs: is.count },
  "tool-server-failed": { server: is.text, reason: is.text },
  "tool-left-out": { reason: is.text },
  /** A text of a workflow names a variable that doesn't exist; the text stays as it is. */
  "name-missing": { activity: is.text, name: is.text },
  /** A prompt uses a runtime variable that has no value: `<MISSING>` is in its place. */
  "variable-missing": { name: is.text },
  /** A merge has nothing of it, and goes on. */
  "left-out": { item: is.optional(is.text), reason: is.text },
  /** An EXECUTE did not run a script, or had none to run. */
  "script-skipped": { activity: is.text, reason: is.text },
  /** A command of the author has exited with 0. `tail`: the end of what it printed. `file`: all of it. */
  "command-passed": { name: is.text, tail: is.text, file: is.optional(is.text) },
  /** It has exited otherwise, or not at all: `how` says it, such as `exit 1`. */
  "command-failed": { name: is.text, how: is.text, tail: is.text, file: is.optional(is.text) },
  "limit-exceeded": { scope: limitScope, ...exceededLimit },
  "task-succeeded": { what: is.optional(is.words("workflow")) },
  "task-failed": { reason: is.text },
  note: { text: is.text },
};

const derived = {
  "session-started": { sessionId: is.text, modelId: is.text, role },
  "session-ended": { sessionId: is.text, role },
  "permission-denied": { operation: is.text, target: is.text, reason: is.text },
  /** Errors within a session that the runtime or the model may recover from. */
  "model-call-failed": { statusCode: is.optional(is.count), reason: is.optional(is.text) },
  "tool-call-failed": { tool: is.text, reason: is.text },
};

export const madeDecision = is.tagged("kind", made);
export type MadeDecision = TypeOf<typeof madeDecision>;
export type DerivedDecision = Tagged<"kind", typeof derived>;
/** A decision of the runner and its reason. `decisionText` makes `[CATEGORY] text` of it at the edge. */
export type Decision = MadeDecision | DerivedDecision;
export type DecisionKind = Decision["kind"];

/** By kind. */
export const decisionFields: Readonly<Record<string, Fields>> = { ...made, ...derived };

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
  /** Its rank among annotations: the lower the number, the more important. Default: after all others. */
  readonly annotation?: number;
  /** Also listed by itself in summaries and reports, and by `rehearse`. */
  readonly listed?: true;
}

type Row<Kind extends DecisionKind> = readonly [
  DecisionTraits,
  (decision: Extract<Decision, { kind: Kind }>) => string,
];

const always: Audience = { log: "quiet", atOnce: true };
const normal: Audience = { log: "normal", atOnce: false };
const atOnce: Audience = { ...normal, atOnce: true };
const verbose: Audience = { log: "verbose", atOnce: false };

const available = { category: "AVAILABILITY", severity: "good", audience: normal } as const;
const met = { category: "CRITERIA", severity: "good", audience: normal } as const;
const decided = { category: "DECISION", severity: "warning", audience: normal } as const;
const givenUp = { category: "DECISION", severity: "error", audience: always } as const;
const operation = { category: "OPERATION", severity: "warning", audience: normal } as const;
/** The run goes on without something that its author asked for: nobody should have to search the log for it. */
const omission = { ...operation, audience: { ...always, annotation: 4, listed: true } } as const;
const broken = { ...operation, severity: "error", audience: always } as const;
const lifecycle = { ...operation, severity: "detail", audience: verbose } as const;
const unmet = { severity: "warning", answer: true } as const;

const table: { readonly [Kind in DecisionKind]: Row<Kind> } = {
  "availability-passed": [available, (check) => `availability.${holds(check)}`],
  "availability-failed": [{ ...available, ...unmet }, (check) => `availability.${fails(check)}`],
  "task-unavailable": [
    { ...givenUp, answer: true },
    ({ reason }) => `The task is not available and is not retried: ${reason}`,
  ],
  "task-skipped": [
    { ...available, severity: "neutral" },
    ({ reason }) => `The task is skipped: ${reason}`,
  ],
  "criteria-passed": [met, (check) => `criteria.${holds(check)}`],
  "criteria-failed": [
    { ...met, ...unmet, audience: { ...normal, annotation: 2 } },
    (check) => `criteria.${fails(check)}`,
  ],
  "criteria-retry": [decided, ({ retry, of, reason }) => `Retry ${retry} of ${of}: ${reason}`],
  "retries-exhausted": [
    { ...givenUp, answer: true },
    ({ retries, reason }) =>
      retries === 0
        ? `Giving up without a retry: ${reason}`
        : `Giving up after ${plural(retries, "retry", "retries")}: ${reason}`,
  ],
  "session-crashed": [
    { ...broken, category: "SESSION CRASHED", audience: { ...always, annotation: 1 } },
    ({ purpose, attempt, attempts, crash: { message, detail } }) => {
      const which = attempts === 1 ? "" : `, attempt ${attempt} of ${attempts}`;
      const text = detail === undefined ? message : `${message} ${detail}`;
      return `${capitalized(purposeName(purpose))}${which}: ${text}`;
    },
  ],
  "further-attempt": [
    decided,
    ({ purpose, attempt, attempts, modelId }) =>
      `Retrying the ${purposeName(purpose)} in a new session, attempt ${attempt} of ${attempts}, model ${modelId}`,
  ],
  "attempts-exhausted": [
    givenUp,
    ({ attempts, advice }) => {
      const said =
        advice === undefined ? "" : `. ${attempts === 1 ? "Not retried: " : ""}${advice}`;
      const times = attempts === 1 ? "once" : `${attempts} times in a row`;
      return `Giving up: the session crashed ${times}${said}`;
    },
  ],
  waiting: [
    operation,
    ({ milliseconds, cause, status }) => {
      const reason =
        status === undefined ? waitingReasons[cause] : `the model server answered ${status}`;
      return `Waiting ${secondsText(milliseconds)}: ${reason}`;
    },
  ],
  "runtime-restarted": [operation, ({ reason }) => `Copilot runtime restarted: ${reason}`],
  "model-unreachable": [
    broken,
    ({ server, reason }) => `Can't connect to ${server}: ${reason}. Still trying`,
  ],
  "leftovers-ended": [
    // Other jobs on this machine left them: nothing is wrong with this one.
    { ...operation, severity: "neutral" },
    ({ runs }) =>
      `Removed the processes and files of ${runs === 1 ? "a killed run" : `${runs} killed runs`}`,
  ],
  "sandbox-missing": [
    { ...operation, audience: atOnce },
    ({ reason }) =>
      `Commands run without a sandbox: ${reason}. Nothing enforces the permissions for them`,
  ],
  "tool-server-failed": [omission, ({ server, reason }) => `MCP server ${server}: ${reason}`],
  "tool-left-out": [omission, ({ reason }) => `A tool is left out: ${reason}`],
  "name-missing": [
    omission,
    ({ activity, name }) => `${activity}: {{${name}}} has no value and stays as it is`,
  ],
  "variable-missing": [
    omission,
    ({ name }) => `$${name} has no value: the prompt has <MISSING> in its place`,
  ],
  "left-out": [
    omission,
    ({ item, reason }) =>
      `Skipped${item === undefined ? "" : ` item ${JSON.stringify(item)}`}: ${reason}`,
  ],
  "script-skipped": [omission, ({ activity, reason }) => `${activity}: ${reason}`],
  "command-passed": [{ ...operation, severity: "good" }, ({ name }) => `${name} passed`],
  "command-failed": [
    { ...operation, audience: { ...always, annotation: 2 }, answer: true },
    ({ name, how, tail }) => withOutput(`${name} failed (${how})`, tail),
  ],
  "limit-exceeded": [broken, (decision) => `Exceeded ${limitText(decision, decision.scope)}`],
  "session-started": [
    lifecycle,
    ({ role, sessionId, modelId }) => `${roleName(role)} started: ${sessionId}, model ${modelId}`,
  ],
  "session-ended": [lifecycle, ({ role, sessionId }) => `${roleName(role)} ended: ${sessionId}`],
  "permission-denied": [
    { ...operation, audience: { ...atOnce, annotation: 3 } },
    ({ operation, target, reason }) => `Denied ${operation} ${target}: ${reason}`,
  ],
  "model-call-failed": [
    operation,
    ({ statusCode, reason }) =>
      `A model call failed${statusCode === undefined ? "" : ` (${statusCode})`}${reason === undefined ? "" : `: ${reason}`}`,
  ],
  "tool-call-failed": [
    { ...operation, audience: atOnce },
    ({ tool, reason }) => `Tool call ${tool} failed: ${reason}`,
  ],
  "task-succeeded": [
    { category: "TASK SUCCEEDED", severity: "good", audience: normal },
    ({ what = "task" }) => `${capitalized(what)} succeeded`,
  ],
  "task-failed": [
    { category: "TASK FAILED", severity: "error", audience: always },
    ({ reason }) => reason,
  ],
  note: [{ category: "MISC", severity: "neutral", audience: normal }, ({ text }) => text],
};

type Checked = Readonly<Record<"field" | "content" | "reason", string>>;

function holds({ field, reason }: Checked): string {
  return `${field} holds: ${reason}`;
}

function fails({ field, content, reason }: Checked): string {
  return `${field} does not hold: ${reason} (${field} = ${content})`;
}

export function decisionTraits(kind: DecisionKind): DecisionTraits {
  return table[kind][0];
}

const annotated: ReadonlySet<DecisionCategory> = new Set([
  "AVAILABILITY",
  "CRITERIA",
  "OPERATION",
  "SESSION CRASHED",
  "TASK FAILED",
]);

/** The rank of the annotation that it becomes. Undefined: it is neither a failure nor a warning, or none is wanted. */
export function annotationRank(kind: DecisionKind): number | undefined {
  const { category, severity, audience } = decisionTraits(kind);
  const isBad = severity === "warning" || severity === "error";
  return isBad && annotated.has(category) ? (audience.annotation ?? 5) : undefined;
}

/** Such as `CRITERIA`. */
export function decisionCategory(decision: Decision): DecisionCategory {
  return decisionTraits(decision.kind).category;
}

export function decisionMessage<Kind extends DecisionKind>(
  decision: Extract<Decision, { kind: Kind }> & { readonly kind: Kind },
): string {
  const row: Row<Kind> = table[decision.kind];
  return row[1](decision);
}

/** `[CATEGORY] text`: what `taskDecision` of the library gets. */
export function decisionText(decision: Decision): string {
  return `[${decisionCategory(decision)}] ${decisionMessage(decision)}`;
}

/** The details of a crash are only for the journal and for verbose output. */
export function withoutDetail(decision: Decision): Decision {
  if (decision.kind !== "session-crashed") return decision;
  const { detail: _detail, ...crash } = decision.crash;
  return { ...decision, crash };
}

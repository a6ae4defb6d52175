/** Everything that happens in a run. The sink stamps and redacts events; journal, terminal and views fold them. */
import { actionEvent } from "./action.ts";
import { crash } from "./crash.ts";
import { defined } from "../text/guards.ts";
import { sentence, truncateUnredacted } from "../text/truncate.ts";
import { madeDecision, purpose, role, type Decision } from "./decision.ts";
import { finding, proposal, refused, verdict } from "./output-shapes.ts";
import { plan, plannedTree, workRef as work, workRef, type WorkRef } from "./plan.ts";
import { sessionActivity, UNKNOWN_TOOL, type SessionActivity } from "./session-activity.ts";
import { schemaCheck } from "../document/schema-check.ts";
import * as is from "../document/describe.ts";
import type { Described, TypeOf, ObjectOf } from "../document/describe.ts";
import { effect, input } from "./flow.ts";

/* The steps of a Markdown workflow. The `effects` of all ended steps, in order, make the same state again. */

const shell = is.record({
  workingDirectory: is.text,
  /** Exported variables that scripts have set. What the run itself provides is not among them, unless changed. */
  variables: is.dictionary(is.text),
  removed: is.list(is.text),
  functions: is.text,
});
export type ShellState = TypeOf<typeof shell>;

const step = {
  work: workRef,
  /** In this run of the work, from 1 on. The step of a CALL contains those of the called file. */
  step: is.natural,
  file: is.text,
  activity: is.text,
};

const stepStarted = {
  ...step,
  /** Which run of this activity in this run of its file, from 1 on. */
  hit: is.natural,
  /** 0: of the first file, else of a called one. */
  depth: is.count,
  /** Absent if nothing is asked of the outside. */
  input: is.optional(input),
  /** The step was copied from an earlier run, so nothing is done. */
  restored: is.optional(is.yes),
};

/** Output of a running script. `script`: its index in the input. */
const stepPrinted = { work: workRef, step: is.natural, script: is.count, text: is.text };

const stepEnded = {
  ...step,
  /** Whether the way on is the next activity, not the other one. */
  succeeded: is.flag,
  reason: is.optional(is.text),
  /** Where the flow goes on; absent at an end. */
  to: is.optional(is.text),
  /** RESULT, if it has changed. */
  result: is.optional(is.text),
  variables: is.optional(is.dictionary(is.text)),
  /** In order. Comes before what follows from it: an event that is too long is cut at its end. */
  effects: is.optional(is.list(effect)),
  shell: is.optional(shell),
  /** The length of all texts in `effects` and `shell` before redaction. Shorter texts are incomplete. */
  characters: is.optional(is.count),
  restored: is.optional(is.yes),
};

export type StepStarted = { readonly type: "step.started" } & ObjectOf<typeof stepStarted>;
export type StepPrinted = { readonly type: "step.output" } & ObjectOf<typeof stepPrinted>;
export type StepEnded = { readonly type: "step.ended" } & ObjectOf<typeof stepEnded>;

export function stepCharacters({ effects, shell }: Pick<StepEnded, "effects" | "shell">): number {
  return textLength(effects) + textLength(shell);
}

function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + textLength(item), 0);
}

const runOutcome = is.tagged("kind", {
  succeeded: {},
  /** `advice`: what to do about it, if it is known. */
  failed: { reason: is.text, advice: is.optional(is.text) },
  canceled: { reason: is.text },
  /** Nothing of the job ran, because of the change. */
  skipped: { reason: is.text },
});
/** How a run ended. */
export type RunOutcome = TypeOf<typeof runOutcome>;

const workOutcome = is.tagged("kind", {
  succeeded: {},
  /** `unanswered`: no verdict of availability or criteria, so a condition that ends this way has not answered. */
  failed: { reason: is.text, unanswered: is.optional(is.yes) },
  /** All attempts failed: the job stops. */
  crashed: { crash },
  canceled: { reason: is.text },
  /** The change has nothing for it. */
  skipped: { reason: is.text },
});
/** How an iteration of a work ended. */
export type WorkOutcome = TypeOf<typeof workOutcome>;

const session = { work, sessionId: is.text };
const turn = { ...session, turnId: is.text };

const bodies = {
  "run.started": {
    ...plan,
    jobName: is.text,
    /** The entry file as the user named it; absent for an entry built in code. */
    entryFile: is.optional(is.text),
    workingDirectory: is.text,
  },
  /** `jobOutcome`: the outcome of the job itself, if `outcome` is that of a rehearsal. */
  "run.ended": { outcome: runOutcome, jobOutcome: is.optional(runOutcome) },
  /**
   * `modelId`: of the task session; a command has none. `restoredSteps`: of a workflow that continues after so many
   * steps, which follow as events.
   */
  "work.started": {
    work,
    modelId: is.optional(is.text),
    restoredSteps: is.optional(is.count),
  },
  /** `report`: the RESULT of a workflow. `output`: what `$previous-result` is after it, if a prompt has that. */
  "work.ended": {
    work,
    outcome: workOutcome,
    report: is.optional(is.text),
    output: is.optional(is.text),
  },
  /** An `Each` has its items. `workId`: of its first work. */
  "items.listed": {
    workId: is.count,
    items: is.list(is.text),
    outerItems: is.optional(is.list(is.text)),
  },
  /** One that can't be derived from another event (`decisionOf` returns both). `work`: null for the whole job. */
  decision: { work: is.nullable(work), decision: madeDecision },
  /** `retry`: the criteria retry that it was started for, else 0. `attempt`: over 1 if it replaces a crashed session. */
  "session.started": { ...session, modelId: is.text, role, retry: is.count, attempt: is.natural },
  /** `succeeded`: whether the purpose of a session that had one was served, else whether its task succeeded. */
  "session.ended": { ...session, role, succeeded: is.flag },
  "turn.started": {
    ...turn,
    modelId: is.text,
    purpose,
    retry: is.count,
    attempt: is.natural,
    prompt: is.text,
  },
  "turn.ended": { ...turn, purpose, outcome: is.words("completed", "crashed", "canceled") },
  activity: { ...turn, activity: sessionActivity },
  /** A task has called `job_report`. Only the last call of a run counts. */
  "report.given": { work, title: is.optional(is.text), markdown: is.text },
  /** A task has called `job_result` with arguments that fit. Only the last call of a run counts. */
  "result.given": { work, result: is.anything },
  /** A task has called `job_annotate`. `first`: what its run has reported before doesn't count any more. */
  "finding.reported": { work, finding, first: is.optional(is.yes) },
  /** A task has called `job_resolve`. `finding`: the key of an earlier one. `first`: as of findings. */
  "finding.resolved": { work, finding: is.text, reason: is.text, first: is.optional(is.yes) },
  /** A task has called `job_reply`. `finding`: the key of an earlier one. `first`: as of findings. */
  "reply.given": { work, finding: is.text, message: is.text, first: is.optional(is.yes) },
  /** A task has called `job_verdict`. Only the last call of a run counts. */
  "verdict.given": { work, verdict },
  /** A call of `job_annotate` or `job_verdict` was refused. `first`: as of findings. */
  "output.refused": { work, refused, first: is.optional(is.yes) },
  /** A task has called `job_propose`. `first`: as of findings. */
  "proposal.made": { work, proposal, first: is.optional(is.yes) },
  /** A task has called `job_remember`. */
  "note.added": { work, note: is.text },
  /** Something happened to a document or an action of a task with the action protocol. */
  action: { work, action: actionEvent },
  "step.started": stepStarted,
  "step.output": stepPrinted,
  "step.ended": stepEnded,
};

const stamp = is.record({
  /** In milliseconds since 1970; never runs backwards within a run. */
  at: is.count,
  /** Unique for every run, so that events of concurrent runs can be distinguished. */
  runId: is.text,
  /** Marks an event that was copied from an earlier run or a merged leg. */
  past: is.optional(is.yes),
  /** The leg in which it happened, such as `2/4`. The journals of a leg and of the merge have it. */
  leg: is.optional(is.text),
});
const body = is.tagged("type", bodies);

export const eventTypes: ReadonlySet<string> = new Set(Object.keys(bodies));
export const eventSchema: Described<RunEvent> = {
  ...is.both(body, stamp),
  $defs: { work: plannedTree },
};
export const eventCheck = schemaCheck<RunEvent>(eventSchema, "event", 1);

/** Everything that happens in a run. */
export type RunEvent = RunStamp & RunEventBody;
export type RunStamp = TypeOf<typeof stamp>;
export type RunEventBody = TypeOf<typeof body>;
/** An event of an earlier run already has its time. */
export type EmittedEvent = RunEventBody & Partial<Pick<RunStamp, "at" | "past" | "leg">>;
export type EventOf<Type extends RunEventBody["type"]> = Extract<
  RunEventBody,
  { readonly type: Type }
>;
export type { WorkRef };
export type RunStarted = EventOf<"run.started">;
export type WorkStarted = EventOf<"work.started">;
export type WorkEnded = EventOf<"work.ended">;
export type Decided = EventOf<"decision">;
export type SessionStarted = EventOf<"session.started">;
export type TurnStarted = EventOf<"turn.started">;
export type TurnEnded = EventOf<"turn.ended">;
export type SessionActed = EventOf<"activity">;
export type Acted = EventOf<"action">;

/** These words follow the name of a job. */
export const endWords = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "was canceled",
  skipped: "was skipped",
} as const satisfies Readonly<Record<RunOutcome["kind"], string>>;

export function outcomeText(outcome: RunOutcome): string {
  if (outcome.kind === "succeeded") return "";
  const { reason } = outcome;
  const advice = outcome.kind === "failed" ? outcome.advice : undefined;
  if (advice === undefined) return reason;
  return `${sentence(reason)} ${advice}`;
}

const REASON_CHARACTERS = 300;

/** A decision and the work it concerns. */
export interface DecisionOfWork {
  /** Null: it concerns the whole job. */
  readonly work: WorkRef | null;
  /** The decision and its reason. */
  readonly decision: Decision;
}

/** Used by everything that shows or counts decisions, after it has processed the event itself. */
export function decisionOf(event: RunEventBody): DecisionOfWork | undefined {
  switch (event.type) {
    case "decision":
      return event;
    case "session.started": {
      const { work, sessionId, modelId, role } = event;
      return { work, decision: { kind: "session-started", sessionId, modelId, role } };
    }
    case "session.ended": {
      const { work, sessionId, role } = event;
      return { work, decision: { kind: "session-ended", sessionId, role } };
    }
    case "activity": {
      const decision = ofActivity(event.activity);
      return decision && { work: event.work, decision };
    }
    default:
      return undefined;
  }
}

function ofActivity(activity: SessionActivity): Decision | undefined {
  switch (activity.kind) {
    case "permission.denied": {
      const { operation, target, reason } = activity;
      return { kind: "permission-denied", operation, target, reason };
    }
    case "model.failed": {
      const { statusCode, message } = activity;
      return {
        kind: "model-call-failed",
        ...defined({ statusCode }),
        ...(message === undefined
          ? {}
          : { reason: truncateUnredacted(message, REASON_CHARACTERS) }),
      };
    }
    case "tool.ended": {
      const { succeeded, stopped = false, toolName, error } = activity;
      // A denial has an event of its own, with more details.
      if (succeeded || stopped || error?.code === "denied" || error?.code === "rejected")
        return undefined;
      const reason = truncateUnredacted(error?.message ?? "no reason given", REASON_CHARACTERS);
      return { kind: "tool-call-failed", tool: toolName ?? UNKNOWN_TOOL, reason };
    }
    default:
      return undefined;
  }
}

/** Which events a person cares about, and what to say of each: the table behind the terminal reporter. */
import { decisionText, type Decision } from "../events/decision.ts";
import type { RunEvent, WorkRef } from "../events/event.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import type { RunView, WorkView } from "../events/view.ts";
import type { Tone } from "./paint.ts";
import { clockText, countText, oneLine, plural } from "./text.ts";

export type Verbosity = "quiet" | "normal" | "verbose";

export interface EventLine {
  /** Null for the whole job. */
  readonly work: WorkRef | null;
  readonly tone: Tone;
  /** One line, harmless. */
  readonly text: string;
}

/** What is said of each event in the normal and in the verbose form, in UTF-16 units. */
const LENGTH = { quiet: 600, normal: 600, verbose: 4000 } as const;
const SAID = { quiet: 300, normal: 300, verbose: 2000 } as const;

/** `view` holds the event already. Undefined: not worth a line at this verbosity. */
export function eventLine(
  event: RunEvent,
  view: RunView,
  verbosity: Verbosity,
): EventLine | undefined {
  const line = describe(event, view, verbosity);
  if (line === undefined || rank[verbosity] < rank[line.from]) return undefined;
  return { work: line.work, tone: line.tone, text: oneLine(line.text, LENGTH[verbosity]) };
}

const rank = { quiet: 0, normal: 1, verbose: 2 } as const;

interface Candidate extends EventLine {
  /** The least verbosity that shows it. */
  readonly from: Verbosity;
}

function describe(event: RunEvent, view: RunView, verbosity: Verbosity): Candidate | undefined {
  switch (event.type) {
    case "run.started": {
      const text = `job ${event.jobName} started: ${plural(event.works.length, "work")} in ${event.workingDirectory}`;
      return { work: null, tone: "plain", from: "normal", text };
    }
    case "run.ended":
      return undefined;
    case "work.started":
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `started, model ${event.modelId}`,
      };
    case "work.ended":
      return endOfWork(event, view.works.get(event.work.workId));
    case "decision": {
      const condition =
        event.work !== null && view.works.get(event.work.workId)?.condition === true;
      // Whether it is an answer is known when the work has ended; the reason is told then.
      if (condition && event.decision.kind === "task-failed") return undefined;
      return {
        work: event.work,
        ...(condition ? conditionStyle(event.decision) : decisionStyle(event.decision)),
        text: decisionText(verbosity === "verbose" ? event.decision : brief(event.decision)),
      };
    }
    case "turn.started": {
      const repeat = `${event.retry > 0 ? `, retry ${event.retry}` : ""}${event.attempt > 1 ? `, try ${event.attempt}` : ""}`;
      return {
        work: event.work,
        tone: "faint",
        from: "verbose",
        text: `${event.purpose} turn${repeat}: ${event.prompt}`,
      };
    }
    case "turn.ended": {
      if (event.purpose !== "prompt" || event.outcome !== "completed") return undefined;
      const said = view.works.get(event.work.workId)?.lastMessage;
      if (said === undefined) return undefined;
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `said: ${oneLine(said, SAID[verbosity])}`,
      };
    }
    case "activity": {
      const text = activityText(event.activity);
      return text === undefined
        ? undefined
        : { work: event.work, tone: "faint", from: "verbose", text };
    }
    // The engine decides something of each session that starts or ends.
    case "session.started":
    case "session.ended":
      return undefined;
  }
}

/** A tool call that failed or was denied: the agent may get on without it, but its result may miss something. */
export function didNotWork(event: RunEvent): boolean {
  if (event.type !== "decision") return false;
  return event.decision.kind === "permission-denied" || event.decision.kind === "tool-call-failed";
}

function endOfWork(
  { work: ref, outcome }: Extract<RunEvent, { type: "work.ended" }>,
  work: WorkView | undefined,
): Candidate {
  const took = work === undefined ? "" : soFar(work);
  if (work?.condition !== true || (outcome.kind !== "failed" && outcome.kind !== "crashed")) {
    return { work: ref, tone: "faint", from: "normal", text: `${outcome.kind}${took}` };
  }
  const reason = work.reason ?? "no reason given";
  return work.status === "answered-no"
    ? { work: ref, tone: "plain", from: "normal", text: `answered no${took}: ${reason}` }
    : {
        work: ref,
        tone: "bad",
        from: "quiet",
        text: `[TASK FAILED] ${outcome.kind}${took}: ${reason}`,
      };
}

/** What the work took until now, all its runs together. */
function soFar(work: WorkView): string {
  const inAll = work.runs > 1 ? `, in all ${work.runs} runs` : "";
  return ` after ${clockText(work.finishedMs)}${inAll}: ${plural(work.attempts, "attempt")}, ${plural(work.modelCalls, "model call")}, tokens ${countText(work.inputTokens)} in, ${countText(work.outputTokens)} out`;
}

/** The details of a crash, with its stack, are for `--verbose` and for the journal. */
function brief(decision: Decision): Decision {
  if (decision.kind !== "session-crashed") return decision;
  const { detail: _detail, ...crash } = decision.crash;
  return { ...decision, crash };
}

/** A condition that does not hold is no trouble. */
function conditionStyle(decision: Decision): ReturnType<typeof decisionStyle> {
  switch (decision.kind) {
    case "availability-failed":
    case "availability-drained":
    case "criteria-failed":
    case "criteria-budget-drained":
      return { tone: "plain", from: "normal" };
    default:
      return decisionStyle(decision);
  }
}

function decisionStyle(decision: Decision): { readonly tone: Tone; readonly from: Verbosity } {
  switch (decision.kind) {
    case "task-failed":
    case "session-crashed":
    case "crash-budget-drained":
    case "criteria-budget-drained":
    case "availability-drained":
    case "limit-crossed":
    case "model-unreachable":
      return { tone: "bad", from: "quiet" };
    case "availability-failed":
    case "criteria-failed":
    case "crash-retry":
    case "criteria-retry":
    case "waiting":
    case "runtime-restarted":
    case "leftovers-ended":
    case "permission-denied":
    case "model-call-failed":
    case "tool-call-failed":
      return { tone: "warn", from: "normal" };
    case "availability-passed":
    case "criteria-passed":
    case "task-succeeded":
      return { tone: "good", from: "normal" };
    case "note":
      return { tone: "plain", from: "normal" };
    case "session-started":
    case "session-ended":
      return { tone: "faint", from: "verbose" };
  }
}

function activityText(activity: SessionActivity): string | undefined {
  switch (activity.kind) {
    case "message.ended":
      return activity.text.trim() === "" ? undefined : `message: ${activity.text}`;
    case "reasoning.ended":
      return activity.text.trim() === "" ? undefined : `reasoning: ${activity.text}`;
    case "tool.started":
      return `tool ${activity.toolName} ${activity.toolArguments}`;
    case "tool.ended":
      return activity.succeeded
        ? `tool done: ${activity.result?.content ?? ""}`
        : `tool failed: ${activity.error?.message ?? "no reason given"}`;
    case "model.used":
      return `model call: ${activity.modelId}, tokens ${countText(activity.inputTokens)} in, ${countText(activity.outputTokens)} out, ${(activity.durationMs / 1000).toFixed(1)} s${activity.subAgent ? ", by a sub-agent" : ""}`;
    case "model.failed":
      return `model call failed: ${activity.statusCode ?? "no answer"}`;
    // The engine makes a decision of it.
    case "permission.denied":
    case "reasoning.started":
    case "reasoning.delta":
    case "message.started":
    case "message.delta":
    case "tool.delta":
    case "agent.started":
    case "agent.ended":
    case "idle":
    case "model.replied":
      return undefined;
    case "sub-agent.tool.failed":
      return `tool of a sub-agent failed: ${activity.error.message}`;
  }
}

/** The lines of the terminal reporter: which events it shows, and how. */
import {
  decisionText,
  decisionTraits,
  withoutDetail,
  type DecisionTraits,
} from "../events/decision.ts";
import { decisionOf } from "../events/decision-of.ts";
import type { RunEvent, WorkRef, WorkStarted } from "../events/event.ts";
import type { Proposal } from "../events/output-shapes.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { delegateIn, hasProtocol, itemOf, type RunView, type WorkView } from "../events/view.ts";
import type { Tone } from "./paint.ts";
import { andChange, clockText, countText, oneLine, plural } from "./text.ts";
import { plannedWorks } from "../events/plan.ts";
import type { Candidate, EventLine, Verbosity } from "./log-line.ts";
import { actionLines } from "./action-line.ts";
import { findingLine, severityTones, verdictResult } from "./result-lines.ts";
import { stepLines } from "./step-line.ts";

export type { EventLine, Verbosity } from "./log-line.ts";

/** Maximum length of a line in normal and verbose output, in UTF-16 units. */
const LENGTH = { quiet: 600, normal: 600, verbose: 4000 } as const;
/** Of an answer, in normal output. */
const SAID_LENGTH = 300;

/** `view` must include the event already. Empty: not shown at this verbosity. */
export function eventLines(
  event: RunEvent,
  view: RunView,
  verbosity: Verbosity,
): readonly EventLine[] {
  return [
    ...stepLines(event, view),
    ...actionLines(event, view),
    describe(event, view, verbosity),
    decided(event, view, verbosity),
  ].flatMap((line) => {
    if (line === undefined || rank[verbosity] < rank[line.from]) return [];
    return [{ work: line.work, tone: line.tone, text: oneLine(line.text, LENGTH[verbosity]) }];
  });
}

const rank = { quiet: 0, normal: 1, verbose: 2 } as const;

function describe(event: RunEvent, view: RunView, verbosity: Verbosity): Candidate | undefined {
  switch (event.type) {
    case "run.started": {
      const text = `job ${event.jobName} started: ${plural(plannedWorks(event.work).length, "work")} in ${event.workingDirectory}${andChange(event)}`;
      return { work: null, tone: "plain", from: "normal", text };
    }
    case "run.ended":
    case "items.listed":
      return undefined;
    case "work.started":
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: startText(event),
      };
    case "work.ended":
      return endOfWork(event, view.works.get(event.work.workId));
    case "turn.started": {
      const repeat = `${event.retry > 0 ? `, retry ${event.retry}` : ""}${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`;
      return {
        work: event.work,
        tone: "faint",
        from: "verbose",
        text: `${event.purpose} turn${repeat}: ${event.prompt}`,
      };
    }
    case "turn.ended": {
      if (event.purpose !== "prompt" || event.outcome !== "completed") return undefined;
      // Every message has its own line there.
      if (verbosity === "verbose") return undefined;
      const work = view.works.get(event.work.workId);
      if (hasProtocol(view, event.work)) return undefined;
      // What it says is not kept: it is a result for the task that delegated.
      if (work !== undefined && delegateIn(work, event.work) !== undefined) return undefined;
      const message = work?.lastMessage;
      // The end of the step shows it.
      if (work?.flow !== undefined && work.flow.open.length > 0) return undefined;
      if (message === undefined) return undefined;
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `said: ${oneLine(message, SAID_LENGTH)}`,
      };
    }
    case "activity": {
      const text = activityText(event.activity);
      return text === undefined
        ? undefined
        : { work: event.work, tone: "faint", from: "verbose", text };
    }
    case "report.given": {
      const { title } = event;
      const text = `reported${title === undefined ? "" : ` ${JSON.stringify(title)}`}: ${oneLine(event.markdown, SAID_LENGTH)}`;
      return { work: event.work, tone: "plain", from: "normal", text };
    }
    case "result.given":
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `result: ${oneLine(JSON.stringify(event.result), SAID_LENGTH)}`,
      };
    case "finding.reported": {
      const { finding } = event;
      const tone = severityTones[finding.severity];
      return { work: event.work, tone, from: "normal", text: findingLine(finding) };
    }
    case "verdict.given": {
      const { tone, text } = verdictResult(event.verdict);
      return { work: event.work, tone, from: "normal", text: `verdict: ${text}` };
    }
    case "note.added":
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `remembered: ${oneLine(event.note, SAID_LENGTH)}`,
      };
    case "proposal.made":
      return {
        work: event.work,
        tone: "plain",
        from: "normal",
        text: `proposed: ${oneLine(proposalText(event.proposal), SAID_LENGTH)}`,
      };
    case "decision":
    case "session.started":
    case "session.ended":
    case "step.started":
    case "step.output":
    case "step.ended":
    case "action":
      return undefined;
  }
}

function decided(event: RunEvent, view: RunView, verbosity: Verbosity): Candidate | undefined {
  const made = decisionOf(event);
  if (made === undefined) return undefined;
  const { work, decision } = made;
  const condition = work !== null && view.works.get(work.workId)?.condition === true;
  // Whether it is an answer is only known when the work ends. The reason is shown then.
  if (condition && decision.kind === "task-failed") return undefined;
  const { severity, audience, answer } = decisionTraits(decision.kind);
  // A condition that does not hold is not a problem.
  const calm = condition && answer === true;
  return {
    work,
    tone: calm ? "plain" : tones[severity],
    from: calm ? "normal" : audience.log,
    text: decisionText(verbosity === "verbose" ? decision : withoutDetail(decision)),
  };
}

const tones: Readonly<Record<DecisionTraits["severity"], Tone>> = {
  good: "good",
  neutral: "plain",
  detail: "faint",
  warning: "warn",
  error: "bad",
};

/** Whether a log that groups lines by work shows it immediately: the agent may continue, but its result may be incomplete. */
/** A command has no model, nor has a workflow that sends no prompts. */
export function startText({ modelId = "", restored }: WorkStarted): string {
  if (restored === true) return "taken over from the earlier run";
  return modelId === "" ? "started" : `started, model ${modelId}`;
}

export function isUrgent(event: RunEvent): boolean {
  const made = decisionOf(event);
  return made !== undefined && decisionTraits(made.decision.kind).audience.atOnce;
}

function endOfWork(
  { work: ref, outcome }: Extract<RunEvent, { type: "work.ended" }>,
  work: WorkView | undefined,
): Candidate {
  const took = work === undefined ? "" : soFar(work, ref);
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

/** How long the item took, or what all iterations of the work have used so far. */
function soFar(work: WorkView, ref: WorkRef): string {
  const { elapsedMs } = itemOf(work, ref) ?? {};
  if (elapsedMs !== undefined) return ` after ${clockText(elapsedMs)}`;
  if (work.modelId === "" && work.modelCalls === 0) return ` after ${clockText(work.finishedMs)}`;
  const iterations = work.runs > 1 ? ` in ${work.runs} iterations` : "";
  return ` after ${clockText(work.finishedMs)}${iterations}: ${plural(work.attempts, "attempt")}, ${plural(work.modelCalls, "model call")}, tokens ${countText(work.inputTokens)} in, ${countText(work.outputTokens)} out`;
}

function activityText(activity: SessionActivity): string | undefined {
  switch (activity.kind) {
    case "message.ended":
      return activity.text.trim() === "" ? undefined : `message: ${activity.text}`;
    case "reasoning.ended":
      return activity.text.trim() === "" ? undefined : `reasoning: ${activity.text}`;
    case "tool.started":
      return `tool ${activity.toolName} ${JSON.stringify(activity.arguments)}`;
    case "tool.ended":
      return activity.succeeded
        ? `tool done: ${activity.result?.content ?? ""}`
        : `tool failed: ${activity.error?.message ?? "no reason given"}`;
    case "model.used":
      return `model call: ${activity.modelId}, tokens ${countText(activity.inputTokens)} in, ${countText(activity.outputTokens)} out, ${(activity.durationMs / 1000).toFixed(1)} s${activity.subAgent ? ", by a sub-agent" : ""}`;
    case "model.failed":
      return `model call failed: ${activity.statusCode ?? "no answer"}`;
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

function proposalText(proposal: Proposal): string {
  switch (proposal.kind) {
    case "comment":
      return `a comment, ${proposal.body}`;
    case "label":
      return `labels ${proposal.labels.join(", ")}`;
    case "reviewers":
      return `reviewers ${proposal.reviewers.join(", ")}`;
    case "issue":
      return `an issue, ${proposal.title}`;
    case "pull_request":
      return `a pull request, ${proposal.title}`;
    case "close":
      return `to close it${proposal.reason === undefined ? "" : `, ${proposal.reason}`}`;
  }
}

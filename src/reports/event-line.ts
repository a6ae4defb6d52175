/** The lines of a log: which events it shows, and how; and what a run found, at its end. */
import {
  decisionText,
  decisionTraits,
  withoutDetail,
  type DecisionTraits,
} from "../events/decision.ts";
import { decisionOf } from "../events/decision-of.ts";
import type { RunEvent, RunStarted, WorkRef, WorkStarted } from "../events/event.ts";
import type { Finding, Proposal, Verdict } from "../events/output-shapes.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import {
  delegateIn,
  hasProtocol,
  itemOf,
  iterationOf,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import { collectOutputs } from "../outputs/collect.ts";
import { verdictLine } from "../outputs/verdict.ts";
import { oneLine } from "../text/harmless-text.ts";
import { clockText, countText, plural, secondsText } from "../text/numbers.ts";
import { andChange } from "../events/change-text.ts";
import { plannedWorks } from "../events/plan.ts";
import { detail, plain, type Line, type Tone, type Verbosity } from "./paint.ts";
import { actionLines } from "./action-line.ts";
import { stepLines } from "./step-line.ts";

export type { Verbosity };

export interface EventLine {
  /** Null for the whole job. */
  readonly work: WorkRef | null;
  readonly tone: Tone;
  readonly text: string;
}

/** Maximum length of a line in normal and verbose output, in UTF-16 units. */
const LENGTH = { quiet: 600, normal: 600, verbose: 4000 } as const;
const SAID_LENGTH = 300;

type TurnEnded = Extract<RunEvent, { type: "turn.ended" }>;

export function eventLines(
  event: RunEvent,
  view: RunView,
  verbosity: Verbosity,
): readonly EventLine[] {
  const decided = decisionOf(event);
  const work = event.type === "run.started" || !("work" in event) ? null : event.work;
  return [
    ...linesOf(event, view, verbosity).map((line) => ({ work, ...line })),
    ...(decided === undefined ? [] : decisionLines(decided, view, verbosity)),
  ].flatMap(({ from, text, ...line }) =>
    rank[verbosity] < rank[from] ? [] : [{ ...line, text: oneLine(text, LENGTH[verbosity]) }],
  );
}

const rank = { quiet: 0, normal: 1, verbose: 2 } as const;

function linesOf(event: RunEvent, view: RunView, verbosity: Verbosity): readonly Line[] {
  switch (event.type) {
    case "run.started":
      return [plain(startOfJob(event, ` in ${event.workingDirectory}`))];
    case "work.started":
      return [plain(startText(event))];
    case "work.ended":
      return [endOfWork(event, view.works.get(event.work.workId))];
    case "turn.started": {
      const retry = event.retry > 0 ? `, retry ${event.retry}` : "";
      const attempt = event.attempt > 1 ? `, attempt ${event.attempt}` : "";
      return [detail(`${event.purpose} turn${retry}${attempt}: ${event.prompt}`)];
    }
    case "turn.ended": {
      // In verbose output, every message has its own line.
      const message = verbosity === "verbose" ? undefined : answerOf(event, view);
      return message === undefined ? [] : [said("said", message)];
    }
    case "activity": {
      const text = activityText(event.activity);
      return text === undefined ? [] : [detail(text)];
    }
    case "report.given": {
      const { title } = event;
      const name = title === undefined ? "" : ` ${JSON.stringify(title)}`;
      return [said(`reported${name}`, event.markdown)];
    }
    case "result.given":
      return [said("result", JSON.stringify(event.result))];
    case "finding.reported":
      return [findingLine(event.finding)];
    case "verdict.given":
      return [verdictGiven(event.verdict)];
    case "output.refused":
      return [said(`${event.refused.kind} refused`, event.refused.reason)];
    case "note.added":
      return [said("remembered", event.note)];
    case "proposal.made":
      return [said("proposed", proposalText(event.proposal))];
    case "step.started":
    case "step.output":
    case "step.ended":
      return stepLines(event, view);
    case "action":
      return actionLines(event, view);
    case "run.ended":
    case "items.listed":
    case "decision":
    case "session.started":
    case "session.ended":
      return [];
  }
}

export function startOfJob(event: RunStarted, where = ""): string {
  const works = plural(plannedWorks(event.work).length, "work");
  const mark = event.rehearsed === true ? " (rehearsal)" : "";
  return `job ${event.jobName} started${mark}: ${works}${where}${andChange(event)}`;
}

function said(what: string, text: string): Line {
  return plain(`${what}: ${oneLine(text, SAID_LENGTH)}`);
}

function answerOf(event: TurnEnded, view: RunView): string | undefined {
  const work = view.works.get(event.work.workId);
  if (event.purpose !== "prompt" || event.outcome !== "completed" || work === undefined)
    return undefined;
  if (hasProtocol(view, event.work)) return undefined;
  // What it says is not kept: it is a result for the task that delegated.
  if (delegateIn(work, event.work) !== undefined) return undefined;
  // The end of the step shows it.
  return work.flow !== undefined && work.flow.open.length > 0 ? undefined : work.lastMessage;
}

function decisionLines(
  { work, decision }: NonNullable<ReturnType<typeof decisionOf>>,
  view: RunView,
  verbosity: Verbosity,
): readonly (Line & Pick<EventLine, "work">)[] {
  const condition = work !== null && view.works.get(work.workId)?.condition === true;
  // Whether it is an answer is only known when the work ends. The reason is shown then.
  if (condition && decision.kind === "task-failed") return [];
  const { severity, audience, answer } = decisionTraits(decision.kind);
  // A condition that does not hold is not a problem.
  const calm = condition && answer === true;
  return [
    {
      work,
      tone: calm ? "plain" : tones[severity],
      from: calm ? "normal" : audience.log,
      text: decisionText(verbosity === "verbose" ? decision : withoutDetail(decision)),
    },
  ];
}

const tones: Readonly<Record<DecisionTraits["severity"], Tone>> = {
  good: "good",
  neutral: "plain",
  detail: "faint",
  warning: "warn",
  error: "bad",
};

/** A command has no model, nor has a workflow that sends no prompts. */
export function startText({ modelId = "", restored }: WorkStarted): string {
  if (restored === true) return "taken over from the earlier run";
  return modelId === "" ? "started" : `started, model ${modelId}`;
}

/** A log that groups lines by work shows it at once: the agent may continue, but its result may be incomplete. */
export function isUrgent(event: RunEvent): boolean {
  const made = decisionOf(event);
  return made !== undefined && decisionTraits(made.decision.kind).audience.atOnce;
}

function endOfWork(
  { work: ref, outcome }: Extract<RunEvent, { type: "work.ended" }>,
  work: WorkView | undefined,
): Line {
  const took = work === undefined ? "" : soFar(work, ref);
  if (work?.condition !== true || (outcome.kind !== "failed" && outcome.kind !== "crashed"))
    return { ...plain(`${outcome.kind}${took}`), tone: "faint" };
  const reason = work.reason ?? "no reason given";
  if (work.status === "answered-no") return plain(`answered no${took}: ${reason}`);
  return { tone: "bad", from: "quiet", text: `[TASK FAILED] ${outcome.kind}${took}: ${reason}` };
}

function soFar(work: WorkView, ref: WorkRef): string {
  const { finishedMs, attempts, modelCalls, inputTokens, outputTokens } = iterationOf(work);
  const took = ` after ${clockText(itemOf(work, ref)?.elapsedMs ?? finishedMs)}`;
  if (ref.item !== undefined || modelCalls === 0) return took;
  return `${took}: ${plural(attempts, "attempt")}, ${plural(modelCalls, "model call")}, tokens ${countText(inputTokens)} in, ${countText(outputTokens)} out`;
}

function activityText(activity: SessionActivity): string | undefined {
  switch (activity.kind) {
    case "message.ended":
      return activity.text.trim() === "" ? undefined : `message: ${activity.text}`;
    case "reasoning.ended":
      return activity.text.trim() === "" ? undefined : `reasoning: ${activity.text}`;
    case "tool.started":
      return `tool ${activity.toolName} ${JSON.stringify(activity.arguments)}`;
    case "tool.delta":
      return activity.toolName && `tool ${activity.toolName} goes on: ${activity.text}`;
    case "tool.ended":
      return activity.succeeded
        ? `tool done: ${activity.result?.content ?? ""}`
        : `tool failed: ${activity.error?.message ?? "no reason given"}`;
    case "model.used":
      return `model call: ${activity.modelId}, tokens ${countText(activity.inputTokens)} in, ${countText(activity.outputTokens)} out, ${secondsText(activity.durationMs)}${activity.subAgent ? ", by a sub-agent" : ""}`;
    case "model.failed":
      return `model call failed: ${activity.statusCode ?? "no answer"}`;
    case "sub-agent.tool.failed":
      return `tool of a sub-agent failed: ${activity.error.message}`;
    default:
      return undefined;
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

const MAX_PATH = 300;
const severityTones: Readonly<Record<Finding["severity"], Tone>> = {
  error: "bad",
  warning: "warn",
  notice: "plain",
};
const verdictTones: Readonly<Record<Verdict["verdict"], Tone>> = {
  pass: "good",
  "needs-work": "warn",
  reject: "bad",
};

/** The lines before the last one, which has the verdict. */
export function resultLines(view: RunView): readonly Line[] {
  const { findings, omitted } = collectOutputs(view);
  const { reportedDocument: document } = view;
  return [
    ...(document === undefined ? [] : [said("reported document", document)]),
    ...findings.map(findingLine),
    ...(omitted > 0 ? [plain(`and ${plural(omitted, "more finding")}`)] : []),
  ];
}

function verdictGiven(verdict: Verdict): Line {
  const text = `verdict: ${oneLine(verdictLine(verdict), LENGTH.normal)}`;
  return { ...plain(text), tone: verdictTones[verdict.verdict] };
}

/** `error at src/index.ts:3-5: The title: the message (rule)` */
function findingLine(finding: Finding): Line {
  const { path, line, endLine = line, severity, title, message, rule } = finding;
  const place = `${oneLine(path, MAX_PATH)}:${line}${endLine > line ? `-${endLine}` : ""}`;
  const about = oneLine(title === undefined ? message : `${title}: ${message}`, LENGTH.normal);
  const text = `${severity} at ${place}: ${about} (${oneLine(rule, 100)})`;
  return { ...plain(text), tone: severityTones[severity] };
}

/** The lines of a log: which events it shows, and how. */
import { oneLine } from "../text/harmless-text.ts";
import { clockText, countText, plural, tookText } from "../text/numbers.ts";
import type { ActionEnded, ActionEvent, EndedStatus } from "../events/action.ts";
import { andChange, andInstructions, plannedWorks } from "../events/plan.ts";
import {
  decisionText,
  decisionTraits,
  withoutDetail,
  type DecisionTraits,
} from "../events/decision.ts";
import {
  decisionOf,
  type RunEvent,
  type RunStarted,
  type WorkRef,
  type WorkStarted,
  type StepEnded,
  type StepStarted,
} from "../events/event.ts";
import { defaultBounds } from "../events/exceeded-limit.ts";
import type { Proposal } from "../events/output-shapes.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import {
  actionOf,
  delegateIn,
  flowNode,
  hasFailed,
  hasProtocol,
  itemOf,
  iterationOf,
  type ActionView,
  type FlowView,
  type OpenAction,
  type RunView,
  type StepView,
  type WorkView,
} from "../events/view.ts";
import type { Line, Tone, Verbosity } from "./paint.ts";
import { previousPlace } from "../outputs/collect.ts";
import { findingLine, said, verdictGiven } from "./result-lines.ts";
import { stepParts, stepSubject } from "./step-text.ts";

export interface EventLine {
  /** Null for the whole job. */
  readonly work: WorkRef | null;
  readonly tone: Tone;
  readonly text: string;
}

/** Maximum length of a line, in UTF-16 units. */
const LENGTH = { quiet: 600, normal: 600, verbose: 4000 } as const;
const MAX_NAME = 100;
const MAX_SUBJECT = 200;
const MAX_TEXT = 300;
const rank = { quiet: 0, normal: 1, verbose: 2 } as const;

/** `view` must include the event already. */
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

const plain = (text: string): Line => ({ tone: "plain", from: "normal", text });
const warning = (text: string): Line => ({ tone: "warn", from: "normal", text });
const detail = (text: string): Line => ({ tone: "faint", from: "verbose", text });

function linesOf(event: RunEvent, view: RunView, verbosity: Verbosity): readonly Line[] {
  const ref = event.type === "run.started" || !("work" in event) ? null : event.work;
  const work = ref === null ? undefined : view.works.get(ref.workId);
  switch (event.type) {
    case "run.started":
      return [plain(startOfJob(event, ` in ${event.workingDirectory}`))];
    case "work.started":
      return [plain(startText(event))];
    case "work.ended":
      return [endOfWork(event, work)];
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
    case "finding.resolved":
      return [said(`resolved ${previousPlace(view, event.finding).id}`, event.reason)];
    case "reply.given":
      return [said(`answered ${previousPlace(view, event.finding).id}`, event.message)];
    case "verdict.given":
      return [verdictGiven(event.verdict)];
    case "output.refused":
      return [said(`${event.refused.kind} refused`, event.refused.reason)];
    case "note.added":
      return [said("remembered", event.note)];
    case "proposal.made":
      return [said("proposed", proposalText(event.proposal))];
    case "step.started":
      return work?.flow === undefined ? [] : [stepStarted(event, work.flow)];
    case "step.output":
      return outputLines(event.text).map((text) => detail(`| ${text}`));
    case "step.ended":
      return work?.flow === undefined ? [] : [stepEnded(event, work.flow)];
    case "action": {
      const { action } = event;
      const known =
        work?.actions !== undefined &&
        (action.type === "action.started" || action.type === "action.ended")
          ? actionOf(work.actions, action, delegateIn(work, event.work))
          : undefined;
      return work?.actions === undefined ? [] : actionLines(action, known);
    }
    case "run.ended":
    case "items.listed":
    case "decision":
    case "session.started":
    case "session.ended":
      return [];
  }
}

export function startOfJob(event: RunStarted, where = ""): string {
  const steps = plural(plannedWorks(event.work).length, "step");
  const mark = event.rehearsed === true ? " (rehearsal)" : "";
  const bounds = event.rehearsed === true ? "" : defaultBounds(event.limits);
  return `job ${event.jobName} started${mark}: ${steps}${where}${andChange(event)}${andInstructions(event)}${bounds}`;
}

function answerOf(
  event: Extract<RunEvent, { type: "turn.ended" }>,
  view: RunView,
): string | undefined {
  const work = view.works.get(event.work.workId);
  if (event.purpose !== "prompt" || event.outcome !== "completed" || work === undefined)
    return undefined;
  if (hasProtocol(view, event.work)) return undefined;
  // The answer of a delegated task is a result for the task that delegated.
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
  const text = decisionText(verbosity === "verbose" ? decision : withoutDetail(decision));
  // A condition that does not hold is not a problem.
  return condition && answer === true
    ? [{ work, ...plain(text) }]
    : [{ work, tone: tones[severity], from: audience.log, text }];
}

const tones: Readonly<Record<DecisionTraits["severity"], Tone>> = {
  good: "good",
  neutral: "plain",
  detail: "faint",
  warning: "warn",
  error: "bad",
};

/** A command has no model, nor has a workflow that sends no prompts. */
export function startText({ modelId = "" }: WorkStarted): string {
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
    case "reasoning.ended":
      return activity.text.trim() === ""
        ? undefined
        : `${activity.kind.replace(".ended", "")}: ${activity.text}`;
    case "tool.started":
      return `tool ${activity.toolName} ${JSON.stringify(activity.arguments)}`;
    case "tool.delta":
      return activity.toolName && `tool ${activity.toolName} continues: ${activity.text}`;
    case "tool.ended":
      return activity.succeeded
        ? `tool done: ${activity.result?.content ?? ""}`
        : `tool failed: ${activity.error?.message ?? "no reason given"}`;
    case "model.used":
      return `model call: ${activity.modelId}, tokens ${countText(activity.inputTokens)} in, ${countText(activity.outputTokens)} out, ${(activity.durationMs / 1000).toFixed(1)} s${activity.subAgent ? ", by a sub-agent" : ""}`;
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
    case "push":
      return `a commit, ${proposal.title}`;
    case "close":
      return `to close it${proposal.reason === undefined ? "" : `, ${proposal.reason}`}`;
  }
}

/** A line that is rewritten with CR, such as a progress bar, is shown in its last state. */
function outputLines(text: string): readonly string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => line.split("\r").findLast((part) => part !== "") ?? "");
}

function stepStarted(event: StepStarted, flow: FlowView): Line {
  const name = stepName(event);
  const node = flowNode(flow, event);
  if (event.restored === true) return detail(`${name}: from the earlier run`);
  if (node?.kind === "call") return plain(`${name}: calls ${oneLine(node.label, MAX_SUBJECT)}`);
  if (event.input === undefined) return detail(name);
  return detail(`${name}: ${event.input.kind} ${stepSubject(event)}`);
}

function stepEnded(event: StepEnded, flow: FlowView): Line {
  const step = flow.steps.findLast((one) => one.step === event.step);
  const { to = "", reason = "no reason given", succeeded } = event;
  const name = step === undefined ? event.activity : stepName(step);
  const next = to === "" ? "" : ` → ${to}`;
  const subject = step === undefined ? "" : stepSubject(step);
  const answer = step?.effects?.find((effect) => effect.kind === "answered");
  if (event.restored !== true && !succeeded) {
    if (!hasFailed(flow, { ...event, status: "failed" }))
      return plain(`${name} does not hold${next}`);
    const what = subject === "" ? "" : ` (${oneLine(subject, MAX_SUBJECT)})`;
    return warning(`${name} failed${what}: ${reason}${next}`);
  }
  if (event.restored !== true && answer !== undefined) {
    const text = oneLine(answer.text, MAX_TEXT);
    const asked = `${oneLine(subject, MAX_SUBJECT)} Answer: ${text}`;
    return plain(`${name}: ${step?.input?.kind === "prompt" ? `said: ${text}` : asked}`);
  }
  if (event.restored !== true && subject !== "") return plain(`${name}: ${subject}`);
  const parts = stepParts(event).map(({ title, text }) => `${title}: ${text}`);
  return detail(`${name}: ${[succeeded ? "done" : "not done", ...parts].join("; ")}${next}`);
}

function stepName({ step, activity, hit }: StepStarted | StepView): string {
  return `${step} ${activity}${hit > 1 ? `, run ${hit}` : ""}`;
}

const MAX_PROBLEMS = 3;
const MAX_THOUGHTS = 20;

function actionLines(event: ActionEvent, known?: OpenAction | ActionView): readonly Line[] {
  switch (event.type) {
    case "actions.accepted": {
      const { iteration, thoughts, actions, stop, response = "" } = event;
      return [
        plain(`document ${iteration}: ${plural(actions, "action")}${stop ? ", stop" : ""}`),
        ...thoughts
          .slice(0, MAX_THOUGHTS)
          .map(({ type, content }) => detail(`thought ${type}: ${content}`)),
        ...(response.trim() === "" ? [] : [said("said", response)]),
      ];
    }
    case "actions.rejected":
      return [warning(rejectedText(event))];
    case "actions.warning":
      return [warning(`warning: ${oneLine(event.text, MAX_TEXT)}`)];
    case "action.waiting":
      return [detail(`${actionName(event)} accepted`)];
    case "action.started": {
      const { id, params = "{}" } = event;
      const name = actionName(known ?? { id });
      return [
        known?.background === true && known.group === undefined
          ? plain(`${name} started in the background`)
          : detail(`${name} started`),
        ...(params === "{}" ? [] : [detail(`| params: ${params}`)]),
      ];
    }
    case "action.ended": {
      const { id, status, output } = event;
      const isInternal = known?.kind === "task_manager" || known?.kind === "trap_card";
      const isFailure = status !== "succeeded" && status !== "cancelled";
      const line = isFailure ? warning : status === "succeeded" && isInternal ? detail : plain;
      return [
        line(`${actionName(known ?? { id })} ${actionEnd(event)}`),
        ...(output === undefined || known?.kind === "group" ? [] : [detail(`| ${output}`)]),
      ];
    }
    case "card.ended": {
      const line = event.status === "succeeded" ? detail : warning;
      return [line(`card ${oneLine(event.id, MAX_NAME)} ${actionEnd(event)}`)];
    }
    // The live view shows it.
    case "action.progress":
      return [];
  }
}

export function rejectedText({
  iteration,
  problems,
}: Pick<Extract<ActionEvent, { type: "actions.rejected" }>, "iteration" | "problems">): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const where = path === "" ? "" : `${oneLine(path, MAX_NAME)}: `;
    return `${where}${oneLine(message, MAX_TEXT).replace(/\.$/, "")}`;
  });
  if (shown.length < problems.length) shown.push(`${problems.length - shown.length} more`);
  return `document ${iteration} rejected: ${shown.join("; ")}`;
}

function actionName({
  id,
  action = "",
  kind,
}: Pick<ActionView, "id"> & Partial<Pick<ActionView, "action" | "kind">>): string {
  const name = oneLine(id, MAX_NAME);
  if (action === "" || action === id) return name;
  return `${name} (${kind === "group" ? "group " : ""}${oneLine(action, MAX_NAME)})`;
}

function actionEnd({
  status,
  milliseconds,
  reason,
  replayed,
}: Pick<ActionEnded, "status" | "milliseconds" | "reason" | "replayed">): string {
  if (replayed === true) return `${statusWord(status)}: the result of the same action before`;
  const took = milliseconds > 0 ? ` after ${tookText(milliseconds)}` : "";
  const why =
    reason === undefined || status === "timed_out" ? "" : `: ${oneLine(reason, MAX_TEXT)}`;
  return `${statusWord(status)}${took}${why}`;
}

/** Returns a word for people. The words of the protocol are for the model. */
export function statusWord(status: EndedStatus): string {
  if (status === "timed_out") return "timed out";
  return status === "cancelled" ? "canceled" : status;
}

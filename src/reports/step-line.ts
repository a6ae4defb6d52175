/** The lines of the steps of a workflow in a log. */
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { flowNode, hasFailed, type FlowView, type RunView, type StepView } from "../events/view.ts";
import { stepParts, stepSubject } from "./step-text.ts";
import type { Candidate } from "./log-line.ts";
import { oneLine } from "./text.ts";

/** Of a script, a question or a reason. */
const SHORT = 200;
/** Of an answer. */
const LONG = 300;
/** Lines of one piece of output. */
const MAX_LINES = 200;

/** `view` must include the event already. */
export function stepLines(event: RunEvent, view: RunView): readonly Candidate[] {
  switch (event.type) {
    case "step.started":
    case "step.ended": {
      const flow = view.works.get(event.work.workId)?.flow;
      if (flow === undefined) return [];
      const lines = event.type === "step.started" ? started(event, flow) : ended(event, flow);
      return lines.map((line) => ({ work: event.work, ...line }));
    }
    case "step.output":
      return outputLines(event.text).map((text) => ({
        work: event.work,
        tone: "faint",
        from: "verbose",
        text: `| ${text}`,
      }));
    default:
      return [];
  }
}

type Line = Omit<Candidate, "work">;

/** Of a line that is rewritten with CR, such as a progress bar, only the last state is shown. */
function outputLines(text: string): readonly string[] {
  const lines = text
    .split("\n")
    .map((line) => line.split("\r").findLast((part) => part !== "") ?? "");
  if (lines.at(-1) === "") lines.pop();
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`];
}

function started(event: StepStarted, flow: FlowView): readonly Line[] {
  const name = nameOf(event);
  const node = flowNode(flow, event);
  if (event.restored === true)
    return [{ tone: "faint", from: "verbose", text: `${name}: from the earlier run` }];
  if (node?.kind === "call")
    return [
      { tone: "plain", from: "normal", text: `${name}: calls ${oneLine(node.label, SHORT)}` },
    ];
  if (event.input === undefined) return [{ tone: "faint", from: "verbose", text: name }];
  return [
    { tone: "faint", from: "verbose", text: `${name}: ${event.input.kind} ${stepSubject(event)}` },
  ];
}

function ended(event: StepEnded, flow: FlowView): readonly Line[] {
  const step = flow.last?.step === event.step ? flow.last : stepOf(flow, event);
  const { to = "", reason } = event;
  const name = step === undefined ? event.activity : nameOf(step);
  const way = to === "" ? "" : ` → ${to}`;
  const detail: readonly Line[] = [
    { tone: "faint", from: "verbose", text: `${name}: ${detailOf(event)}${way}` },
  ];
  if (event.restored === true) return detail;
  if (!event.succeeded) {
    const isFailure = hasFailed(flow, { ...event, status: "failed" });
    const subject = step === undefined ? "" : oneLine(stepSubject(step), SHORT);
    const what = isFailure
      ? `failed${subject === "" ? "" : ` (${subject})`}: ${reason ?? "no reason given"}`
      : "does not hold";
    return [{ tone: isFailure ? "warn" : "plain", from: "normal", text: `${name} ${what}${way}` }];
  }
  const text = step === undefined ? "" : done(step);
  return text === "" ? detail : [{ tone: "plain", from: "normal", text: `${name}: ${text}` }];
}

function stepOf({ steps }: FlowView, { step }: StepEnded): StepView | undefined {
  return steps.findLast((one) => one.step === step);
}

function nameOf({ step, activity, hit }: StepStarted | StepView): string {
  return `${step} ${activity}${hit > 1 ? `, run ${hit}` : ""}`;
}

/** What a step did that others notice; empty for one that only the workflow does. */
function done(step: StepView): string {
  const subject = stepSubject(step);
  const answer = step.effects.find((effect) => effect.kind === "answered")?.text;
  switch (step.input?.kind) {
    case undefined:
      return "";
    case "prompt":
      return `said: ${oneLine(answer ?? "", LONG)}`;
    case "ask":
      return `${oneLine(subject, SHORT)} Answer: ${oneLine(answer ?? "", LONG)}`;
    case "execute":
      return subject;
  }
}

function detailOf(event: StepEnded): string {
  const parts = stepParts(event).map(({ title, text }) => `${title}: ${text}`);
  return [event.succeeded ? "done" : "not done", ...parts].join("; ");
}

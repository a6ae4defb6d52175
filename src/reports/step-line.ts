/** The lines of the steps of a workflow in a log. */
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { flowNode, hasFailed, type FlowView, type RunView, type StepView } from "../events/view.ts";
import { stepParts, stepSubject } from "./step-text.ts";
import { detail, plain, warning, type Line } from "./paint.ts";
import { oneLine } from "./text.ts";

const SHORT = 200;
const LONG = 300;
const MAX_LINES = 200;

type StepEvent = Extract<RunEvent, { type: "step.started" | "step.output" | "step.ended" }>;

/** `view` must include the event already. */
export function stepLines(event: StepEvent, view: RunView): readonly Line[] {
  if (event.type === "step.output")
    return outputLines(event.text).map((text) => detail(`| ${text}`));
  const flow = view.works.get(event.work.workId)?.flow;
  if (flow === undefined) return [];
  return [event.type === "step.started" ? started(event, flow) : ended(event, flow)];
}

/** Of a line that is rewritten with CR, such as a progress bar, only the last state is shown. */
function outputLines(text: string): readonly string[] {
  const lines = text
    .split("\n")
    .map((line) => line.split("\r").findLast((part) => part !== "") ?? "");
  if (lines.at(-1) === "") lines.pop();
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`];
}

function started(event: StepStarted, flow: FlowView): Line {
  const name = nameOf(event);
  const node = flowNode(flow, event);
  if (event.restored === true) return detail(`${name}: from the earlier run`);
  if (node?.kind === "call") return plain(`${name}: calls ${oneLine(node.label, SHORT)}`);
  if (event.input === undefined) return detail(name);
  return detail(`${name}: ${event.input.kind} ${stepSubject(event)}`);
}

function ended(event: StepEnded, flow: FlowView): Line {
  const step = flow.last?.step === event.step ? flow.last : stepOf(flow, event);
  const { to = "", reason } = event;
  const name = step === undefined ? event.activity : nameOf(step);
  const way = to === "" ? "" : ` → ${to}`;
  const all = detail(`${name}: ${detailOf(event)}${way}`);
  if (event.restored === true) return all;
  if (!event.succeeded) {
    if (!hasFailed(flow, { ...event, status: "failed" }))
      return plain(`${name} does not hold${way}`);
    const subject = step === undefined ? "" : oneLine(stepSubject(step), SHORT);
    const what = `failed${subject === "" ? "" : ` (${subject})`}`;
    return warning(`${name} ${what}: ${reason ?? "no reason given"}${way}`);
  }
  const text = step === undefined ? "" : done(step);
  return text === "" ? all : plain(`${name}: ${text}`);
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

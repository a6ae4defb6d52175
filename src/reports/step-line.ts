/** The lines of the steps of a workflow in a log. */
import type { RunEvent } from "../events/event.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { flowNode, hasFailed, type FlowView, type RunView, type StepView } from "../events/view.ts";
import { stepParts, stepSubject } from "./step-text.ts";
import { detail, plain, warning, type Line } from "./paint.ts";
import { oneLine } from "../text/harmless-text.ts";

const SHORT = 200;
const LONG = 300;

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
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => line.split("\r").findLast((part) => part !== "") ?? "");
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
  const step = flow.steps.findLast((one) => one.step === event.step);
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

function nameOf({ step, activity, hit }: StepStarted | StepView): string {
  return `${step} ${activity}${hit > 1 ? `, run ${hit}` : ""}`;
}

/** What a step did that others notice; empty for one that only the workflow does. */
function done(step: StepView): string {
  const subject = stepSubject(step);
  const answer = step.effects?.find((effect) => effect.kind === "answered");
  if (answer === undefined) return subject;
  const text = oneLine(answer.text, LONG);
  return step.input?.kind === "prompt"
    ? `said: ${text}`
    : `${oneLine(subject, SHORT)} Answer: ${text}`;
}

function detailOf(event: StepEnded): string {
  const parts = stepParts(event).map(({ title, text }) => `${title}: ${text}`);
  return [event.succeeded ? "done" : "not done", ...parts].join("; ");
}

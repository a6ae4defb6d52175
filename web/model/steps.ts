/** The steps of workflows, as `run-model.ts` folds them. */
import { hasFailed } from "../../src/events/view.ts";
import type { StepEnded, StepPrinted, StepStarted } from "../../src/events/step.ts";
import { addSpan, endSpan } from "./lanes.ts";
import type { IterationModel, RunModel, StepModel } from "./model.ts";

/** Characters kept of what running scripts print: the end. */
const MAX_OUTPUT = 200_000;

export function startStep(
  model: RunModel,
  iteration: IterationModel,
  event: StepStarted,
  at: number,
): void {
  addStep(model, iteration, event, event, at);
}

export function printStep(iteration: IterationModel, { step, text }: StepPrinted): void {
  const open = iteration.openSteps.findLast((one) => one.step === step);
  if (open === undefined) return;
  open.output += text;
  if (open.output.length > 2 * MAX_OUTPUT) open.output = open.output.slice(-MAX_OUTPUT);
}

export function endStep(
  model: RunModel,
  iteration: IterationModel,
  event: StepEnded,
  at: number,
): void {
  const { openSteps } = iteration;
  const known = openSteps.findLast((one) => one.step === event.step);
  const step = known ?? addStep(model, iteration, event, undefined, at);
  // What it contains is over too.
  for (const one of openSteps.splice(openSteps.indexOf(step))) if (one !== step) closeStep(one, at);
  step.end = event;
  step.endedAt = at;
  step.output = "";
  endSpan(step.span, at, spanStatus(model, step, event));
}

/** Ends what has no end of its own. */
export function closeStep(step: StepModel, at: number): void {
  step.endedAt = at;
  endSpan(step.span, at, "canceled");
}

function spanStatus({ view }: RunModel, { iteration }: StepModel, event: StepEnded) {
  if (event.succeeded) return "succeeded";
  const flow = view.works.get(iteration.work.workId)?.flow;
  const failed = flow === undefined || hasFailed(flow, { ...event, status: "failed" });
  return failed ? "failed" : "answered-no";
}

function addStep(
  model: RunModel,
  iteration: IterationModel,
  { step: ofWork, file, activity }: StepStarted | StepEnded,
  start: StepStarted | undefined,
  at: number,
): StepModel {
  const step: StepModel = {
    kind: "step",
    number: model.steps.length + 1,
    step: ofWork,
    iteration,
    file,
    activity,
    startedAt: at,
    start,
    endedAt: undefined,
    end: undefined,
    output: "",
    span: addSpan(iteration.work.lane, "step", at),
  };
  step.span.source = step;
  model.steps.push(step);
  iteration.entries.push(step);
  iteration.openSteps.push(step);
  return step;
}

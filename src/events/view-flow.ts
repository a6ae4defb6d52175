/** A fold over steps in any order. Memory depends on the number of activities, never on that of steps. */
import type { FlowChart, FlowNode } from "./flow.ts";
import { defined, isRecord } from "../text/guards.ts";
import { truncateMiddle } from "../text/truncate.ts";
import type { StepEnded, StepPrinted, StepStarted } from "./event.ts";

export interface FlowView {
  /** Comes from the plan; undefined in a torn journal. */
  chart: FlowChart | undefined;
  readonly activities: Map<string, Map<string, ActivityView>>;
  readonly steps: StepView[];
  stepCount: number;
  /** Steps that run: a CALL contains those of the called file. */
  readonly open: StepView[];
}

export type StepStatus = "running" | "succeeded" | "failed" | "canceled";

export interface ActivityView {
  hits: number;
  readonly visits: number[];
  status: StepStatus;
  reason: string | undefined;
  /** How often the flow went on from it to its `next`, and to its `other` activity. */
  readonly taken: { next: number; other: number };
}

/** A run of an activity. All texts are bounded. */
export interface StepView
  extends
    Pick<StepStarted, "step" | "file" | "activity" | "hit" | "input" | "restored">,
    Partial<Pick<StepEnded, "reason" | "to" | "result" | "variables" | "effects">> {
  readonly startedAt: number;
  endedAt: number | undefined;
  status: StepStatus;
  printed: string;
}

export const KEPT_STEPS = 100;
export const KEPT_VISITS = 10;
/** Characters kept of each text of a step: both ends. */
export const KEPT_STEP_TEXT = 8000;
const KEPT_ITEMS = 20;
/** More workflows never call one another; for a damaged journal. */
const MAX_OPEN = 100;

export function createFlowView(chart?: FlowChart): FlowView {
  return { chart, activities: new Map(), steps: [], stepCount: 0, open: [] };
}

export function startStep(
  flow: FlowView,
  event: Omit<StepStarted, "type" | "work" | "depth">,
  at: number,
): StepView {
  const { step: number, file, activity, hit, input, restored } = event;
  const step: StepView = {
    step: number,
    file,
    activity,
    hit,
    ...defined({ input: bounded(input), restored }),
    startedAt: at,
    endedAt: undefined,
    status: "running",
    printed: "",
  };
  flow.stepCount += 1;
  flow.steps.push(step);
  if (flow.steps.length > KEPT_STEPS) flow.steps.shift();
  flow.open.push(step);
  if (flow.open.length > MAX_OPEN) flow.open.shift();
  const visited = activityOf(flow, step);
  visited.hits += 1;
  visited.status = "running";
  visited.reason = undefined;
  if (visited.visits.length < KEPT_VISITS) visited.visits.push(number);
  return step;
}

export function printStep(flow: FlowView, event: StepPrinted): void {
  const step = flow.open.findLast((one) => one.step === event.step);
  if (step !== undefined) step.printed = (step.printed + event.text).slice(-KEPT_STEP_TEXT);
}

export function endStep(flow: FlowView, event: StepEnded, at: number): void {
  const index = flow.open.findLastIndex((one) => one.step === event.step);
  const step = flow.open[index] ?? startStep(flow, { ...event, hit: 1 }, at);
  // The steps inside it end as well.
  for (const inner of flow.open.splice(index === -1 ? flow.open.length - 1 : index))
    if (inner !== step) cancel(flow, inner, at);
  const { reason, to, result, variables, effects } = event;
  const status = event.succeeded ? "succeeded" : "failed";
  Object.assign(step, { endedAt: at, status, printed: "" });
  Object.assign(step, bounded({ reason, to, result, variables, effects }));
  const activity = activityOf(flow, event);
  Object.assign(activity, { status, reason: step.reason });
  if (event.to !== undefined) activity.taken[event.succeeded ? "next" : "other"] += 1;
}

export function endSteps(flow: FlowView, at: number): void {
  for (const step of flow.open.splice(0)) cancel(flow, step, at);
}

function cancel(flow: FlowView, step: StepView, at: number): void {
  step.endedAt = at;
  step.status = "canceled";
  const activity = activityOf(flow, step);
  if (activity.status === "running") activity.status = "canceled";
}

interface Place {
  readonly file: string;
  readonly activity: string;
}

function activityOf(flow: FlowView, { file, activity }: Place): ActivityView {
  const ofFile = flow.activities.get(file) ?? new Map<string, ActivityView>();
  flow.activities.set(file, ofFile);
  const known = ofFile.get(activity);
  if (known !== undefined) return known;
  const visited: ActivityView = {
    hits: 0,
    visits: [],
    status: "running",
    reason: undefined,
    taken: { next: 0, other: 0 },
  };
  ofFile.set(activity, visited);
  return visited;
}

export function currentStep(flow: FlowView): StepView | undefined {
  return flow.open.at(-1);
}

export function flowNode({ chart }: FlowView, { file, activity }: Place): FlowNode | undefined {
  if (chart === undefined || !Object.hasOwn(chart.files, file)) return undefined;
  return chart.files[file]?.activities.find(({ id }) => id === activity);
}

/** A check that does not hold has answered: that is no failure. */
export function hasFailed(flow: FlowView, step: Place & { readonly status: StepStatus }): boolean {
  return step.status === "failed" && flowNode(flow, step)?.kind !== "check";
}

/** Keeps both ends of every text, and the first items of every list and object. */
function bounded<T>(value: T): T;
function bounded(value: unknown): unknown {
  if (typeof value === "string") return truncateMiddle(value, KEPT_STEP_TEXT);
  if (Array.isArray(value)) return value.slice(0, KEPT_ITEMS).map((item) => bounded<unknown>(item));
  if (!isRecord(value)) return value;
  const items = Object.entries(value).slice(0, KEPT_ITEMS);
  return Object.fromEntries(items.map(([name, item]) => [name, bounded(item)]));
}

import type { ActionDisplay, ActionEvent, ActionStatus } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import { defined } from "../text/guards.ts";
import { withoutSequences } from "../text/harmless-text.ts";
import type { CallEnd } from "../tools/call.ts";
import type { ToolProgress } from "../tools/tool.ts";
import { plainCopy } from "../document/plain.ts";
import { truncateUnredacted, truncateStart } from "../text/truncate.ts";
import type { ActionSpec } from "./read-message.ts";
import type { PlannedAction } from "./preflight.ts";

/** A result: its value, and the same as text (a text as it is, everything else as JSON). */
export interface Output {
  readonly value: unknown;
  readonly text: string;
}

export type Ended =
  | { readonly status: "succeeded"; readonly output: Output }
  | {
      readonly status: "failed";
      readonly reason: string;
      readonly tail?: string;
      readonly output?: Output;
    }
  | { readonly status: "timed_out"; readonly seconds: number }
  | { readonly status: "cancelled"; readonly reason: string; readonly output?: Output | undefined }
  | {
      readonly status: "skipped";
      readonly cause: { readonly id: string; readonly status: ActionStatus };
    };

export type TaskState =
  | { readonly status: "waiting" }
  | {
      readonly status: "running";
      readonly params: unknown;
      readonly cancel: (reason: string) => void;
    }
  | Ended;

interface Prerequisite {
  readonly task: Task;
  readonly needs: "success" | "end";
}

export class Task {
  readonly planned: PlannedAction;
  readonly iteration: number;
  readonly group: Task | undefined;
  readonly members: Task[] = [];
  readonly prerequisites: Prerequisite[] = [];
  readonly dependents = new Set<Task>();
  readonly duplicateOf: Task | undefined;
  state: TaskState = { status: "waiting" };
  /** The arguments of the call. */
  params: unknown;
  startedAt: number | undefined;
  endedAt: number | undefined;
  replayed = false;
  signature: string | undefined;
  cancelReason: string | undefined;
  readonly ended: Promise<Ended>;
  readonly resolveEnded: (ended: Ended) => void;

  constructor(
    planned: PlannedAction,
    iteration: number,
    group: Task | undefined,
    duplicateOf: Task | undefined,
  ) {
    this.planned = planned;
    this.iteration = iteration;
    this.group = group;
    this.duplicateOf = duplicateOf;
    let resolve: (ended: Ended) => void = () => {};
    this.ended = new Promise((done) => (resolve = done));
    this.resolveEnded = resolve;
  }

  waitFor(task: Task, needs: Prerequisite["needs"]): void {
    this.prerequisites.push({ task, needs });
    task.dependents.add(this);
  }

  get id(): string {
    return this.planned.id;
  }

  get action(): string {
    return this.planned.spec.action;
  }

  get execution(): "SYNC" | "ASYNC" {
    return this.planned.spec.execution ?? "SYNC";
  }

  get isGroup(): boolean {
    return this.planned.target.kind === "group";
  }

  get inBackground(): boolean {
    return this.execution === "ASYNC" && this.group === undefined;
  }
}

export function isEnded(state: TaskState): state is Ended {
  return state.status !== "waiting" && state.status !== "running";
}

export function endOf(outcome: CallEnd, seconds: number): Ended {
  switch (outcome.kind) {
    case "succeeded": {
      const output = outputOf(outcome.value);
      if (output !== undefined) return { status: "succeeded", output };
      return { status: "failed", reason: "The result is not JSON data." };
    }
    case "failed": {
      const { reason, tail } = outcome;
      return { status: "failed", reason, ...defined({ tail }) };
    }
    case "timed_out":
      return { status: "timed_out", seconds };
    case "cancelled":
      return { status: "cancelled", reason: outcome.reason };
  }
}

/** A copy, so that a tool that changes its result later does no harm. */
export function outputOf(value: unknown): Output | undefined {
  if (typeof value === "string") return { value, text: value };
  const copied = plainCopy(value ?? null);
  if (copied.kind === "rejected") return undefined;
  try {
    const text = JSON.stringify(copied.value);
    // Read again, so that the value is what the text says: no functions, no undefined elements.
    return { value: JSON.parse(text), text };
  } catch {
    return undefined;
  }
}

export function contentOf(ended: Ended): string {
  switch (ended.status) {
    case "succeeded":
      return ended.output.text;
    case "failed":
      return joined([ended.reason, ended.tail, ended.output?.text]);
    case "cancelled":
      return joined([ended.reason, ended.output?.text]);
    default:
      return reasonOf(ended) ?? "";
  }
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join("\n");
}

const shownTail = 500;

export function reasonOf(ended: Ended): string | undefined {
  switch (ended.status) {
    case "succeeded":
      return undefined;
    case "failed":
      return joined([ended.reason, truncateStart(ended.tail ?? "", shownTail)]);
    case "cancelled":
      return ended.reason;
    case "timed_out":
      return `It did not end within ${ended.seconds} seconds.`;
    case "skipped":
      return `It needs "${ended.cause.id}", which ${verbOf(ended.cause.status)}.`;
  }
}

export function verbOf(status: ActionStatus): string {
  switch (status) {
    case "waiting":
    case "running":
      return `is ${status}`;
    case "succeeded":
    case "failed":
      return status;
    case "timed_out":
      return "timed out";
    case "cancelled":
      return "was canceled";
    case "skipped":
      return "was skipped";
  }
}

/** A summary for the model and for callers. */
export interface TaskView {
  /** Unique among all actions of the executor. */
  readonly id: string;
  /** The name of the call, or the label of a group. */
  readonly action: string;
  /** Where it is. */
  readonly status: ActionStatus;
  /** Whether the model call waits for it. */
  readonly execution: "SYNC" | "ASYNC";
  /** The accepted document that it came with, from 1 on. */
  readonly iteration: number;
  /** Since its start, to its end, in tenths. Absent if it never started. */
  readonly seconds?: number;
  /** Why it did not succeed. */
  readonly reason?: string;
}

export function viewOf(task: Task, now: number): TaskView {
  const { id, action, execution, state, iteration, startedAt, endedAt } = task;
  const reason = isEnded(state) ? reasonOf(state) : undefined;
  return {
    id,
    action,
    status: state.status,
    execution,
    iteration,
    ...(startedAt === undefined
      ? {}
      : { seconds: Math.round(((endedAt ?? now) - startedAt) / 100) / 10 }),
    ...defined({ reason }),
  };
}

export function waitingEvent(task: Task): ActionEvent {
  const { id, iteration, action, execution, planned, group } = task;
  const { spec, target, inThought, requires } = planned;
  return {
    type: "action.waiting",
    id,
    iteration,
    action,
    kind: target.kind,
    execution,
    ...(inThought ? { inThought } : {}),
    ...(requires.size === 0 ? {} : { requires: [...requires] }),
    ...defined({ group: group?.id, display: displayOf(spec) }),
  };
}

export function startedEvent({ id, iteration, isGroup, state }: Task, most: number): ActionEvent {
  const started = { type: "action.started", id, iteration } as const;
  if (isGroup || state.status !== "running") return started;
  return { ...started, params: truncateUnredacted(JSON.stringify(state.params), most) };
}

export function endedEvent(
  { id, iteration, startedAt, endedAt = 0, replayed }: Task,
  ended: Ended,
  most: number,
): ActionEvent {
  const reason = reasonOf(ended);
  const output = "output" in ended ? ended.output?.text : undefined;
  return {
    type: "action.ended",
    id,
    iteration,
    status: ended.status,
    milliseconds: startedAt === undefined ? 0 : endedAt - startedAt,
    ...(reason === undefined ? {} : { reason: truncateUnredacted(reason, most) }),
    ...(ended.status === "skipped" ? { cause: ended.cause } : {}),
    ...(output === undefined
      ? {}
      : { output: truncateUnredacted(output, most), outputCharacters: output.length }),
    ...(replayed ? { replayed } : {}),
  };
}

const longestLabel = 200;
/** Only the end of an action is its 100 %. */
const mostPercent = 95;
const stepPercent = 5;
const pauseMs = 200;

/** One line, in which nothing takes the place of what is hidden. No word is cut: it is redacted later. */
export function labelOf(text: string): string {
  const line = withoutSequences(text.slice(0, 10 * longestLabel))
    .replaceAll(/[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, "")
    .trim();
  return truncateUnredacted(line, longestLabel).trimEnd();
}

function displayOf({ display, action }: ActionSpec): ActionDisplay | undefined {
  if (display === undefined || display === null) return undefined;
  const label = labelOf(display.label ?? "");
  return {
    kind: display.type === "progress_bar" ? "progress_bar" : "status_message",
    label: label === "" ? labelOf(action) : label,
  };
}

/** Steps by the estimate of the model fill the gaps. It never goes backward, and doesn't come too often. */
export function startProgress(
  { display }: ActionSpec,
  clock: Clock,
  notify: (news: { readonly percent?: number; readonly message?: string }) => void,
): { report(progress: ToolProgress): void; end(): void } {
  const stepMs = (display?.estimated_duration_seconds ?? 0) * 10 * stepPercent;
  let stop: Release = () => {};
  let shownPercent = -1;
  let shownMessage: string | undefined;
  let last = Number.NEGATIVE_INFINITY;
  const estimate = (): void => {
    stop = startTimer(clock, stepMs, () => {
      if (shownPercent >= mostPercent) return;
      shownPercent = Math.min(mostPercent, Math.max(0, shownPercent) + stepPercent);
      notify({ percent: shownPercent });
      estimate();
    });
  };
  if (stepMs > 0) estimate();
  return {
    report({ percent, message }) {
      const now = clock.now();
      const rounded = Math.min(mostPercent, Math.floor(percent ?? Number.NaN));
      const label = typeof message === "string" ? labelOf(message) : undefined;
      const grown = rounded > shownPercent;
      if (!grown && (label === undefined || label === shownMessage || now - last < pauseMs)) return;
      last = now;
      if (grown) shownPercent = rounded;
      shownMessage = label ?? shownMessage;
      notify({
        ...(shownPercent >= 0 ? { percent: shownPercent } : {}),
        ...defined({ message: label }),
      });
    },
    end: () => stop(),
  };
}

/**
 * Calls what the graph says is ready, as soon as there is a slot: completes its params, compares it with an earlier
 * action of the same id, and bounds the call. Owns the slots; the states are those of the graph.
 *
 * Invariants: an action is called at most once, and every call that has begun leads to the end of its action.
 */
import { defined, isList, isRecord } from "../document/guards.ts";
import { beginningOf } from "../events/cut.ts";
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../platform/clock.ts";
import { startCall } from "../tools/call.ts";
import type { CallContext, ToolOutcome } from "../tools/tool.ts";
import type { Catalogue, Target } from "./catalogue.ts";
import { CallProgress, displayOf } from "./display.ts";
import { ActionGraph } from "./graph.ts";
import type { ExecutorLimits } from "./limits.ts";
import { checkFinal, ordinary, templateOf } from "./params.ts";
import type { ActionSpec } from "./model.ts";
import type { PlannedAction } from "./preflight.ts";
import { interpolate, type Names } from "./references.ts";
import { Slots } from "./slots.ts";
import { type Ended, endOf, isEnded, reasonOf, type Task } from "./task.ts";

type Params = Readonly<Record<string, unknown>>;

export interface SchedulerPorts {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits: ExecutorLimits;
  readonly names: Names;
  readonly emit: (event: ActionEvent) => void;
  readonly call: (task: Task, params: Params, context: CallContext) => Promise<ToolOutcome>;
  /** Of an action that is in no group. */
  onEnded(task: Task): void;
}

export class Scheduler {
  readonly #ports: SchedulerPorts;
  readonly #slots: Slots;
  readonly #graph: ActionGraph;

  constructor(ports: SchedulerPorts) {
    const { clock, emit, limits } = ports;
    this.#ports = ports;
    this.#slots = new Slots(limits.parallel, (task) => this.#dispatch(task));
    this.#graph = new ActionGraph({
      now: () => clock.now(),
      added: (task) => emit(waitingEvent(task)),
      ready: (task) => this.#ready(task),
      started: (task) => emit(startedEvent(task, limits)),
      ended: (task, ended) => {
        emit(endedEvent(task, ended, limits));
        if (task.group === undefined) ports.onEnded(task);
      },
      settled: (task) => this.#slots.release(task),
    });
  }

  /** By id. Of two actions with the same id it is the first. */
  get table(): ReadonlyMap<string, Task> {
    return this.#graph.table;
  }

  /** Those that have not ended, in order; members of groups as well. */
  get active(): ReadonlySet<Task> {
    return this.#graph.active;
  }

  /** If they are canceled already, all of them end at once. */
  add(
    planned: readonly PlannedAction[],
    iteration: number,
    canceled: string | undefined,
  ): readonly Task[] {
    return this.#graph.add(planned, iteration, canceled);
  }

  /** Idempotent. Cascades to the members of groups. */
  cancel(tasks: Iterable<Task>, reason: string): void {
    this.#graph.cancel(tasks, reason);
  }

  /** Takes the tool for a call that is no action; false if it is in use. */
  lock(target: Target): boolean {
    return this.#slots.lock(target);
  }

  unlock(target: Target): void {
    this.#slots.unlock(target);
  }

  #ready(task: Task): void {
    switch (task.planned.target.kind) {
      case "group":
        task.signature = signatureOf(task.planned.spec);
        if (task.duplicateOf === undefined) this.#graph.startGroup(task);
        else this.#replay(task, task.duplicateOf);
        return;
      case "task_manager":
      case "trap_card":
        // They only look at tables, and may wait for others: no slot, or they could wait for each other.
        this.#dispatch(task);
        return;
      case "tool":
      case "relic":
      case "delegate":
        this.#slots.enqueue(task);
    }
  }

  #dispatch(task: Task): void {
    try {
      this.#prepare(task);
    } catch (error) {
      // Whatever a host's tool or a schema did: the action has to end.
      this.#fail(task, `It can't be called: ${String(error)}`);
    }
  }

  #prepare(task: Task): void {
    const { catalogue, limits, names } = this.#ports;
    const { target, isTemplate } = task.planned;
    let params = ordinary(task.planned.params);
    if (isTemplate) {
      const result = interpolate(templateOf(target, params), names, limits.paramsCharacters);
      if (result.kind === "unresolved") return this.#fail(task, result.reason);
      params = { ...params, ...Object(result.value) };
      const [problem] = checkFinal(catalogue.check(target), target, params);
      if (problem !== undefined) {
        const path = ["params", ...problem.path].join(".");
        return this.#fail(task, `Invalid params: ${path}: ${problem.reason}`);
      }
    }
    task.signature = signatureOf({ ...task.planned.spec, params });
    if (task.duplicateOf === undefined) this.#call(task, params);
    else this.#replay(task, task.duplicateOf);
  }

  /** The result of the earlier action, if it was the same one. */
  #replay(task: Task, earlier: Task): void {
    const { state } = earlier;
    if (!isEnded(state)) {
      this.#fail(task, `The id "${task.id}" belongs to an action that is still ${state.status}.`);
    } else if (!isSame(task, earlier)) {
      this.#fail(task, `The id "${task.id}" belongs to another action. Choose a new id.`);
    } else this.#graph.replay(task, state);
  }

  #call(task: Task, params: Params): void {
    const { call, clock, emit, limits } = this.#ports;
    const { id, iteration, planned } = task;
    const seconds = secondsOf(task, limits);
    const progress = new CallProgress(planned.spec, clock, (news) =>
      emit({ type: "action.progress", id, iteration, ...news }),
    );
    const running = startCall((context) => call(task, params, context), {
      clock,
      seconds,
      graceSeconds: limits.graceSeconds,
      onProgress: (news) => progress.report(news),
    });
    this.#graph.start(task, params, running.cancel);
    progress.estimate();
    void running.ended.then((end) => {
      progress.end();
      this.#graph.settle(
        task,
        end.kind === "cancelled"
          ? { status: "cancelled", reason: end.reason }
          : endOf(end, seconds),
      );
    });
  }

  #fail(task: Task, reason: string): void {
    this.#graph.settle(task, { status: "failed", reason });
  }
}

/** Whether the same is called. An action that never started is compared as it was written. */
function isSame(task: Task, earlier: Task): boolean {
  if (earlier.signature !== undefined) return earlier.signature === task.signature;
  return signatureOf(earlier.planned.spec) === signatureOf(task.planned.spec);
}

/** The time limit of a call. */
export function secondsOf({ planned: { target } }: Task, limits: ExecutorLimits): number {
  switch (target.kind) {
    case "tool":
      return target.tool.timeoutSeconds ?? limits.toolSeconds;
    case "delegate":
      return target.delegation.timeoutSeconds ?? limits.delegateSeconds;
    case "task_manager":
      // Its waits end by themselves.
      return limits.waitSeconds + limits.graceSeconds + 1;
    case "relic":
    case "trap_card":
    case "group":
      return limits.toolSeconds;
  }
}

/** What makes two actions the same: what is called, with which params. Not when, nor how it is shown. */
function signatureOf(spec: ActionSpec): string {
  return JSON.stringify(sorted(essence(spec)));
}

function essence({ action, type, params = {}, sub_actions: members }: ActionSpec): unknown {
  return { action, type, params, members: members?.map(essence) ?? null };
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])]);
}

type Lengths = Pick<ExecutorLimits, "eventCharacters">;

function waitingEvent({ id, iteration, planned, group }: Task): ActionEvent {
  const { spec, target, execution, inThought, requires } = planned;
  const display = displayOf(spec);
  return {
    type: "action.waiting",
    id,
    iteration,
    action: spec.action,
    kind: target.kind,
    execution,
    ...(group === undefined ? {} : { group: group.id }),
    ...(inThought ? { inThought } : {}),
    ...(requires.length === 0 ? {} : { requires }),
    ...defined({ display }),
  };
}

function startedEvent(
  { id, iteration, isGroup, state }: Task,
  { eventCharacters }: Lengths,
): ActionEvent {
  const started = { type: "action.started", id, iteration } as const;
  if (isGroup || state.status !== "running") return started;
  return { ...started, params: beginningOf(JSON.stringify(state.params), eventCharacters) };
}

function endedEvent(
  { id, iteration, startedAt, endedAt = 0, replayed }: Task,
  ended: Ended,
  { eventCharacters }: Lengths,
): ActionEvent {
  const reason = reasonOf(ended);
  const content = "output" in ended ? ended.output?.text : undefined;
  return {
    type: "action.ended",
    id,
    iteration,
    status: ended.status,
    milliseconds: startedAt === undefined ? 0 : endedAt - startedAt,
    ...(reason === undefined ? {} : { reason: beginningOf(reason, eventCharacters) }),
    ...(ended.status === "skipped" ? { cause: ended.cause } : {}),
    ...(content === undefined
      ? {}
      : {
          output: beginningOf(content, eventCharacters),
          outputCharacters: content.length,
        }),
    ...(replayed ? { replayed } : {}),
  };
}

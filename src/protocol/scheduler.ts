/**
 * Runs the actions of accepted documents. Owns the table of actions and their states; knows nothing of messages.
 *
 * Invariants: an action is called at most once, and only after everything it requires has succeeded. Every action
 * ends, exactly once. What needs an action that did not succeed is skipped at once, transitively. A group ends after
 * all of its members. Costs nothing per action that waits: each end looks only at its dependents.
 */
import type { ActionEvent } from "../events/action.ts";
import type { Clock } from "../events/clock.ts";
import { beginningOf, cut } from "../events/cut.ts";
import { startCall } from "../calls/call.ts";
import type { CallContext, ToolOutcome } from "../calls/tool.ts";
import type { Catalogue } from "./catalogue.ts";
import { displayOf, estimatedStep, type Progress, ProgressFilter } from "./display.ts";
import type { ExecutorLimits } from "./limits.ts";
import { checkFinal, ordinary, templateOf } from "./params.ts";
import type { PlannedAction } from "./preflight.ts";
import { interpolate, type Names } from "./references.ts";
import { signatureOf } from "./signature.ts";
import { Slots } from "./slots.ts";
import { contentOf, type Ended, endOf, isEnded, outputOf, reasonOf, Task, verbOf } from "./task.ts";

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
  readonly slots: Slots;
  readonly #ports: SchedulerPorts;
  readonly #table = new Map<string, Task>();
  /** Those that have not ended, in order; members of groups as well. */
  readonly #active = new Set<Task>();

  constructor(ports: SchedulerPorts) {
    this.#ports = ports;
    this.slots = new Slots(ports.limits.parallel, (task) => this.#dispatch(task));
  }

  /** By id. Of two actions with the same id it is the first. */
  get table(): ReadonlyMap<string, Task> {
    return this.#table;
  }

  get active(): ReadonlySet<Task> {
    return this.#active;
  }

  /** If it is canceled already, all of them end at once. */
  add(
    planned: readonly PlannedAction[],
    iteration: number,
    canceled: string | undefined,
  ): readonly Task[] {
    const tasks: Task[] = [];
    const byId = new Map<string, Task>();
    for (const one of planned) {
      const group = one.group === undefined ? undefined : tasks[one.group];
      const task = new Task(one, iteration, group, this.#table.get(one.id));
      tasks.push(task);
      byId.set(one.id, task);
      group?.members.push(task);
    }
    for (const task of tasks) {
      if (task.duplicateOf === undefined) this.#table.set(task.id, task);
      task.openMembers = task.members.length;
      this.#active.add(task);
      this.#emitWaiting(task);
    }
    const failed = new Map<Task, Task>();
    for (const task of tasks) {
      if (task.group !== undefined) task.unmet += 1;
      for (const id of task.planned.requires) {
        const producer = byId.get(id) ?? this.#table.get(id);
        if (producer === undefined || producer.state.status === "succeeded") continue;
        if (isEnded(producer.state)) {
          // Never met: what else it waits for must not start it before it is skipped.
          task.unmet += 1;
          failed.set(task, producer);
        } else this.#follow(producer, task, "success");
      }
      for (const index of task.planned.after) {
        const earlier = tasks[index];
        if (earlier !== undefined) this.#follow(earlier, task, "end");
      }
    }
    if (canceled !== undefined) this.cancel(tasks, canceled);
    for (const [task, producer] of failed) this.#skip(task, producer);
    for (const task of tasks) if (task.unmet === 0) this.#ready(task);
    return tasks;
  }

  /**
   * Idempotent. Cascades to the members of groups. All are marked before any of them ends, so that the end of one
   * starts none of the others.
   */
  cancel(tasks: Iterable<Task>, reason: string): void {
    const all = [...tasks].filter(
      ({ state, cancelReason }) => !isEnded(state) && cancelReason === undefined,
    );
    for (const one of all) {
      one.cancelReason ??= reason;
      all.push(...one.members);
    }
    for (const one of all) {
      if (one.state.status === "waiting") this.#settle(one, { status: "cancelled", reason });
      else one.cancelCall?.(reason);
    }
  }

  #follow(producer: Task, task: Task, needs: "success" | "end"): void {
    producer.dependents.push({ task, needs });
    task.unmet += 1;
  }

  #ready(task: Task): void {
    if (task.state.status !== "waiting" || task.isReady) return;
    task.isReady = true;
    if (task.cancelReason !== undefined) {
      this.#settle(task, { status: "cancelled", reason: task.cancelReason });
      return;
    }
    if (task.isGroup) this.#startGroup(task);
    else if (
      task.planned.target.kind === "task_manager" ||
      task.planned.target.kind === "trap_card"
    )
      // They only look at tables, and may wait for others: no slot, or they could wait for each other.
      this.#dispatch(task);
    else this.slots.enqueue(task);
  }

  #startGroup(group: Task): void {
    group.signature = signatureOf(group.planned.spec);
    if (group.duplicateOf !== undefined) {
      this.#replay(group, group.duplicateOf);
      return;
    }
    const now = this.#ports.clock.now();
    group.state = { status: "running", since: now, params: undefined };
    group.startedAt = now;
    this.#ports.emit({ type: "action.started", id: group.id, iteration: group.iteration });
    for (const member of group.members) this.#meet(member);
    // All members may have been skipped before.
    this.#endGroup(group);
  }

  /** The result of the earlier action, if it was the same one. */
  #replay(task: Task, earlier: Task): void {
    if (!isEnded(earlier.state)) {
      const reason = `The id "${task.id}" belongs to an action that is still ${earlier.state.status}.`;
      this.#settle(task, { status: "failed", reason });
    } else if (!isSame(task, earlier)) {
      const reason = `The id "${task.id}" belongs to another action. Choose a new id.`;
      this.#settle(task, { status: "failed", reason });
    } else {
      task.replayed = true;
      this.#settle(task, earlier.state);
    }
  }

  #dispatch(task: Task): void {
    try {
      this.#prepare(task);
    } catch (error) {
      // Whatever a host's tool or a schema did: the action has to end.
      this.#settle(task, { status: "failed", reason: `It can't be called: ${String(error)}` });
    }
  }

  #prepare(task: Task): void {
    const { catalogue, limits, names } = this.#ports;
    const { target, isTemplate } = task.planned;
    let params = ordinary(task.planned.params);
    if (isTemplate) {
      const result = interpolate(templateOf(target, params), names, limits.paramsCharacters);
      if (result.kind === "unresolved") {
        this.#settle(task, { status: "failed", reason: result.reason });
        return;
      }
      params = { ...params, ...Object(result.value) };
      const [problem] = checkFinal(catalogue.check(target), target, params);
      if (problem !== undefined) {
        const reason = `Invalid params: ${["params", ...problem.path].join(".")}: ${problem.reason}`;
        this.#settle(task, { status: "failed", reason });
        return;
      }
    }
    task.signature = signatureOf({ ...task.planned.spec, params });
    if (task.duplicateOf !== undefined) this.#replay(task, task.duplicateOf);
    else this.#call(task, params);
  }

  #call(task: Task, params: Params): void {
    const { clock, emit, limits, call } = this.#ports;
    const { id, iteration } = task;
    const now = clock.now();
    task.state = { status: "running", since: now, params };
    task.startedAt = now;
    const shown = beginningOf(JSON.stringify(params), limits.eventCharacters);
    emit({ type: "action.started", id, iteration, params: shown });
    const filter = new ProgressFilter();
    const progress = (news: Progress | undefined): void => {
      if (news !== undefined) emit({ type: "action.progress", id, iteration, ...news });
    };
    const seconds = secondsOf(task, limits);
    const running = startCall((context) => call(task, params, context), {
      clock,
      seconds,
      graceSeconds: limits.graceSeconds,
      onProgress: (news) => progress(filter.report(news, clock.now())),
    });
    task.cancelCall = running.cancel;
    // Whoever was told of the start may have canceled it.
    if (task.cancelReason !== undefined) running.cancel(task.cancelReason);
    const estimate = new AbortController();
    void this.#estimate(task, filter, progress, estimate.signal);
    void running.ended.then((end) => {
      estimate.abort();
      if (end.kind === "cancelled") this.#settle(task, { status: "cancelled", reason: end.reason });
      else this.#settle(task, endOf(end, seconds));
    });
  }

  /** Progress by the estimate of the model, for people. */
  async #estimate(
    task: Task,
    filter: ProgressFilter,
    report: (news: Progress | undefined) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const step = estimatedStep(task.planned.spec);
    if (step === undefined) return;
    for (;;) {
      await this.#ports.clock.sleep(step, signal);
      const news = signal.aborted ? undefined : filter.step();
      if (news === undefined) return;
      report(news);
    }
  }

  #settle(task: Task, ended: Ended): void {
    if (isEnded(task.state)) return;
    task.state = ended;
    task.endedAt = this.#ports.clock.now();
    task.cancelCall = undefined;
    this.#active.delete(task);
    this.#emitEnded(task, ended);
    if (task.group === undefined) this.#ports.onEnded(task);
    task.resolveEnded(ended);
    // Members of a group that ran have ended before it.
    for (const member of task.members) this.#leave(member, task);
    for (const { task: dependent, needs } of task.dependents) {
      if (needs === "success" && ended.status !== "succeeded") this.#skip(dependent, task);
      else this.#meet(dependent);
    }
    this.slots.release(task);
    if (task.group !== undefined) {
      task.group.openMembers -= 1;
      this.#endGroup(task.group);
    }
  }

  /** A member of a group that ended without running its members. */
  #leave(member: Task, group: Task): void {
    const earlier = group.replayed ? member.duplicateOf : undefined;
    if (earlier !== undefined && isEnded(earlier.state)) {
      member.replayed = true;
      this.#settle(member, earlier.state);
    } else this.#skip(member, group);
  }

  #meet(task: Task): void {
    task.unmet -= 1;
    if (task.unmet === 0) this.#ready(task);
  }

  #skip(task: Task, cause: Task): void {
    if (task.cancelReason !== undefined) {
      this.#settle(task, { status: "cancelled", reason: task.cancelReason });
      return;
    }
    const { id, state } = cause;
    this.#settle(task, { status: "skipped", cause: { id, status: state.status } });
  }

  #endGroup(group: Task): void {
    if (group.openMembers > 0 || group.state.status !== "running") return;
    const values: [string, unknown][] = [];
    const failures: string[] = [];
    for (const { id, state } of group.members) {
      if (!isEnded(state)) continue;
      if (state.status === "succeeded") values.push([id, state.output.value]);
      else failures.push(`"${id}" ${verbOf(state.status)}: ${cut(reasonOf(state) ?? "", 200)}`);
    }
    const output = outputOf(Object.fromEntries(values)) ?? { value: {}, text: "{}" };
    if (group.cancelReason !== undefined) {
      this.#settle(group, { status: "cancelled", reason: group.cancelReason });
    } else if (failures.length === 0) this.#settle(group, { status: "succeeded", output });
    else {
      const reason = `${failures.length} of ${group.members.length} actions did not succeed: ${failures.join("; ")}`;
      this.#settle(group, { status: "failed", reason, output });
    }
  }

  #emitWaiting({ id, iteration, planned, group }: Task): void {
    const { spec, target, execution, inThought, requires } = planned;
    const display = displayOf(spec);
    this.#ports.emit({
      type: "action.waiting",
      id,
      iteration,
      action: spec.action,
      kind: target.kind,
      execution,
      ...(group === undefined ? {} : { group: group.id }),
      ...(inThought ? { inThought } : {}),
      ...(requires.length === 0 ? {} : { requires }),
      ...(display === undefined ? {} : { display }),
    });
  }

  #emitEnded(task: Task, ended: Ended): void {
    const { id, iteration, startedAt, endedAt = 0, replayed } = task;
    const { eventCharacters } = this.#ports.limits;
    const reason = reasonOf(ended);
    const content = ended.status === "succeeded" ? contentOf(ended) : undefined;
    this.#ports.emit({
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
    });
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

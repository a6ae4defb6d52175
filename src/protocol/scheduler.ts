/**
 * The actions of all accepted documents. Owns their states: an action is called at most once, after everything it
 * requires has succeeded, and ends exactly once. What needs one that did not succeed is skipped at once, transitively. A
 * group ends after all of its members.
 */
import { isRecord } from "../text/guards.ts";
import type { ActionEvent } from "../events/action.ts";
import { truncate } from "../text/truncate.ts";
import type { Clock } from "../platform/clock.ts";
import { startCall } from "../tools/call.ts";
import type { Params, Target } from "./catalogue.ts";
import { startProgress } from "./task.ts";
import type { ActionSpec } from "./message-schema.ts";
import { finalParams, type ParamPorts } from "./params.ts";
import type { PlannedAction } from "./preflight.ts";
import {
  type Ended,
  endedEvent,
  endOf,
  isEnded,
  outputOf,
  reasonOf,
  startedEvent,
  Task,
  verbOf,
  waitingEvent,
} from "./task.ts";

interface SchedulerPorts extends ParamPorts {
  readonly clock: Clock;
  readonly emit: (event: ActionEvent) => void;
  readonly onEnded: (task: Task) => void;
}

export class Scheduler {
  readonly #ports: SchedulerPorts;
  readonly #table = new Map<string, Task>();
  readonly #active = new Set<Task>();
  /** Ready, but without a slot or their tool. In the order in which they became ready. */
  readonly #queue = new Set<Task>();
  readonly #running = new Set<Task>();
  /** Tools whose calls may not overlap, while one runs. */
  readonly #inUse = new Set<string>();

  constructor(ports: SchedulerPorts) {
    this.#ports = ports;
  }

  /** By id. The first of two actions with the same id counts. */
  get table(): ReadonlyMap<string, Task> {
    return this.#table;
  }

  get active(): ReadonlySet<Task> {
    return this.#active;
  }

  add(
    planned: readonly PlannedAction[],
    iteration: number,
    canceled: string | undefined,
  ): readonly Task[] {
    const tasks: Task[] = [];
    for (const one of planned) {
      const group = one.group === undefined ? undefined : tasks[one.group];
      const task = new Task(one, iteration, group, this.#table.get(one.id));
      tasks.push(task);
      group?.members.push(task);
    }
    const byId = new Map(tasks.map((task) => [task.id, task]));
    for (const task of tasks) {
      const { requires, after } = task.planned;
      for (const id of requires) {
        const producer = byId.get(id) ?? this.#table.get(id);
        if (producer !== undefined) task.waitFor(producer, "success");
      }
      for (const index of after) {
        const earlier = tasks[index];
        if (earlier !== undefined) task.waitFor(earlier, "end");
      }
    }
    for (const task of tasks) {
      if (task.duplicateOf === undefined) this.#table.set(task.id, task);
      this.#active.add(task);
      this.#ports.emit(waitingEvent(task));
    }
    if (canceled !== undefined) this.cancel(tasks, canceled);
    for (const task of tasks) this.#review(task);
    return tasks;
  }

  /** Idempotent. All are marked before any of them ends, so that the end of one starts none of the others. */
  cancel(tasks: Iterable<Task>, reason: string): void {
    const all = [...tasks].filter(
      ({ state, cancelReason }) => !isEnded(state) && cancelReason === undefined,
    );
    for (const one of all) {
      one.cancelReason ??= reason;
      for (const member of one.members) all.push(member);
    }
    for (const one of all) {
      if (one.state.status === "waiting") this.#end(one, { status: "cancelled", reason });
      else if (one.state.status === "running") one.state.cancel(reason);
    }
  }

  #review(task: Task): void {
    const { state, cancelReason, group, prerequisites } = task;
    if (state.status !== "waiting" || cancelReason !== undefined) return;
    for (const { task: other, needs } of prerequisites) {
      const { status } = other.state;
      if (needs === "success" && isEnded(other.state) && status !== "succeeded")
        return this.#skip(task, other);
    }
    if (group !== undefined && group.state.status !== "running") return;
    if (prerequisites.every(({ task: other }) => isEnded(other.state))) this.#ready(task);
  }

  #ready(task: Task): void {
    switch (task.planned.target.kind) {
      case "group":
        return this.#unlessReplayed(task, {}, () => this.#startGroup(task));
      case "task_manager":
      case "trap_card":
        // They only look at tables, and may wait for others: no slot, or they could wait for each other.
        this.#dispatch(task);
        return;
      case "tool":
      case "relic":
      case "delegate":
        this.#queue.add(task);
        this.#startNext();
    }
  }

  #startNext(): void {
    for (const task of this.#queue) {
      if (this.#running.size >= Math.max(1, this.#ports.limits.parallel)) return;
      // A call that waits for its tool holds no slot.
      if (!this.lock(task.planned.target)) continue;
      this.#queue.delete(task);
      this.#running.add(task);
      this.#dispatch(task);
    }
  }

  /** Takes the tool of a call; false if it is in use. */
  lock({ name, isParallelSafe }: Target): boolean {
    if (isParallelSafe) return true;
    if (this.#inUse.has(name)) return false;
    this.#inUse.add(name);
    return true;
  }

  unlock({ name, isParallelSafe }: Target): void {
    // A relic may have the name of a tool.
    if (!isParallelSafe) this.#inUse.delete(name);
    this.#startNext();
  }

  #startGroup(group: Task): void {
    this.#start(group, undefined, () => {});
    for (const member of group.members) this.#review(member);
    // All members may have been skipped before.
    this.#endGroup(group);
  }

  #dispatch(task: Task): void {
    const { target, spec } = task.planned;
    const params = finalParams(target, spec.params ?? {}, this.#ports);
    if (typeof params === "string") return this.#fail(task, params);
    this.#unlessReplayed(task, { params }, () => this.#call(task, params));
  }

  #unlessReplayed(task: Task, made: { readonly params?: Params }, run: () => void): void {
    task.signature = signatureOf({ ...task.planned.spec, ...made });
    const { duplicateOf: earlier } = task;
    if (earlier === undefined) return run();
    const { state } = earlier;
    if (!isEnded(state)) {
      this.#fail(task, `The id "${task.id}" belongs to an action that is still ${state.status}.`);
    } else if (!isSame(task, earlier)) {
      this.#fail(task, `The id "${task.id}" belongs to another action. Choose a new id.`);
    } else this.#endAs(task, state);
  }

  #call(task: Task, params: Params): void {
    const { clock, emit, limits } = this.#ports;
    const { id, iteration, planned } = task;
    const { spec, target } = planned;
    const { seconds } = target;
    const progress = startProgress(spec, clock, (news) =>
      emit({ type: "action.progress", id, iteration, ...news }),
    );
    const running = startCall((context) => target.run({ id, params }, context), {
      clock,
      seconds,
      graceSeconds: limits.graceSeconds,
      onProgress: (news) => progress.report(news),
    });
    this.#start(task, params, running.cancel);
    void running.ended.then((end) => {
      progress.end();
      this.#end(task, endOf(end, seconds));
    });
  }

  #fail(task: Task, reason: string): void {
    this.#end(task, { status: "failed", reason });
  }

  #start(task: Task, params: unknown, cancel: (reason: string) => void): void {
    task.params = params;
    task.state = { status: "running", params, cancel };
    task.startedAt = this.#ports.clock.now();
    this.#ports.emit(startedEvent(task, this.#ports.limits.eventCharacters));
  }

  #end(task: Task, ended: Ended): void {
    if (isEnded(task.state)) return;
    const { clock, emit, limits, onEnded } = this.#ports;
    task.state = ended;
    task.endedAt = clock.now();
    this.#active.delete(task);
    emit(endedEvent(task, ended, limits.eventCharacters));
    if (task.group === undefined) onEnded(task);
    task.resolveEnded(ended);
    for (const member of task.members) this.#leave(member, task);
    for (const dependent of task.dependents) this.#review(dependent);
    this.#queue.delete(task);
    if (this.#running.delete(task)) this.unlock(task.planned.target);
    if (task.group !== undefined) this.#endGroup(task.group);
  }

  #endAs(task: Task, result: Ended): void {
    task.replayed = true;
    this.#end(task, result);
  }

  #skip(task: Task, { id, state: { status } }: Task): void {
    this.#end(task, { status: "skipped", cause: { id, status } });
  }

  #leave(member: Task, group: Task): void {
    if (member.cancelReason !== undefined) return;
    const earlier = group.replayed ? member.duplicateOf : undefined;
    if (earlier !== undefined && isEnded(earlier.state)) this.#endAs(member, earlier.state);
    else this.#skip(member, group);
  }

  #endGroup(group: Task): void {
    const { members, state, cancelReason: reason } = group;
    if (state.status !== "running" || !members.every((one) => isEnded(one.state))) return;
    const end = endOfGroup(members);
    if (reason === undefined) return this.#end(group, end);
    const output = end.output?.text === "{}" ? {} : { output: end.output };
    this.#end(group, { status: "cancelled", reason, ...output });
  }
}

function isSame(task: Task, earlier: Task): boolean {
  if (earlier.signature !== undefined) return earlier.signature === task.signature;
  return signatureOf(earlier.planned.spec) === signatureOf(task.planned.spec);
}

function signatureOf({ action, type, params = {}, sub_actions: members = [] }: ActionSpec): string {
  const essence = [action, type, params, members.map(signatureOf)];
  return JSON.stringify(essence, (_, value: unknown) =>
    isRecord(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value,
  );
}

const shownReasons = 3_000;

function endOfGroup(members: readonly Task[]): Extract<Ended, { status: "succeeded" | "failed" }> {
  const values: [string, unknown][] = [];
  const failures: string[] = [];
  const failed = members.filter(({ state }) => state.status !== "succeeded");
  const share = Math.max(200, Math.floor(shownReasons / failed.length));
  for (const { id, state } of members) {
    if (!isEnded(state)) continue;
    // A group that failed has what its other members returned.
    if ("output" in state) values.push([id, state.output?.value]);
    if (state.status === "succeeded") continue;
    failures.push(`"${id}" ${verbOf(state.status)}: ${truncate(reasonOf(state) ?? "", share)}`);
  }
  const output = outputOf(Object.fromEntries(values)) ?? { value: {}, text: "{}" };
  if (failures.length === 0) return { status: "succeeded", output };
  const reason = `${failures.length} of ${members.length} actions did not succeed: ${failures.join("; ")}`;
  return { status: "failed", reason, output };
}

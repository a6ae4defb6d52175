/**
 * The actions of all accepted documents, and what each waits for. Owns their states: every transition happens here.
 * Calls nothing and knows no messages: it reports which actions are ready, and is given the outcome of each.
 *
 * Invariants: an action becomes ready at most once, and only after everything it requires has succeeded. Every action
 * ends exactly once. What needs an action that did not succeed is skipped at once, transitively. A group ends after
 * all of its members. Costs nothing per action that waits: each end looks only at its dependents.
 */
import type { PlannedAction } from "./preflight.ts";
import { cut } from "../events/cut.ts";
import { type Ended, isEnded, outputOf, reasonOf, Task, verbOf } from "./task.ts";

export interface GraphPorts {
  now(): number;
  added(task: Task): void;
  /** It may start, or end without a start. */
  ready(task: Task): void;
  started(task: Task): void;
  /** Before anything that follows from its end. */
  ended(task: Task, ended: Ended): void;
  /** After its dependents have heard of its end. */
  settled(task: Task): void;
}

export class ActionGraph {
  readonly #ports: GraphPorts;
  readonly #table = new Map<string, Task>();
  readonly #active = new Set<Task>();

  constructor(ports: GraphPorts) {
    this.#ports = ports;
  }

  /** By id. Of two actions with the same id it is the first. */
  get table(): ReadonlyMap<string, Task> {
    return this.#table;
  }

  /** Those that have not ended, in order; members of groups as well. */
  get active(): ReadonlySet<Task> {
    return this.#active;
  }

  /** If they are canceled already, all of them end at once. */
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
      this.#ports.added(task);
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
        } else follow(producer, task, "success");
      }
      for (const index of task.planned.after) {
        const earlier = tasks[index];
        if (earlier !== undefined) follow(earlier, task, "end");
      }
    }
    if (canceled !== undefined) this.cancel(tasks, canceled);
    for (const [task, producer] of failed) this.#skip(task, producer);
    for (const task of tasks) if (task.unmet === 0) this.#ready(task);
    return tasks;
  }

  /** A call that is ready begins. `cancel` has to lead to its end. */
  start(task: Task, params: unknown, cancel: (reason: string) => void): void {
    this.#run(task, params, cancel);
    // Canceled together with others, the end of which has given it its slot.
    if (task.cancelReason !== undefined) cancel(task.cancelReason);
  }

  /** A group that is ready begins: its members no longer wait for it. It ends by itself. */
  startGroup(group: Task): void {
    this.#run(group, undefined, () => {});
    for (const member of group.members) this.#meet(member);
    // All members may have been skipped before.
    this.#endGroup(group);
  }

  /** Ends it, and skips or readies what depends on it. Harmless for one that has ended. */
  settle(task: Task, ended: Ended): void {
    if (isEnded(task.state)) return;
    task.state = ended;
    task.endedAt = this.#ports.now();
    this.#active.delete(task);
    this.#ports.ended(task, ended);
    task.resolveEnded(ended);
    // Members of a group that ran have ended before it.
    for (const member of task.members) this.#leave(member, task);
    for (const { task: dependent, needs } of task.dependents) {
      if (needs === "success" && ended.status !== "succeeded") this.#skip(dependent, task);
      else this.#meet(dependent);
    }
    this.#ports.settled(task);
    if (task.group !== undefined) {
      task.group.openMembers -= 1;
      this.#endGroup(task.group);
    }
  }

  /** Ends it with the result of an earlier action, which was the same one. */
  replay(task: Task, result: Ended): void {
    task.replayed = true;
    this.settle(task, result);
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
      for (const member of one.members) all.push(member);
    }
    for (const one of all) {
      if (one.state.status === "waiting") this.settle(one, { status: "cancelled", reason });
      else if (one.state.status === "running") one.state.cancel(reason);
    }
  }

  #run(task: Task, params: unknown, cancel: (reason: string) => void): void {
    const now = this.#ports.now();
    task.state = { status: "running", params, cancel };
    task.startedAt = now;
    this.#ports.started(task);
  }

  #ready(task: Task): void {
    if (task.state.status !== "waiting" || task.state.isReady) return;
    task.state = { status: "waiting", isReady: true };
    if (task.cancelReason === undefined) this.#ports.ready(task);
    else this.settle(task, { status: "cancelled", reason: task.cancelReason });
  }

  #meet(task: Task): void {
    task.unmet -= 1;
    if (task.unmet === 0) this.#ready(task);
  }

  #skip(task: Task, { id, state: { status } }: Task): void {
    const { cancelReason: reason } = task;
    if (reason === undefined) this.settle(task, { status: "skipped", cause: { id, status } });
    else this.settle(task, { status: "cancelled", reason });
  }

  /** A member of a group that ended without running its members. */
  #leave(member: Task, group: Task): void {
    const earlier = group.replayed ? member.duplicateOf : undefined;
    if (earlier !== undefined && isEnded(earlier.state)) this.replay(member, earlier.state);
    else this.#skip(member, group);
  }

  #endGroup(group: Task): void {
    if (group.openMembers > 0 || group.state.status !== "running") return;
    const end = endOfGroup(group.members);
    const { cancelReason: reason } = group;
    if (reason === undefined) this.settle(group, end);
    else {
      const output = end.output?.text === "{}" ? {} : { output: end.output };
      this.settle(group, { status: "cancelled", reason, ...output });
    }
  }
}

function follow(producer: Task, task: Task, needs: "success" | "end"): void {
  producer.dependents.push({ task, needs });
  task.unmet += 1;
}

/** Characters of the reasons of all members together. */
const shownReasons = 3_000;

/** What its members, which have all ended, make of a group. */
function endOfGroup(members: readonly Task[]): Extract<Ended, { status: "succeeded" | "failed" }> {
  const values: [string, unknown][] = [];
  const failures: string[] = [];
  const failed = members.filter(({ state }) => state.status !== "succeeded");
  const share = Math.max(200, Math.floor(shownReasons / Math.max(1, failed.length)));
  for (const { id, state } of members) {
    if (!isEnded(state)) continue;
    // A group that failed has what its other members returned.
    if ("output" in state) values.push([id, state.output?.value]);
    if (state.status === "succeeded") continue;
    failures.push(`"${id}" ${verbOf(state.status)}: ${cut(reasonOf(state) ?? "", share)}`);
  }
  const output = outputOf(Object.fromEntries(values)) ?? { value: {}, text: "{}" };
  if (failures.length === 0) return { status: "succeeded", output };
  const reason = `${failures.length} of ${members.length} actions did not succeed: ${failures.join("; ")}`;
  return { status: "failed", reason, output };
}

/**
 * Bounded parallelism: at most so many calls at once, in the order in which they became ready, and at most one call
 * of a tool that isn't `parallelSafe`. A call first waits for its tool, then for a slot, so that calls that wait for
 * a tool hold no slot.
 */
import { isParallelSafe, type Target } from "./catalogue.ts";
import type { Task } from "./task.ts";

export class Slots {
  readonly #parallel: number;
  readonly #start: (task: Task) => void;
  /** Waiting for a slot, in order; undefined for those that were dropped. */
  #queue: (Task | undefined)[] = [];
  #head = 0;
  readonly #queued = new Map<Task, number>();
  readonly #running = new Set<Task>();
  /** Tools that are in use → who waits for them. */
  readonly #inUse = new Map<string, Set<Task>>();
  #pumping = false;

  constructor(parallel: number, start: (task: Task) => void) {
    this.#parallel = parallel;
    this.#start = start;
  }

  enqueue(task: Task): void {
    const tool = exclusiveTool(task.planned.target);
    const others = tool === undefined ? undefined : this.#inUse.get(tool);
    if (others !== undefined) {
      others.add(task);
      return;
    }
    if (tool !== undefined) this.#inUse.set(tool, new Set());
    this.#push(task);
    this.#pump();
  }

  /** For a call that ended, or that is no longer wanted. Harmless for any other task. */
  release(task: Task): void {
    const tool = exclusiveTool(task.planned.target);
    const place = this.#queued.get(task);
    if (place !== undefined) {
      this.#queue[place] = undefined;
      this.#queued.delete(task);
    } else if (!this.#running.delete(task)) {
      if (tool !== undefined) this.#inUse.get(tool)?.delete(task);
      return;
    }
    if (tool !== undefined) this.#unlock(tool);
    this.#pump();
  }

  /** Takes the tool for a call that needs no slot; false if it is in use. */
  lock(target: Target): boolean {
    const tool = exclusiveTool(target);
    if (tool === undefined) return true;
    if (this.#inUse.has(tool)) return false;
    this.#inUse.set(tool, new Set());
    return true;
  }

  unlock(target: Target): void {
    const tool = exclusiveTool(target);
    if (tool === undefined) return;
    this.#unlock(tool);
    this.#pump();
  }

  #unlock(tool: string): void {
    const waiting = this.#inUse.get(tool);
    const [next] = waiting ?? [];
    if (next === undefined) this.#inUse.delete(tool);
    else {
      waiting?.delete(next);
      this.#push(next);
    }
  }

  #push(task: Task): void {
    this.#queued.set(task, this.#queue.length);
    this.#queue.push(task);
  }

  #pump(): void {
    // A start can fail at once, which frees its slot: this loop then goes on, without recursion.
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#running.size < this.#parallel && this.#head < this.#queue.length) {
      const task = this.#queue[this.#head];
      this.#head += 1;
      if (task === undefined) continue;
      this.#queued.delete(task);
      this.#running.add(task);
      this.#start(task);
    }
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    this.#pumping = false;
  }
}

function exclusiveTool(target: Target): string | undefined {
  return target.kind === "tool" && !isParallelSafe(target) ? target.tool.name : undefined;
}

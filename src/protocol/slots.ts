/**
 * Bounded parallelism: at most so many calls at once, in the order in which they became ready, and at most one call
 * of a tool that isn't `parallelSafe`. A call that waits for its tool holds no slot.
 */
import { isParallelSafe, type Target } from "./catalogue.ts";
import type { Task } from "./task.ts";

export class Slots {
  readonly #parallel: number;
  readonly #start: (task: Task) => void;
  readonly #queue = new Set<Task>();
  readonly #running = new Set<Task>();
  readonly #inUse = new Set<string>();
  #isStarting = false;

  constructor(parallel: number, start: (task: Task) => void) {
    // With none, nothing would ever start.
    this.#parallel = Math.max(1, parallel);
    this.#start = start;
  }

  enqueue(task: Task): void {
    this.#queue.add(task);
    this.#startNext();
  }

  /** For a call that ended, or that is no longer wanted. Harmless for any other task. */
  release(task: Task): void {
    this.#queue.delete(task);
    if (this.#running.delete(task)) this.unlock(task.planned.target);
  }

  /** Takes the tool for a call that needs no slot; false if it is in use. */
  lock(target: Target): boolean {
    const tool = exclusiveTool(target);
    if (tool === undefined) return true;
    if (this.#inUse.has(tool)) return false;
    this.#inUse.add(tool);
    return true;
  }

  unlock(target: Target): void {
    const tool = exclusiveTool(target);
    if (tool !== undefined) this.#inUse.delete(tool);
    this.#startNext();
  }

  #startNext(): void {
    // A start can fail at once, which frees its slot: this loop then goes on, without recursion.
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      for (let task = this.#next(); task !== undefined; task = this.#next()) this.#start(task);
    } finally {
      this.#isStarting = false;
    }
  }

  #next(): Task | undefined {
    if (this.#running.size >= this.#parallel) return undefined;
    for (const task of this.#queue) {
      if (!this.lock(task.planned.target)) continue;
      this.#queue.delete(task);
      this.#running.add(task);
      return task;
    }
    return undefined;
  }
}

function exclusiveTool(target: Target): string | undefined {
  return target.kind === "tool" && !isParallelSafe(target) ? target.tool.name : undefined;
}

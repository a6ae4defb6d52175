/** Which actions of the action protocol have ended, for replies that wait for them. */
import { onAbort } from "../../platform/waiting.ts";
import type { RunEventBody, WorkRef } from "../../events/event.ts";

type Known = Map<string, "open" | "ended">;

export class ActionEnds {
  /** By run of a task, then by id. */
  readonly #tasks = new Map<string, Known>();
  readonly #waiting = new Set<() => void>();

  observe(event: RunEventBody): void {
    if (event.type !== "action") return;
    const { work, action } = event;
    if (action.type !== "action.waiting" && action.type !== "action.ended") return;
    const known = this.#of(work);
    // A later action with the id of one that has ended only repeats its result.
    if (action.type === "action.ended") known.set(action.id, "ended");
    else if (!known.has(action.id)) known.set(action.id, "open");
    for (const check of this.#waiting) check();
  }

  /** The ids that belong to no action of this run of a task. */
  unknown(work: WorkRef | undefined, ids: readonly string[]): readonly string[] {
    const known = work === undefined ? new Map() : this.#of(work);
    return ids.filter((id) => !known.has(id));
  }

  /** Resolves when all have ended, or with the signal. */
  async ended(work: WorkRef, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const known = this.#of(work);
    const done = (): boolean => signal.aborted || ids.every((id) => known.get(id) === "ended");
    if (done()) return;
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!done()) return;
        this.#waiting.delete(check);
        release();
        resolve();
      };
      this.#waiting.add(check);
      const release = onAbort(signal, check);
    });
  }

  #of({ workId, taskId, iteration }: WorkRef): Known {
    const key = JSON.stringify([workId, taskId, iteration]);
    const known: Known = this.#tasks.get(key) ?? new Map();
    this.#tasks.set(key, known);
    return known;
  }
}

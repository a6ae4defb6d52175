/** How the works of a recorded run ended, and which of these outcomes a replay must repeat. */
import type { RunEvent } from "../../events/event.ts";
import { plannedWorks } from "../../events/plan.ts";
import type { WorkFields } from "../format/rehearsal-schema.ts";
import type { WorkResult } from "../format/schema-parts.ts";

interface RecordedWork {
  readonly workId: number;
  readonly taskId: string;
  readonly outcomes: WorkResult[];
  retries: number;
  crashes: number;
  /** Documents of the action protocol. */
  rejected: number;
  /** Another work or task ran at the same time. */
  overlapped: boolean;
}

export class RecordedWorks {
  readonly #works = new Map<number, RecordedWork>();
  /** By work id and iteration: items may run at the same time. */
  readonly #running = new Map<string, RecordedWork>();

  report(event: RunEvent): void {
    if (event.type === "run.started") {
      for (const { workId, taskId } of plannedWorks(event.work)) {
        const counters = { retries: 0, crashes: 0, rejected: 0, overlapped: false };
        this.#works.set(workId, { workId, taskId, outcomes: [], ...counters });
      }
      return;
    }
    const work =
      "work" in event && event.work !== null ? this.#works.get(event.work.workId) : undefined;
    if (work === undefined) return;
    if (event.type === "work.started") {
      this.#running.set(`${event.work.workId}/${event.work.iteration}`, work);
      if (this.#running.size > 1) for (const one of this.#running.values()) one.overlapped = true;
    }
    // A task that it delegates to runs beside it.
    if (event.type === "session.started" && event.work.taskId !== work.taskId) {
      work.overlapped = true;
    }
    if (event.type === "work.ended") {
      this.#running.delete(`${event.work.workId}/${event.work.iteration}`);
      const { item, iteration } = event.work;
      const { kind } = event.outcome;
      // Items that run at the same time end in any order.
      const at = item === undefined ? work.outcomes.length : iteration - 1;
      if (kind !== "skipped") work.outcomes[at] = kind;
    }
    if (event.type === "decision" && event.decision.kind === "criteria-retry") work.retries += 1;
    if (event.type === "decision" && event.decision.kind === "session-crashed") work.crashes += 1;
    if (event.type === "action" && event.action.type === "actions.rejected") work.rejected += 1;
  }

  /** The works beside which others ran. */
  overlapped(): ReadonlySet<number> {
    const works = [...this.#works.values()].filter(({ overlapped }) => overlapped);
    return new Set(works.map(({ workId }) => workId));
  }

  /** Undefined where works may differ. */
  expectation(): readonly WorkFields[] | undefined {
    if (this.torn()) return undefined;
    return [...this.#works.values()].map(
      ({ taskId, workId, outcomes, retries, crashes, rejected }) => {
        const [first] = outcomes;
        if (first === undefined) return { task: taskId, workId, outcome: "skipped" };
        const uniform = outcomes.every((outcome) => outcome === first);
        return {
          task: taskId,
          workId,
          outcome: uniform ? first : outcomes,
          ...(uniform && outcomes.length > 1 ? { runs: outcomes.length } : {}),
          ...(retries > 0 ? { retries } : {}),
          ...(crashes > 0 ? { crashes } : {}),
          ...(rejected > 0 ? { rejected } : {}),
        };
      },
    );
  }

  /**
   * Whether a crash or a cancel stopped works that ran at the same time: how far each had come by then
   * is a matter of time, so a replay may stop them at other points.
   */
  torn(): boolean {
    return [...this.#works.values()].some(
      ({ overlapped, outcomes }) =>
        overlapped && outcomes.some((one) => one === "crashed" || one === "canceled"),
    );
  }
}

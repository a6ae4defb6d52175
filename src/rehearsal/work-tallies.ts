import type { RunEvent, WorkEnded } from "../events/event.ts";
import { plannedWorks, workKey } from "../events/plan.ts";
import type { WorkResult } from "./format/schema-parts.ts";

export interface WorkTally {
  readonly workId: number;
  readonly taskId: string;
  model: string;
  runs: number;
  /** One for each run, in the order of iterations and items. */
  readonly outcomes: WorkResult[];
  /** Why its last run, or that of its last item, did not succeed. */
  reason: string;
  attempts: number;
  retries: number;
  crashes: number;
  /** Documents of the action protocol. */
  rejected: number;
  /** Another work or task ran at the same time. */
  overlapped: boolean;
}

const none = { runs: 0, reason: "", attempts: 0, retries: 0, crashes: 0, rejected: 0 };

export class WorkTallies {
  readonly #works = new Map<number, WorkTally>();
  /** By work id and iteration: items may run at the same time. */
  readonly #running = new Map<string, WorkTally>();

  get works(): readonly WorkTally[] {
    return [...this.#works.values()];
  }

  report(event: RunEvent): void {
    if (event.type === "run.started") {
      for (const { workId, taskId, modelId: model = "" } of plannedWorks(event.work)) {
        const work = { workId, taskId, model, outcomes: [], overlapped: false, ...none };
        this.#works.set(workId, work);
      }
      return;
    }
    const work =
      "work" in event && event.work !== null ? this.#works.get(event.work.workId) : undefined;
    if (work !== undefined) this.#count(work, event);
  }

  #count(work: WorkTally, event: RunEvent): void {
    switch (event.type) {
      case "work.started":
        work.model = event.modelId ?? "";
        this.#running.set(workKey(event.work), work);
        if (this.#running.size > 1) for (const one of this.#running.values()) one.overlapped = true;
        break;
      case "work.ended":
        this.#running.delete(workKey(event.work));
        end(work, event);
        break;
      case "session.started":
        // A task that it delegates to runs beside it.
        if (event.work.taskId !== work.taskId) work.overlapped = true;
        break;
      case "turn.started":
        if (event.purpose === "prompt") work.attempts += 1;
        break;
      case "decision":
        if (event.decision.kind === "criteria-retry") work.retries += 1;
        if (event.decision.kind === "session-crashed") work.crashes += 1;
        break;
      case "action":
        if (event.action.type === "actions.rejected") work.rejected += 1;
        break;
      default:
        break;
    }
  }
}

function end(tally: WorkTally, { work, outcome }: WorkEnded): void {
  // A skipped run counts as not started.
  if (outcome.kind === "skipped") return;
  // Items may run at the same time, and end in any order.
  const at = work.item === undefined ? tally.runs : work.iteration - 1;
  tally.outcomes[at] = outcome.kind;
  tally.runs += 1;
  if (at !== tally.outcomes.length - 1) return;
  tally.reason =
    outcome.kind === "succeeded"
      ? ""
      : outcome.kind === "crashed"
        ? outcome.crash.message
        : outcome.reason;
}

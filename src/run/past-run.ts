import { conditionIds } from "../entry/work.ts";
import type { GivenEvent, PastItems, PastRun, PastWork } from "../engine/past.ts";
import type { EventOf, RunEvent, RunOutcome } from "../events/event.ts";
import { itemsIn, workKey } from "../events/plan.ts";
import type { StepEnded, StepStarted } from "../events/step.ts";
import { damageOf, readJournalFile, type JournalCondition } from "../journal/file.ts";

export type Started = Extract<RunEvent, { type: "run.started" }>;

export interface EarlierJob {
  readonly started: Started | undefined;
  readonly outcome: RunOutcome | undefined;
  readonly past: PastRun;
  /** A work was canceled, or has no end. */
  readonly wasStopped: boolean;
  readonly begun: ReadonlySet<string>;
  readonly steps: readonly (StepStarted | StepEnded)[];
  readonly hasEnded: boolean;
}

export class EarlierRun {
  readonly #started: Started | undefined;
  readonly #takes: "done" | "ended";
  readonly #conditions: ReadonlySet<number>;
  readonly #works: PastWork[] = [];
  readonly #lists: PastItems[] = [];
  readonly #begun = new Set<string>();
  readonly #steps: (StepStarted | StepEnded)[] = [];
  readonly #open = new Map<string, { modelId: string | undefined; given: GivenEvent[] }>();
  #outcome: RunOutcome | undefined;
  #wasStopped = false;
  #tokens = 0;
  #cost = 0;
  #lastAt = 0;

  /** `takes`: works that are done, or all that have ended, however they did. */
  constructor(started?: Started, takes: "done" | "ended" = "done") {
    this.#started = started;
    this.#takes = takes;
    this.#conditions = started === undefined ? new Set() : conditionIds(started.work);
  }

  add(event: RunEvent): EarlierRun {
    if (event.type === "run.started") return new EarlierRun(event, this.#takes);
    if (event.runId === this.#started?.runId) this.#add(event);
    return this;
  }

  #add(event: RunEvent): void {
    this.#lastAt = event.at;
    switch (event.type) {
      case "run.ended":
        this.#outcome = event.jobOutcome ?? event.outcome;
        return;
      case "work.started":
        this.#open.set(workKey(event.work), { modelId: event.modelId, given: [] });
        this.#begun.add(event.work.taskId);
        return;
      case "turn.started":
        this.#begun.add(event.work.taskId);
        return;
      case "work.ended":
        return this.#end(event);
      case "step.started":
      case "step.ended":
        this.#steps.push(event);
        return;
      case "items.listed": {
        const { workId, items, outerItems = [] } = event;
        this.#lists.push({ workId, items, outerItems });
        return;
      }
      case "report.given":
      case "result.given":
      case "finding.reported":
      case "verdict.given":
      case "output.refused":
      case "proposal.made":
      case "note.added": {
        const { at: _at, runId: _runId, ...given } = event;
        this.#open.get(workKey(event.work))?.given.push(given);
        return;
      }
      case "activity":
        if (event.activity.kind !== "model.used") return;
        this.#tokens += event.activity.inputTokens + event.activity.outputTokens;
        this.#cost += event.activity.cost;
        return;
      default:
        return;
    }
  }

  get job(): EarlierJob {
    const started = this.#started;
    const { tokens = 0, cost = 0, milliseconds = 0 } = started?.resumed ?? {};
    return {
      started,
      outcome: this.#outcome,
      begun: this.#begun,
      steps: this.#steps,
      hasEnded: this.#begun.size > 0 && this.#open.size === 0,
      wasStopped: this.#wasStopped || this.#open.size > 0,
      past: {
        runId: started?.runId ?? "",
        traceparent: started?.traceparent,
        works: this.#works,
        lists: this.#lists,
        tokens: tokens + this.#tokens,
        cost: cost + this.#cost,
        milliseconds: milliseconds + Math.max(0, this.#lastAt - (started?.at ?? 0)),
      },
    };
  }

  #end({ work, outcome, report, output }: EventOf<"work.ended">): void {
    const key = workKey(work);
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (outcome.kind === "canceled") this.#wasStopped = true;
    if (open === undefined || outcome.kind === "canceled") return;
    if (this.#takes === "done") {
      const hasAnswered = this.#conditions.has(work.workId);
      if (outcome.kind === "crashed") return;
      if (outcome.kind === "failed" && (!hasAnswered || outcome.unanswered === true)) return;
    }
    const { modelId, given } = open;
    const past = { workId: work.workId, items: itemsIn(work), modelId, outcome, report, given };
    this.#works.push({ ...past, output: output ?? report ?? "" });
  }
}

export type ReadJob = EarlierJob & { readonly condition: JournalCondition };

/** Why no run may go on from a journal. What a script said is done only for another rehearsal. */
export function unusable({ condition, started }: ReadJob, rehearses: boolean): string | undefined {
  const damage = damageOf(condition);
  if (damage !== undefined) return `line ${damage.line}: ${damage.reason}`;
  if (started?.rehearsed !== true || rehearses) return undefined;
  return "it is of a rehearsal: a script played the model. Use the journal of a real run.";
}

/** The last run of a journal. Rejects if the file can't be read. */
export async function readEarlierJob(path: string, takes?: "done" | "ended"): Promise<ReadJob> {
  let earlier = new EarlierRun(undefined, takes);
  const condition = await readJournalFile(path, (events) => {
    for (const event of events) earlier = earlier.add(event);
  });
  return { ...earlier.job, condition };
}

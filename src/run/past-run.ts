import { conditionIds } from "../entry/work.ts";
import type {
  GivenEvent,
  PastItems,
  PastRun,
  PastWork,
  StepEvent,
  UnderWay,
} from "../engine/past.ts";
import type { EventOf, RunEvent, RunOutcome, WorkOutcome, WorkRef } from "../events/event.ts";
import { itemsIn, workKey } from "../events/plan.ts";
import { damageOf, journalFiles, readJournalIn, type JournalCondition } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";

/** Works that are done, all that have ended, however they did, or none: a workflow goes through its steps again. */
export type Takes = "done" | "ended" | "begun";
export type Started = Extract<RunEvent, { type: "run.started" }>;

export interface EarlierJob {
  readonly started: Started | undefined;
  readonly outcome: RunOutcome | undefined;
  readonly past: PastRun;
  /** A work was canceled, or has no end. */
  readonly wasStopped: boolean;
  readonly begun: ReadonlySet<string>;
  /** It ends before the run had taken over what the run before it had done. */
  readonly isIncomplete: boolean;
}

interface Open {
  readonly work: WorkRef;
  readonly modelId: string | undefined;
  readonly isTakenOver: boolean;
  readonly given: GivenEvent[];
  readonly steps: StepEvent[];
  /** How many of its restored steps have not followed yet. */
  missing: number;
}

export class EarlierRun {
  readonly #started: Started | undefined;
  /** The run before it in the same journal, if it goes on from that: what it has not taken over yet still counts. */
  readonly #before: EarlierRun | undefined;
  readonly #takes: Takes;
  readonly #conditions: ReadonlySet<number>;
  readonly #works: PastWork[] = [];
  readonly #unanswered = new Set<PastWork>();
  readonly #underWay: UnderWay[] = [];
  readonly #lists: PastItems[] = [];
  readonly #begun = new Set<string>();
  readonly #open = new Map<string, Open>();
  #outcome: RunOutcome | undefined;
  #wasStopped = false;
  #tokens = 0;
  #cost = 0;
  #lastAt = 0;

  constructor(started?: Started, takes: Takes = "done", before?: EarlierRun) {
    this.#started = started;
    this.#takes = takes;
    this.#before = before;
    this.#conditions = started === undefined ? new Set() : conditionIds(started.work);
  }

  add(event: RunEvent): EarlierRun {
    if (event.type === "run.started") {
      const goesOn = this.#started !== undefined && event.resumed?.runId === this.#started.runId;
      return new EarlierRun(event, this.#takes, goesOn ? this : undefined);
    }
    if (event.runId === this.#started?.runId) this.#add(event);
    return this;
  }

  #add(event: RunEvent): void {
    this.#lastAt = event.at;
    switch (event.type) {
      case "run.ended":
        this.#outcome = event.jobOutcome ?? event.outcome;
        return;
      case "work.started": {
        const { work, modelId, restored, restoredSteps: missing = 0 } = event;
        const isTakenOver = restored === true;
        const open = { work, modelId, isTakenOver, given: [], steps: [], missing };
        this.#open.set(workKey(work), open);
        this.#begun.add(work.taskId);
        return;
      }
      case "turn.started":
        this.#begun.add(event.work.taskId);
        return;
      case "work.ended":
        return this.#end(event);
      case "step.started":
      case "step.ended": {
        const open = this.#open.get(workKey(event.work));
        if (open === undefined) return;
        const { at: _at, runId: _runId, ...step } = event;
        open.steps.push(step);
        // A workflow that could not be continued has started again.
        if (event.restored !== true) open.missing = 0;
        else if (event.type === "step.ended") open.missing -= 1;
        return;
      }
      case "items.listed": {
        const { workId, items, outerItems = [] } = event;
        this.#lists.push({ workId, items, outerItems });
        return;
      }
      case "report.given":
      case "result.given":
      case "finding.reported":
      case "finding.resolved":
      case "reply.given":
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
        this.#cost += event.activity.cost ?? 0;
        return;
      default:
        return;
    }
  }

  get job(): EarlierJob {
    const started = this.#started;
    const { tokens = 0, cost = 0, milliseconds = 0 } = started?.resumed ?? {};
    const { works, underWay, lists, begun } = this.#done;
    return {
      started,
      outcome: this.#outcome,
      begun,
      isIncomplete:
        (started?.resumed !== undefined && begun.size === 0) ||
        underWay.some(({ missing }) => missing > 0),
      wasStopped: this.#wasStopped || this.#open.size > 0,
      past: {
        runId: started?.runId ?? "",
        traceparent: started?.traceparent,
        works,
        underWay,
        lists,
        tokens: tokens + this.#tokens,
        cost: cost + this.#cost,
        milliseconds: milliseconds + Math.max(0, this.#lastAt - (started?.at ?? 0)),
      },
    };
  }

  get #done(): Pick<PastRun, "works" | "underWay" | "lists"> & Pick<EarlierJob, "begun"> {
    const before = this.#before;
    const open = [...this.#open.values()].filter((one) => before === undefined || !one.isTakenOver);
    const own = {
      works: this.#works,
      underWay: [...this.#underWay, ...open.map((one) => underWayOf(one))],
      lists: this.#lists,
      begun: this.#begun,
    };
    if (before === undefined) return own;
    const earlier = before.#done;
    const answered = earlier.works.filter((work) => !before.#unanswered.has(work));
    const works = beyond(answered, own.works);
    const underWay = own.underWay.filter(({ missing }) => missing === 0);
    const again = new Set([...works, ...underWay].map(keyOf));
    return {
      works: [...answered, ...works],
      underWay: [...earlier.underWay.filter((one) => !again.has(keyOf(one))), ...underWay],
      lists: [...earlier.lists, ...beyond(earlier.lists, own.lists)],
      begun: new Set([...earlier.begun, ...own.begun]),
    };
  }

  #end({ work, outcome, report, output }: EventOf<"work.ended">): void {
    const key = workKey(work);
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (outcome.kind === "canceled") this.#wasStopped = true;
    if (open === undefined) return;
    const takesAll = this.#takes === "ended" && outcome.kind !== "canceled";
    if (this.#takes === "begun" || (!takesAll && !hasAnswered(outcome))) {
      this.#underWay.push(underWayOf(open, outcome));
      return;
    }
    const isNo = outcome.kind === "failed" && this.#conditions.has(work.workId);
    if (outcome.kind === "canceled" || !(takesAll || isNo || outcome.kind !== "failed")) return;
    const { modelId, given, steps } = open;
    const past = { workId: work.workId, items: itemsIn(work), modelId, outcome, report };
    const ended = { ...past, given, steps, output: output ?? report ?? "" };
    this.#works.push(ended);
    if (!hasAnswered(outcome) || (outcome.kind === "failed" && !isNo)) this.#unanswered.add(ended);
  }
}

type Keyed = Pick<PastWork, "workId" | "items"> | PastItems;

function keyOf(one: Keyed): string {
  return JSON.stringify([one.workId, ...("outerItems" in one ? one.outerItems : one.items)]);
}

/** What a run did besides what it had taken over, which comes first. */
function beyond<T extends Keyed>(before: readonly T[], own: readonly T[]): readonly T[] {
  const left = new Map<string, number>();
  for (const key of before.map(keyOf)) left.set(key, (left.get(key) ?? 0) + 1);
  return own.filter((one) => {
    const count = left.get(keyOf(one)) ?? 0;
    left.set(keyOf(one), count - 1);
    return count <= 0;
  });
}

function hasAnswered(outcome: WorkOutcome): boolean {
  if (outcome.kind === "failed") return outcome.unanswered !== true;
  return outcome.kind !== "canceled" && outcome.kind !== "crashed";
}

function underWayOf({ work, steps, missing }: Open, outcome?: WorkOutcome): UnderWay {
  const first = unhandledFailure(steps);
  const failed = steps[first];
  return {
    workId: work.workId,
    taskId: work.taskId,
    items: itemsIn(work),
    outcome,
    steps: steps.slice(0, first),
    failed: failed?.type === "step.ended" ? failed : undefined,
    missing,
  };
}

/** The step that has failed, and the CALLs with it, but none whose failure was handled by an edge or by ON_FAILED. */
function unhandledFailure(events: readonly StepEvent[]): number {
  let first = events.length;
  for (;;) {
    const event = events[first - 1];
    if (event?.type !== "step.ended" || event.succeeded || event.to !== undefined) return first;
    const after = events[first];
    // A CALL began before the steps that it contains.
    if (after !== undefined && after.step >= event.step) return first;
    first -= 1;
  }
}

/** The commands that would run a second time: whether they may is not ours to decide. */
export function interruptedCommand(
  { taskId, outcome, steps, failed }: UnderWay,
  isCommand: boolean,
): { readonly name: string; readonly failed?: string | undefined } | undefined {
  if (isCommand)
    return { name: taskId, failed: outcome?.kind === "failed" ? outcome.reason : undefined };
  const open = steps.at(-1);
  if (open?.type !== "step.started" || open.input?.kind !== "execute") return undefined;
  // Commands that were not allowed have not begun.
  const hasBegun =
    failed === undefined ||
    failed.effects?.some((one) => one.kind === "failed" && one.runs !== undefined);
  return hasBegun === true ? { name: open.activity, failed: failed?.reason } : undefined;
}

export type ReadJob = EarlierJob & { readonly condition: JournalCondition };

/** Says why a journal can't be continued. The journal of a rehearsal serves only other rehearsals. */
export function unusable({ condition, started }: ReadJob, rehearses: boolean): string | undefined {
  const damage = damageOf(condition);
  if (damage !== undefined) return `line ${damage.line}: ${damage.reason}`;
  if (started?.rehearsed !== true || rehearses) return undefined;
  return "it is of a rehearsal: a script played the model. Use the journal of a real run.";
}

/** The last run of a journal. Rejects if it can't be read. */
export async function readEarlierJob(
  name: string,
  { takes, store = journalFiles }: ReadingOfJob = {},
): Promise<ReadJob> {
  let earlier = new EarlierRun(undefined, takes);
  const reading = readJournalIn(store.read(name));
  for await (const events of reading.events)
    for (const event of events) earlier = earlier.add(event);
  return { ...earlier.job, condition: reading.condition() };
}

export interface ReadingOfJob {
  /** Default: `done`. */
  readonly takes?: Takes;
  /** Default: files. */
  readonly store?: JournalSource | undefined;
}

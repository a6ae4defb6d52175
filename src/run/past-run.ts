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
import type { ModelUsed } from "../events/session-activity.ts";
import { itemsIn, workKey } from "../events/plan.ts";
import { damageOf, journalFiles, readJournalIn, type JournalCondition } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";
import { pastEvents } from "./past-events.ts";

/** The works to keep: finished ones, all that ended in any way, or none, because a workflow goes through its steps again. */
export type Takes = "done" | "ended" | "begun";
export type Started = Extract<RunEvent, { type: "run.started" }>;

export interface EarlierJob {
  readonly started: Started | undefined;
  readonly outcome: RunOutcome | undefined;
  readonly past: PastRun;
  /** A work was canceled, or has no end. */
  readonly wasStopped: boolean;
  readonly begun: ReadonlySet<string>;
  /** The run ended before it had copied all events of the earlier run. */
  readonly isIncomplete: boolean;
  /** The number of events that a run that continues it copies. `ofLegs`: the number of those with a leg. */
  readonly events: { readonly all: number; readonly ofLegs: number };
  /** The spending of a leg's plan, or of a whole run without legs. */
  readonly planned: Pick<PastRun, "tokens" | "cost">;
}

interface Open {
  readonly work: WorkRef;
  readonly isOfLeg: boolean;
  readonly given: GivenEvent[];
  readonly steps: StepEvent[];
  /** How many of its restored steps have not followed yet. */
  missing: number;
}

export class EarlierRun {
  readonly #started: Started | undefined;
  readonly #takes: Takes;
  readonly #conditions: ReadonlySet<number>;
  readonly #works: PastWork[] = [];
  /** Keyed by step and items. A repeated run of a step replaces its entry. */
  readonly #underWay = new Map<string, UnderWay>();
  readonly #failed = new Map<string, PastWork>();
  readonly #lists: PastItems[] = [];
  readonly #begun = new Set<string>();
  readonly #open = new Map<string, Open>();
  #outcome: RunOutcome | undefined;
  readonly #spent = { all: { tokens: 0, cost: 0 }, ofLegs: { tokens: 0, cost: 0 } };
  readonly #events = { all: 0, ofLegs: 0, past: 0 };
  #lastAt = 0;

  constructor(started?: Started, takes: Takes = "done") {
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
    const isOfLeg = event.leg !== undefined;
    if (event.type !== "run.ended") {
      this.#events.all += 1;
      if (isOfLeg) this.#events.ofLegs += 1;
      if (event.past === true) this.#events.past += 1;
    }
    switch (event.type) {
      case "run.ended":
        this.#outcome = event.jobOutcome ?? event.outcome;
        return;
      case "work.started": {
        const { work, restoredSteps: missing = 0 } = event;
        this.#startAnew(keyOf(work));
        this.#open.set(workKey(work), { work, isOfLeg, given: [], steps: [], missing });
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
        const { at: _at, runId: _runId, past: _past, leg: _leg, ...step } = event;
        open.steps.push(step);
        // A workflow that could not be continued has started again.
        if (event.restored !== true) open.missing = 0;
        else if (event.type === "step.ended") open.missing -= 1;
        return;
      }
      case "items.listed": {
        const { workId, items, outerItems = [] } = event;
        if (this.#isOthers(isOfLeg)) return;
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
        const { at: _at, runId: _runId, past: _past, leg: _leg, ...given } = event;
        this.#open.get(workKey(event.work))?.given.push(given);
        return;
      }
      case "activity":
        if (event.activity.kind !== "model.used") return;
        addSpent(this.#spent.all, event.activity);
        if (isOfLeg) addSpent(this.#spent.ofLegs, event.activity);
        return;
      default:
        return;
    }
  }

  get job(): EarlierJob {
    const started = this.#started;
    const { all, ofLegs } = this.#spent;
    const open = [...this.#open.values()];
    const underWay = [...this.#underWay.values(), ...open.map((one) => underWayOf(one))];
    return {
      started,
      outcome: this.#outcome,
      begun: this.#begun,
      isIncomplete:
        this.#events.past < (started?.resumed?.events ?? 0) ||
        underWay.some(({ missing }) => missing > 0),
      wasStopped: underWay.some(
        ({ outcome: { kind } = { kind: "canceled" } }) => kind === "canceled",
      ),
      // Each unfinished step gets an end.
      events: {
        all: this.#events.all + open.length,
        ofLegs: this.#events.ofLegs + open.filter(({ isOfLeg }) => isOfLeg).length,
      },
      planned: { tokens: all.tokens - ofLegs.tokens, cost: all.cost - ofLegs.cost },
      past: {
        runId: started?.runId ?? "",
        traceparent: started?.traceparent,
        works: this.#works,
        underWay,
        lists: this.#lists,
        ...all,
        milliseconds: Math.max(0, this.#lastAt - (started?.at ?? 0)),
      },
    };
  }

  #end({ work, outcome, report, output }: EventOf<"work.ended">): void {
    const key = workKey(work);
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open === undefined || this.#isOthers(open.isOfLeg)) return;
    const takesAll = this.#takes === "ended" && outcome.kind !== "canceled";
    if (this.#takes === "begun" || (!takesAll && !hasAnswered(outcome))) {
      this.#underWay.set(keyOf(work), underWayOf(open, outcome));
      return;
    }
    const isNo = outcome.kind === "failed" && this.#conditions.has(work.workId);
    if (outcome.kind === "canceled" || !(takesAll || isNo || outcome.kind !== "failed")) return;
    const { given } = open;
    const past = { workId: work.workId, items: itemsIn(work), outcome, report };
    const done = { ...past, given, output: output ?? report ?? "" };
    this.#works.push(done);
    if (outcome.kind === "crashed" || (outcome.kind === "failed" && !isNo))
      this.#failed.set(keyOf(work), done);
  }

  /** A merge takes the steps of the plan from the plan itself, not from each leg. */
  #isOthers(isOfLeg: boolean): boolean {
    return this.#takes === "ended" && this.#started?.part?.kind === "shard" && !isOfLeg;
  }

  /** A resumed run has started an unfinished or failed step again. */
  #startAnew(key: string): void {
    this.#underWay.delete(key);
    const failed = this.#failed.get(key);
    if (failed === undefined) return;
    this.#failed.delete(key);
    this.#works.splice(this.#works.indexOf(failed), 1);
  }
}

function keyOf(work: WorkRef): string {
  return JSON.stringify([work.workId, ...itemsIn(work)]);
}

function addSpent(sum: { tokens: number; cost: number }, used: ModelUsed): void {
  sum.tokens += used.inputTokens + used.outputTokens;
  sum.cost += used.cost ?? 0;
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

/**
 * The last run of a journal. If it continues an earlier run in the same journal, or merges the same plan again, but was
 * killed while it copied the earlier events: that earlier run. Rejects if the journal can't be read.
 */
export async function readEarlierJob(
  name: string,
  { takes, store = journalFiles }: ReadingOfJob = {},
): Promise<ReadJob> {
  let earlier = new EarlierRun(undefined, takes);
  let before: EarlierJob | undefined;
  const last = (): EarlierJob => {
    const { job } = earlier;
    return job.isIncomplete && before !== undefined ? before : job;
  };
  const reading = readJournalIn(store.read(name));
  for await (const events of reading.events)
    for (const event of events) {
      if (event.type === "run.started") {
        const job = last();
        const { runId, part, resumed } = job.started ?? {};
        const isMergedAgain = part?.kind === "merge" && resumed?.runId === event.resumed?.runId;
        before = isMergedAgain || (runId ?? "") === event.resumed?.runId ? job : undefined;
      }
      earlier = earlier.add(event);
    }
  const job = last();
  const source = { name, store, job, after: 0, takes: () => true };
  const events = { count: job.events.all, read: () => pastEvents([source]) };
  return { ...job, past: { ...job.past, events }, condition: reading.condition() };
}

export interface ReadingOfJob {
  /** Default: `done`. */
  readonly takes?: Takes;
  /** Default: files. */
  readonly store?: JournalSource | undefined;
}

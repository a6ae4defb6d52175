/** What an earlier run has done, from its journal. `isDone` says which steps a resumed run skips. */
import { conditionIds } from "../entry/work.ts";
import type {
  GivenEvent,
  PastItems,
  PastRun,
  PastWork,
  Spent,
  StepEvent,
  UnderWay,
} from "../engine/past.ts";
import type { EventOf, RunEvent, RunOutcome, WorkOutcome, WorkRef } from "../events/event.ts";
import { itemsIn, workKey } from "../events/plan.ts";
import { damageOf, journalFiles, readJournalIn } from "../journal/file.ts";
import type { JournalProblem } from "../journal/read.ts";
import type { JournalSource } from "../journal/store.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";
import { AFTER, pastEvents, partsOf, PLAN, type EventSource, type Started } from "./past-events.ts";

export interface EarlierJob {
  readonly started: Started | undefined;
  readonly past: PastRun;
  /** If it isn't merged: the past of a workflow, which goes through its steps again although it has ended. */
  readonly replayed?: PastRun;
  readonly begun: ReadonlySet<string>;
  /** The run ended before it had copied all events of the earlier run. */
  readonly isIncomplete: boolean;
}

interface Open {
  readonly part: string;
  readonly work: WorkRef;
  readonly given: GivenEvent[];
  readonly steps: StepEvent[];
  /** How many of its restored steps have not followed yet. */
  missing: number;
}

interface Ended {
  readonly open: Open;
  readonly end: EventOf<"work.ended">;
  /** It never runs again. */
  readonly isDone: boolean;
}

/** What a leg, a plan or a merge has done itself. */
export interface JobPart extends Spent {
  /** Steps that have ended. Those after the fan-out run again if they failed. */
  readonly works: readonly PastWork[];
  readonly lists: readonly PastItems[];
  /** The number of events that a run that continues it copies. */
  readonly events: number;
  /** A step was canceled, or has no end. */
  readonly wasStopped: boolean;
}

export class EarlierRun implements EarlierJob {
  readonly started: Started | undefined;
  readonly begun = new Set<string>();
  outcome: RunOutcome | undefined;
  /** Why the journal can't be relied on. */
  damage: JournalProblem | undefined;
  readonly #source: Pick<EventSource, "name" | "store"> | undefined;
  readonly #conditions: ReadonlySet<number>;
  readonly #partOf: (event: RunEvent) => string;
  readonly #open = new Map<string, Open>();
  readonly #ended = new Set<Ended>();
  /** Keyed by part, step and items. A repeated run of a step replaces its entry. */
  readonly #undone = new Map<string, Ended>();
  readonly #lists: (PastItems & { readonly part: string })[] = [];
  readonly #amounts = new Map<
    string,
    { tokens: number; cost: number; events: number; at: number }
  >();
  #copied = 0;

  constructor(source?: Pick<EventSource, "name" | "store">, started?: Started) {
    this.#source = source;
    this.started = started;
    this.#conditions = started === undefined ? new Set() : conditionIds(started.work);
    this.#partOf = started === undefined ? () => PLAN : partsOf(started);
  }

  add(event: RunEvent): EarlierRun {
    if (event.type === "run.started") return new EarlierRun(this.#source, event);
    if (event.runId === this.started?.runId) this.#add(event);
    return this;
  }

  #add(event: RunEvent): void {
    const part = this.#partOf(event);
    const amounts = this.#amounts.get(part) ?? { tokens: 0, cost: 0, events: 0, at: 0 };
    this.#amounts.set(part, amounts);
    amounts.at = event.at;
    if (event.type !== "run.ended") amounts.events += 1;
    if (event.past === true) this.#copied += 1;
    switch (event.type) {
      case "run.ended":
        this.outcome = event.jobOutcome ?? event.outcome;
        return;
      case "work.started": {
        const { work, restoredSteps: missing = 0 } = event;
        this.#startAnew(keyOf(part, work));
        this.#open.set(workKey(work), { part, work, given: [], steps: [], missing });
        this.begun.add(work.taskId);
        return;
      }
      case "turn.started":
        this.begun.add(event.work.taskId);
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
        this.#lists.push({ part, workId, items, outerItems });
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
      case "activity": {
        const { activity } = event;
        if (activity.kind !== "model.used") return;
        amounts.tokens += activity.inputTokens + activity.outputTokens;
        amounts.cost += activity.cost ?? 0;
        return;
      }
      default:
        return;
    }
  }

  #end(end: EventOf<"work.ended">): void {
    const { work, outcome } = end;
    const open = this.#open.get(workKey(work));
    this.#open.delete(workKey(work));
    if (open === undefined) return;
    const isNo = outcome.kind === "failed" && this.#conditions.has(work.workId);
    const isDone = hasAnswered(outcome) && (outcome.kind !== "failed" || isNo);
    const ended = { open, end, isDone };
    this.#ended.add(ended);
    if (!isDone) this.#undone.set(keyOf(open.part, work), ended);
  }

  /** A resumed run has started an unfinished or failed step again. */
  #startAnew(key: string): void {
    const before = this.#undone.get(key);
    if (before === undefined) return;
    this.#undone.delete(key);
    this.#ended.delete(before);
  }

  get isIncomplete(): boolean {
    return (
      this.#copied < (this.started?.resumed?.events ?? 0) ||
      this.#unanswered.some(({ missing }) => missing > 0)
    );
  }

  get past(): PastRun {
    const works = [...this.#ended].filter(({ isDone }) => isDone).flatMap(pastWork);
    return { ...this.#common, works, underWay: this.#unanswered };
  }

  get replayed(): PastRun {
    const ended = [...this.#ended].map(({ open, end }) => underWayOf(open, end.outcome));
    return { ...this.#common, works: [], underWay: ended };
  }

  get #unanswered(): readonly UnderWay[] {
    const ended = [...this.#ended].filter(({ end }) => !hasAnswered(end.outcome));
    return [
      ...ended.map(({ open, end }) => underWayOf(open, end.outcome)),
      ...[...this.#open.values()].map((open) => underWayOf(open)),
    ];
  }

  get #common(): Omit<PastRun, "works" | "underWay"> {
    const { runId = "", traceparent } = this.started ?? {};
    const parts = [...this.#amounts.keys()].map((name) => this.part(name));
    const sum = (of: "tokens" | "cost" | "events"): number =>
      parts.reduce((total, part) => total + part[of], 0);
    const source = this.#source && { ...this.#source, started: this.started };
    return {
      runId,
      traceparent,
      lists: this.#lists,
      tokens: sum("tokens"),
      cost: sum("cost"),
      milliseconds: Math.max(0, ...parts.map(({ milliseconds }) => milliseconds)),
      events: source && { count: sum("events"), read: () => pastEvents([source]) },
    };
  }

  part(name: string): JobPart {
    const { tokens = 0, cost = 0, events = 0, at = 0 } = this.#amounts.get(name) ?? {};
    const isOwn = ({ part }: { readonly part: string }): boolean => part === name;
    const open = [...this.#open.values()].filter(isOwn);
    const ended = [...this.#ended].filter((one) => isOwn(one.open));
    return {
      works: ended.filter(({ isDone }) => isDone || name !== AFTER).flatMap(pastWork),
      lists: this.#lists.filter(isOwn),
      tokens,
      cost,
      milliseconds: Math.max(0, at - (this.started?.at ?? 0)),
      // Each unfinished step gets an end.
      events: events + open.length,
      wasStopped: open.length > 0 || ended.some(({ end }) => end.outcome.kind === "canceled"),
    };
  }
}

function pastWork({ open, end: { work, outcome, report, output } }: Ended): readonly PastWork[] {
  if (outcome.kind === "canceled") return [];
  const { given } = open;
  const items = itemsIn(work);
  return [{ workId: work.workId, items, outcome, report, given, output: output ?? report ?? "" }];
}

function keyOf(part: string, work: WorkRef): string {
  return JSON.stringify([part, work.workId, ...itemsIn(work)]);
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

export type Refuse = (reason: string) => UsageError;

export function refusing({
  resume,
  write = asFlag,
}: {
  readonly resume?: string | undefined;
  readonly write?: WriteName | undefined;
}): Refuse {
  return (reason) => new UsageError(`${write("resume")}: can't resume ${resume}: ${reason}`);
}

/** Says why a journal can't be continued. The journal of a rehearsal serves only other rehearsals. */
export function unusable({ damage, started }: EarlierRun, rehearses: boolean): string | undefined {
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
  store: JournalSource = journalFiles,
): Promise<EarlierRun> {
  let run = new EarlierRun({ name, store });
  let before: EarlierRun | undefined;
  const last = (): EarlierRun => (run.isIncomplete && before !== undefined ? before : run);
  const reading = readJournalIn(store.read(name));
  for await (const events of reading.events)
    for (const event of events) {
      if (event.type === "run.started") {
        const earlier = last();
        const { runId = "", part, resumed } = earlier.started ?? {};
        const isMergedAgain = part?.kind === "merge" && resumed?.runId === event.resumed?.runId;
        before = isMergedAgain || runId === event.resumed?.runId ? earlier : undefined;
      }
      run = run.add(event);
    }
  const found = last();
  found.damage = damageOf(reading.condition());
  return found;
}

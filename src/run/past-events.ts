/**
 * Merges the events of earlier runs, which become the beginning of the run that continues them. All journals are read at
 * the same time, in the order of their events, so that memory holds only a part of each.
 */
import { fanOf } from "../engine/fan-out.ts";
import type { PastEvent } from "../engine/past.ts";
import type { RunEvent, WorkRef } from "../events/event.ts";
import { legName, workKey } from "../events/plan.ts";
import { readJournalIn } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";

export type Started = Extract<RunEvent, { type: "run.started" }>;

/** The part of a job without legs, or what comes before them. */
export const PLAN = "plan";
/** What a merge has done itself after the fan-out. */
export const AFTER = "after";
/** What a merge says about items that no leg had done. They may be there when it is repeated. */
const GAPS = "gaps";

/** Names the part of the job that each event of a run belongs to: one of the above, or a leg such as `2/4`. */
export function partsOf({ part, work }: Started): (event: RunEvent) => string {
  if (part?.kind !== "merge") return ({ leg = PLAN }) => leg;
  const fan = fanOf(work)?.workIds;
  let left = part.planEvents;
  return (event) => {
    if (event.leg !== undefined) return event.leg;
    // The first copied events without a leg are those of the plan.
    if (event.past === true && left > 0) {
      left -= 1;
      return PLAN;
    }
    if (!("work" in event) || event.type === "run.started") return AFTER;
    return fan?.has(event.work?.workId ?? -1) === true ? GAPS : AFTER;
  };
}

export interface EventSource {
  readonly name: string;
  readonly store: JournalSource;
  readonly started: Started | undefined;
  /** In a merge: the parts of the job that are taken from it. Default: all. */
  readonly parts?: ReadonlySet<string>;
}

type Past = PastEvent["event"];

interface Head {
  readonly source: EventSource;
  readonly rest: AsyncGenerator<Next, undefined>;
  next: Next;
}

interface Next {
  readonly event: Past;
  readonly after: number;
  readonly part: string;
}

export async function* pastEvents(sources: readonly EventSource[]): AsyncIterable<PastEvent> {
  const open = sources.map((source) => ({ source, rest: eventsOf(source) }));
  try {
    const heads: Head[] = [];
    for (const one of open) {
      const first = await one.rest.next();
      if (first.done !== true) heads.push({ ...one, next: first.value });
    }
    const numbers = new Iterations();
    for (let head = earliest(heads); head !== undefined; head = earliest(heads)) {
      const { after, event } = head.next;
      yield { after, event: numbers.numbered(event, head.source) };
      const following = await head.rest.next();
      if (following.done === true) heads.splice(heads.indexOf(head), 1);
      else head.next = following.value;
    }
  } finally {
    for (const { rest } of open) await rest.return(undefined);
  }
}

/** If several events have the same time, the first source wins. */
function earliest(heads: readonly Head[]): Head | undefined {
  let first = heads[0];
  for (const head of heads)
    if (first !== undefined && precedes(head.next, first.next)) first = head;
  return first;
}

/** What follows the fan-out comes last, whatever the clocks of the machines say. */
function precedes(one: Next, other: Next): boolean {
  if ((one.part === AFTER) !== (other.part === AFTER)) return other.part === AFTER;
  return one.after < other.after;
}

/** A step without an end gets one, at the end of its journal. */
async function* eventsOf(source: EventSource): AsyncGenerator<Next, undefined> {
  const { name, store, started, parts } = source;
  if (started === undefined) return undefined;
  const open = new Map<string, Next>();
  const partOf = partsOf(started);
  let last = 0;
  for await (const events of readJournalIn(store.read(name), { byLine: true }).events) {
    for (const one of events) {
      const { runId, at, ...event } = one;
      if (runId !== started.runId || event.type === "run.started" || event.type === "run.ended")
        continue;
      last = Math.max(0, at - started.at);
      const part = partOf(one);
      if (parts?.has(part) === false) continue;
      if (event.type === "work.started") {
        const { work, leg } = event;
        const outcome = { kind: "canceled", reason: "the run was interrupted" } as const;
        const end = { type: "work.ended", work, outcome, past: true, leg } as const;
        open.set(workKey(work), { event: end, after: 0, part });
      } else if (event.type === "work.ended") open.delete(workKey(event.work));
      yield { event: { ...event, past: true }, after: last, part };
    }
  }
  for (const end of open.values()) yield { ...end, after: last };
  return undefined;
}

/** Numbers the iterations of a step across all sources. */
class Iterations {
  readonly #counts = new Map<number, number>();
  readonly #known = new Map<EventSource, Map<string, number>>();

  numbered(event: Past, source: EventSource): Past {
    if (!("work" in event) || event.type === "run.started" || event.work === null) return event;
    const work = { ...event.work, iteration: this.#of(event.work, source) };
    const { started, parts } = source;
    // Two legs may have the same ids of turns.
    if (!("turnId" in event) || parts === undefined || started?.part?.kind !== "shard")
      return Object.assign(event, { work });
    return Object.assign(event, { work, turnId: `${legName(started.part)}:${event.turnId}` });
  }

  #of(work: WorkRef, source: EventSource): number {
    const known = this.#known.get(source) ?? new Map<string, number>();
    this.#known.set(source, known);
    const key = workKey(work);
    const number = known.get(key) ?? (this.#counts.get(work.workId) ?? 0) + 1;
    if (!known.has(key)) this.#counts.set(work.workId, number);
    known.set(key, number);
    return number;
  }
}

/**
 * Merges the events of earlier runs, which become the beginning of the run that continues them. All journals are read at
 * the same time, in the order of their events, so that memory holds only a part of each.
 */
import type { PastEvent } from "../engine/past.ts";
import type { RunEvent, WorkRef } from "../events/event.ts";
import { workKey } from "../events/plan.ts";
import { readJournalIn } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";

export interface EventSource {
  readonly name: string;
  readonly store: JournalSource;
  readonly job: { readonly started: Pick<RunEvent, "runId" | "at"> | undefined };
  /** Its start, in milliseconds after the start of the whole job. */
  readonly after: number;
  /** Selects its events. Another source has the others. */
  readonly takes: (event: RunEvent) => boolean;
  /** Its events follow those of all others, whatever the clocks of the machines say. */
  readonly isLast?: boolean;
  /** Makes the ids of its turns unique. */
  readonly turns?: string | undefined;
}

type Past = PastEvent["event"];

interface Head {
  readonly source: EventSource;
  readonly rest: AsyncGenerator<Past & { readonly at: number }, undefined>;
  next: Past & { readonly at: number };
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
      const { at: _, ...event } = head.next;
      yield { after: afterOf(head), event: numbers.numbered(event, head.source) };
      const following = await head.rest.next();
      if (following.done === true) heads.splice(heads.indexOf(head), 1);
      else head.next = following.value;
    }
  } finally {
    for (const { rest } of open) await rest.return(undefined);
  }
}

function afterOf({ source, next }: Head): number {
  return source.after + Math.max(0, next.at - (source.job.started?.at ?? 0));
}

/** If several events have the same time, the first source wins. */
function earliest(heads: readonly Head[]): Head | undefined {
  let first = heads[0];
  for (const head of heads) if (first === undefined || precedes(head, first)) first = head;
  return first;
}

function precedes(one: Head, other: Head): boolean {
  const { isLast = false } = one.source;
  if (isLast !== (other.source.isLast ?? false)) return !isLast;
  return afterOf(one) < afterOf(other);
}

/** A step without an end gets one, at the end of its journal. */
async function* eventsOf({
  name,
  store,
  job,
  takes,
}: EventSource): AsyncGenerator<Head["next"], undefined> {
  const open = new Map<string, Past & { readonly type: "work.ended"; readonly at: number }>();
  let last = job.started?.at ?? 0;
  for await (const events of readJournalIn(store.read(name), { byLine: true }).events) {
    for (const one of events) {
      const { runId, ...event } = one;
      const { type, at } = event;
      if (runId !== job.started?.runId || type === "run.started" || type === "run.ended") continue;
      last = at;
      if (!takes({ runId, ...event })) continue;
      if (type === "work.started") {
        const { work, leg } = event;
        const outcome = { kind: "canceled", reason: "the run was interrupted" } as const;
        const end = { type: "work.ended", work, outcome, at, past: true } as const;
        open.set(workKey(work), leg === undefined ? end : { ...end, leg });
      } else if (type === "work.ended") open.delete(workKey(event.work));
      yield { ...event, past: true };
    }
  }
  for (const end of open.values()) yield { ...end, at: last };
  return undefined;
}

/** Numbers the iterations of a step across all sources. */
class Iterations {
  readonly #counts = new Map<number, number>();
  readonly #known = new Map<EventSource, Map<string, number>>();

  numbered(event: Past, source: EventSource): Past {
    if (!("work" in event) || event.type === "run.started" || event.work === null) return event;
    const work = { ...event.work, iteration: this.#of(event.work, source) };
    if (!("turnId" in event) || source.turns === undefined) return Object.assign(event, { work });
    return Object.assign(event, { work, turnId: `${source.turns}:${event.turnId}` });
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

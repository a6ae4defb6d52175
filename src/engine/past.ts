/** The finished steps of an earlier run. A run that resumes it takes them over and goes through the control flow again. */
import type { EventOf, WorkOutcome, WorkRef } from "../events/event.ts";

export type GivenEvent = EventOf<
  | "report.given"
  | "result.given"
  | "finding.reported"
  | "verdict.given"
  | "output.refused"
  | "proposal.made"
  | "note.added"
>;

/** It succeeded, was skipped, or is a condition that answered no; of merged shards, it may also have failed. */
export interface PastWork {
  readonly workId: number;
  readonly items: readonly string[];
  readonly modelId?: string | undefined;
  readonly outcome: Exclude<WorkOutcome, { kind: "canceled" }>;
  readonly output: string;
  readonly report?: string | undefined;
  /** In their order, also those of tasks that it has delegated to. */
  readonly given: readonly GivenEvent[];
}

export interface PastItems {
  readonly workId: number;
  readonly outerItems: readonly string[];
  readonly items: readonly string[];
}

/** The amounts spent before. Limits of the whole run continue from here. */
export interface Spent {
  readonly tokens: number;
  readonly cost: number;
  readonly milliseconds: number;
}

export interface PastRun extends Spent {
  readonly runId: string;
  readonly traceparent?: string | undefined;
  readonly works: readonly PastWork[];
  readonly lists: readonly PastItems[];
}

interface Place {
  readonly items: readonly { readonly text: string }[];
}

interface Taken {
  readonly past: PastWork;
  readonly order: number;
}

export class Past {
  readonly #works = new Map<string, Taken[]>();
  readonly #lists = new Map<string, PastItems[]>();
  readonly size: number;

  constructor({ works, lists }: Pick<PastRun, "works" | "lists"> = { works: [], lists: [] }) {
    this.size = works.length;
    for (const [index, past] of works.entries())
      queue(this.#works, keyOf(past.workId, past.items)).push({ past, order: index + 1 });
    for (const list of lists) queue(this.#lists, keyOf(list.workId, list.outerItems)).push(list);
  }

  /** The next run of the work that was done; undefined: it has to run. */
  take(workId: number, place: Place): Taken | undefined {
    return this.#works.get(keyOf(workId, textsOf(place)))?.shift();
  }

  has(workId: number, place: Place): boolean {
    return (this.#works.get(keyOf(workId, textsOf(place)))?.length ?? 0) > 0;
  }

  hasItems(workId: number, place: Place): boolean {
    return (this.#lists.get(keyOf(workId, textsOf(place)))?.length ?? 0) > 0;
  }

  takeItems(workId: number, place: Place): readonly string[] | undefined {
    return this.#lists.get(keyOf(workId, textsOf(place)))?.shift()?.items;
  }
}

function queue<Value>(queues: Map<string, Value[]>, key: string): Value[] {
  const known = queues.get(key);
  if (known !== undefined) return known;
  const made: Value[] = [];
  queues.set(key, made);
  return made;
}

function keyOf(workId: number, items: readonly string[]): string {
  return JSON.stringify([workId, ...items]);
}

function textsOf({ items }: Place): readonly string[] {
  return items.map(({ text }) => text);
}

export function givenIn(work: WorkRef, event: GivenEvent): GivenEvent {
  return { ...event, work: { ...work, taskId: event.work.taskId } };
}

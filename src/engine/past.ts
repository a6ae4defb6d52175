/** The finished steps of an earlier run. A run that resumes it takes them over and goes through the control flow again. */
import type {
  EmittedEvent,
  EventOf,
  WorkOutcome,
  StepEnded,
  StepStarted,
} from "../events/event.ts";
import { MASK } from "../redaction/secret-search.ts";

export type GivenEvent = EventOf<
  | "report.given"
  | "result.given"
  | "finding.reported"
  | "finding.resolved"
  | "reply.given"
  | "verdict.given"
  | "output.refused"
  | "proposal.made"
  | "note.added"
>;

export type StepEvent = StepStarted | StepEnded;

/** It succeeded, was skipped, or is a condition that answered no; of merged shards, it may also have failed. */
export interface PastWork {
  readonly workId: number;
  readonly items: readonly string[];
  readonly outcome: Exclude<WorkOutcome, { kind: "canceled" }>;
  readonly output: string;
  readonly report?: string | undefined;
  /** In their order, also those of tasks that it has delegated to. */
  readonly given: readonly GivenEvent[];
}

/** It has no end, or ended without an answer: it was canceled, crashed, or exceeded a limit. */
export interface UnderWay {
  readonly workId: number;
  readonly taskId: string;
  readonly items: readonly string[];
  /** Absent if the run ended before it did. */
  readonly outcome?: WorkOutcome | undefined;
  /** The steps of a workflow until then, without the one that failed and the CALLs around it. */
  readonly steps: readonly StepEvent[];
  readonly failed?: StepEnded | undefined;
  /** How many steps the journal lacks of those that the workflow continued after. */
  readonly missing: number;
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

export interface PastEvent {
  readonly event: EmittedEvent & { readonly past: true };
  /** Milliseconds since the start of the run, without the pauses between its attempts. */
  readonly after: number;
}

/** The events of earlier runs. They are streamed from the journals, because memory may not hold all of them. */
export interface PastEvents {
  readonly count: number;
  readonly read: () => AsyncIterable<PastEvent>;
}

export interface PastRun extends Spent {
  readonly runId: string;
  readonly traceparent?: string | undefined;
  /** The spans of the merged shards. */
  readonly legSpans?: readonly string[];
  /** The run has succeeded: nothing is left to do. */
  readonly isDone?: boolean;
  readonly works: readonly PastWork[];
  readonly underWay: readonly UnderWay[];
  readonly lists: readonly PastItems[];
  readonly events?: PastEvents;
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
  readonly #underWay = new Map<string, UnderWay>();
  readonly #lists = new Map<string, PastItems[]>();
  readonly size: number;

  constructor({ works, underWay, lists }: Omit<PastRun, keyof Spent | "runId"> = noPast) {
    this.size = works.length;
    for (const [index, past] of works.entries())
      queue(this.#works, keyOf(past.workId, past.items)).push({ past, order: index + 1 });
    for (const one of underWay) this.#underWay.set(keyOf(one.workId, one.items), one);
    for (const list of lists) queue(this.#lists, keyOf(list.workId, list.outerItems)).push(list);
  }

  /** The next run of the work that was done; undefined: it has to run. */
  take(workId: number, place: Place): Taken | undefined {
    return this.#works.get(keyOf(workId, textsOf(place)))?.shift();
  }

  /** The step that was running when the earlier run ended. It is continued once. */
  takeUnderWay(workId: number, place: Place): UnderWay | undefined {
    const key = keyOf(workId, textsOf(place));
    const found = this.#underWay.get(key);
    this.#underWay.delete(key);
    return found;
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

const noPast = { works: [], underWay: [], lists: [] };

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

/** Whether the journal may hold a text as it was: without a secret, and not truncated. */
export function isWhole(text: string): boolean {
  return !text.includes(MASK) && !/… \(\d+ characters omitted\)/.test(text);
}

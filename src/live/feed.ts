/**
 * A feed: JSON objects in their order, numbered from 1, for everything that is read live (`…/live`, `…/events`,
 * `takeSessionResponse`).
 *
 * Owns the newest items in memory, and the older ones in a file if it has one. Invariants: the memory of a feed is
 * bounded, whoever reads it or doesn't; readers pull at their own pace, and get every item in its order, or in its
 * place `{ callback: "onResponsesDropped", count }`; nothing that happens to the file is an exception.
 */
import type { Clock } from "../platform/clock.ts";
import { onAbort, startTimeLimit } from "../platform/waiting.ts";
import type { FeedFile, Place } from "./feed-file.ts";

type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One JSON object of a live feed, such as `{ callback: "onReasoning", reasoningId, delta }`. */
export type LiveResponse = { readonly [key: string]: Json | undefined };

/** A response of a feed. */
export interface FeedItem {
  /** From 1. What was dropped has the number of the last item of it. */
  readonly seq: number;
  /** The text of the JSON object, without line breaks. */
  readonly json: string;
}

/** What a caller of `take` gets. */
export type Taken =
  /** `giveBack`: it could not be handed over, so the next caller gets it. */
  | ({ readonly kind: "response"; readonly giveBack: () => void } & FeedItem)
  /** The feed has ended, and all of it has been taken. Said once, unless it is given back. */
  | { readonly kind: "closed"; readonly giveBack: () => void }
  /** `closed` was said before. */
  | { readonly kind: "gone" }
  | { readonly kind: "timeout" }
  /** Another caller is waiting. */
  | { readonly kind: "busy" }
  /** The signal of the caller aborted; nothing was taken. */
  | { readonly kind: "canceled" };

/** Where a feed keeps what is too much for the memory. */
export type FeedStore = Pick<FeedFile, "write" | "read" | "end" | "remove">;

export interface FeedOptions {
  readonly clock: Clock;
  /** For what is no longer kept in memory. Default: it is dropped. */
  readonly file?: FeedStore;
  /** How much is kept in memory, in bytes. Default: 256 kB. */
  readonly keptBytes?: number;
  /** What was taken can't be read again, so it is not kept. */
  readonly forgetTaken?: true;
}

/** Items that are not in memory any more, without gaps between the parts. */
interface OlderPart {
  readonly first: number;
  last: number;
  readonly place: Place | undefined;
}

interface Line {
  readonly json: string;
  readonly bytes: number;
}

const KEPT_BYTES = 256 * 1024;
/** Of a feed that has ended and has a file: there may be many of them. */
const KEPT_AT_END = 4 * 1024;
/** What a line takes besides its text. */
const LINE_BYTES = 64;
const AT_ONCE = 500;

/**
 * JSON objects in their order, for any number of readers, and for one that takes each of them once. Its memory is
 * bounded.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #keptBytes: number;
  #older: OlderPart[] = [];
  /** From `#first` on: what is before it is in `#older`. */
  #lines: Line[] = [];
  #first = 0;
  #bytes = 0;
  #last = 0;
  #stage: "open" | "closed" | "disposed" = "open";
  readonly #waiting = new Set<() => void>();
  /** The part that was read last, because its other lines are read next. */
  #read: { readonly part: OlderPart; readonly lines: readonly string[] } | undefined;
  /** The last item that was taken. */
  #taken = 0;
  #taking = false;
  #said = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#keptBytes = options.keptBytes ?? KEPT_BYTES;
  }

  /** The number of the last item; 0 if there is none. */
  get last(): number {
    return this.#last;
  }

  /** Nothing more comes. */
  get closed(): boolean {
    return this.#stage !== "open";
  }

  /** Ignored after `close`. Throws for what is no JSON. */
  append(response: object): void {
    if (this.closed) return;
    const json = JSON.stringify(response);
    const bytes = Buffer.byteLength(json) + LINE_BYTES;
    this.#lines.push({ json, bytes });
    this.#bytes += bytes;
    this.#last += 1;
    if (this.#bytes > this.#keptBytes) this.#moveOut(this.#spillTo());
    this.#wake();
  }

  /** What is there can still be read and taken. */
  close(): void {
    if (this.closed) return;
    this.#stage = "closed";
    const { file } = this.#options;
    if (file !== undefined && this.#bytes > KEPT_AT_END) this.#moveOut(0);
    file?.end();
    this.#wake();
  }

  /** Forgets everything and removes the file. */
  dispose(): void {
    if (this.#stage === "disposed") return;
    this.#stage = "disposed";
    this.#options.file?.remove();
    this.#older = [];
    this.#lines = [];
    this.#first = 0;
    this.#bytes = 0;
    this.#read = undefined;
    this.#wake();
  }

  /** The items after the number, at most `most`; none if there are none yet, or none any more. */
  read(after: number, most = AT_ONCE): readonly FeedItem[] {
    const next = Math.max(after, 0) + 1;
    if (next > this.#last || this.#stage === "disposed") return [];
    const firstKept = this.#firstKept;
    if (next >= firstKept) {
      const from = this.#first + (next - firstKept);
      return this.#lines
        .slice(from, from + most)
        .map(({ json }, index) => ({ seq: next + index, json }));
    }
    const part = this.#partOf(next);
    const lines = this.#linesOf(part);
    if (lines === undefined) return [lost(part.last, part.last - next + 1)];
    const from = next - part.first;
    const read = lines.slice(from, from + most);
    if (from + read.length === lines.length) this.#read = undefined;
    return read.map((json, index) => ({ seq: next + index, json }));
  }

  /** Resolves when there are items after the number, when none can come any more, or when the signal aborts. */
  async changed(after: number, signal?: AbortSignal): Promise<void> {
    if (this.#last > after || this.closed || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        release();
        resolve();
      };
      this.#waiting.add(done);
      const release = onAbort(signal, done);
    });
  }

  /** All items after the number, in batches, until the feed ends or the signal aborts. */
  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<readonly FeedItem[]> {
    for (let at = after; ;) {
      if (signal?.aborted === true) return;
      const items = this.read(at);
      const last = items.at(-1);
      if (last !== undefined) {
        at = last.seq;
        yield items;
      } else if (this.closed) return;
      else await this.changed(at, signal);
    }
  }

  /** The next item that was not taken yet, waiting for it up to `milliseconds`. One caller at a time. */
  async take(milliseconds: number, signal?: AbortSignal): Promise<Taken> {
    if (this.#taking) return { kind: "busy" };
    if (this.#said || this.#stage === "disposed") return { kind: "gone" };
    if (this.#options.forgetTaken === true) this.#forgetTaken();
    if (this.#last === this.#taken && !this.closed) await this.#wait(milliseconds, signal);
    return signal?.aborted === true ? { kind: "canceled" } : this.#next();
  }

  async #wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const limit = startTimeLimit(this.#options.clock, milliseconds, signal);
    this.#taking = true;
    try {
      await this.changed(this.#taken, limit.signal);
    } finally {
      this.#taking = false;
      limit.end();
    }
  }

  #next(): Taken {
    const before = this.#taken;
    const [item] = this.read(before, 1);
    if (item !== undefined) {
      this.#taken = item.seq;
      const giveBack = (): void => {
        if (this.#taken === item.seq) this.#taken = before;
      };
      return { kind: "response", ...item, giveBack };
    }
    if (!this.closed) return { kind: "timeout" };
    this.#said = true;
    return { kind: "closed", giveBack: () => (this.#said = false) };
  }

  get #firstKept(): number {
    return this.#last - (this.#lines.length - this.#first) + 1;
  }

  /** How much stays in memory: with a file half of it, so that each write is a large one. */
  #spillTo(): number {
    return this.#options.file === undefined ? this.#keptBytes : this.#keptBytes / 2;
  }

  /** Moves the oldest lines to the file until at most so many bytes are left; drops them if there is none. */
  #moveOut(bytesLeft: number): void {
    const first = this.#firstKept;
    const moved: string[] = [];
    while (this.#bytes > bytesLeft) moved.push(this.#shift());
    if (moved.length === 0) return;
    const place = this.#options.file?.write(`${moved.join("\n")}\n`);
    this.#addOlder({ first, last: first + moved.length - 1, place });
  }

  #forgetTaken(): void {
    const first = this.#firstKept;
    if (this.#taken < first) return;
    while (this.#firstKept <= this.#taken) this.#shift();
    this.#addOlder({ first, last: this.#taken, place: undefined });
  }

  #addOlder(part: OlderPart): void {
    const last = this.#older.at(-1);
    if (last !== undefined && last.place === undefined && part.place === undefined)
      last.last = part.last;
    else this.#older.push(part);
  }

  /** In constant time on average: to shift a long array moves all of it. */
  #shift(): string {
    const line = this.#lines[this.#first];
    if (line === undefined) throw new Error("There is no line in memory.");
    this.#first += 1;
    this.#bytes -= line.bytes;
    if (this.#first > this.#lines.length / 2) {
      this.#lines = this.#lines.slice(this.#first);
      this.#first = 0;
    }
    return line.json;
  }

  #partOf(seq: number): OlderPart {
    let low = 0;
    let high = this.#older.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#older[middle]?.last ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    const part = this.#older[low];
    if (part === undefined) throw new Error(`The feed has no item ${seq}.`);
    return part;
  }

  /** Undefined if they are lost. */
  #linesOf(part: OlderPart): readonly string[] | undefined {
    if (this.#read?.part === part) return this.#read.lines;
    const { place, first, last } = part;
    const text = place && this.#options.file?.read(place);
    const lines = text?.split("\n");
    lines?.pop();
    if (lines?.length !== last - first + 1) return undefined;
    this.#read = { part, lines };
    return lines;
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    for (const done of waiting) done();
  }
}

function lost(seq: number, count: number): FeedItem {
  return { seq, json: JSON.stringify({ callback: "onResponsesDropped", count }) };
}

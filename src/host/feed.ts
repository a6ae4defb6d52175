/**
 * A feed: JSON objects in their order, numbered from 1, for everything that is read live. Invariants: its memory is
 * bounded, whoever reads it or doesn't; readers pull at their own pace, and get every item in its order, or in its
 * place `{ callback: "onResponsesDropped", count }`; nothing that happens to the file is an exception.
 */
import * as fs from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { makeDirectoryNow, openToReadNow } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { onAbort, startTimer } from "../platform/waiting.ts";

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

/** The result of `take`. */
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

export type FeedStore = Pick<FeedFile, "write" | "read" | "remove">;

interface FeedOptions {
  readonly clock: Clock;
  /** For what is no longer kept in memory. Default: it is dropped. */
  readonly file?: FeedStore;
  /** How much is kept in memory, in characters. Default: 256 Ki. */
  readonly kept?: number;
}

/** Items that are not in memory any more, without gaps between the parts. */
interface OlderPart {
  readonly first: number;
  last: number;
  readonly place: Place | undefined;
}

const KEPT = 256 * 1024;
/** The characters kept of an ended feed with a file: there may be many such feeds. */
const KEPT_AT_END = 4 * 1024;
/** Memory of a line besides its text. */
const LINE = 64;
const AT_ONCE = 100;

/** JSON objects in their order, for any number of readers, and for one that takes each of them once. */
export class Feed {
  readonly #clock: Clock;
  readonly #file: FeedStore | undefined;
  readonly #kept: number;
  #older: OlderPart[] = [];
  /** The newest ones: what is before them is in `#older`. */
  #lines: string[] = [];
  #size = 0;
  #last = 0;
  #closedAt: number | undefined;
  readonly #waiting = new Set<() => void>();
  /** The part that was read last, because its other lines are read next. */
  #read: { readonly part: OlderPart; readonly lines: readonly string[] } | undefined;
  /** The last item that was taken. */
  #taken = 0;
  #taking = false;
  #said = false;

  constructor({ clock, file, kept = KEPT }: FeedOptions) {
    this.#clock = clock;
    this.#file = file;
    this.#kept = kept;
  }

  /** The number of the last item; 0 if there is none. */
  get last(): number {
    return this.#last;
  }

  /** Nothing more comes. */
  get closed(): boolean {
    return this.#closedAt !== undefined;
  }

  /** In milliseconds since 1970; undefined until then. */
  get closedAt(): number | undefined {
    return this.#closedAt;
  }

  /** Ignored after `close`. Throws for what is no JSON. */
  append(response: object): void {
    if (this.closed) return;
    const json = JSON.stringify(response);
    this.#lines.push(json);
    this.#size += sizeOf(json);
    this.#last += 1;
    // With a file half of it leaves the memory, so that each write is a large one.
    if (this.#size > this.#kept) this.#keep(this.#file ? this.#kept / 2 : this.#kept);
    this.#wake();
  }

  /** Existing items can still be read and taken. */
  close(): void {
    if (this.closed) return;
    this.#closedAt = this.#clock.now();
    if (this.#file !== undefined && this.#size > KEPT_AT_END) this.#keep(0);
    this.#wake();
  }

  /** Forgets everything and removes the file. */
  dispose(): void {
    this.#closedAt ??= this.#clock.now();
    this.#said = true;
    this.#file?.remove();
    this.#older = [];
    this.#lines = [];
    this.#read = undefined;
    this.#wake();
  }

  /** The items after the number, at most `most`; none if there are none yet, or none any more. */
  read(after: number, most = AT_ONCE): readonly FeedItem[] {
    const next = Math.max(after, 0) + 1;
    if (next > this.#last) return [];
    const part = this.#older.find(({ last }) => last >= next);
    const lines = part === undefined ? this.#lines : this.#linesOf(part);
    if (part !== undefined && lines === undefined) {
      const json = JSON.stringify({ callback: "onResponsesDropped", count: part.last - next + 1 });
      return [{ seq: part.last, json }];
    }
    const from = next - (part?.first ?? this.#firstKept);
    const read = lines?.slice(from, from + most) ?? [];
    if (part !== undefined && from + read.length === lines?.length) this.#read = undefined;
    return read.map((json, index) => ({ seq: next + index, json }));
  }

  /**
   * Resolves when there are items after the number, when none can come any more, or when the signal aborts, at the
   * latest after `milliseconds`.
   */
  async changed(after: number, milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (this.#last > after || this.closed || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        for (const release of releases) release();
        resolve();
      };
      this.#waiting.add(done);
      const releases = [startTimer(this.#clock, milliseconds, done), onAbort(signal, done)];
    });
  }

  /**
   * All items after the number, in batches, until the feed ends or the signal aborts. A batch is empty if nothing has
   * come for `silenceMs`.
   */
  async *follow(
    after: number,
    silenceMs: number,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly FeedItem[]> {
    const isGone = (): boolean => signal?.aborted === true;
    for (let at = after; !isGone();) {
      const items = this.read(at);
      at = items.at(-1)?.seq ?? at;
      if (items.length > 0) yield items;
      else if (this.closed) return;
      else {
        await this.changed(at, silenceMs, signal);
        if (this.#last === at && !this.closed && !isGone()) yield items;
      }
    }
  }

  /** The next item that was not taken yet, waiting for it up to `milliseconds`. One caller at a time. */
  async take(milliseconds: number, signal?: AbortSignal): Promise<Taken> {
    if (this.#taking) return { kind: "busy" };
    if (this.#said) return { kind: "gone" };
    this.#taking = true;
    await this.changed(this.#taken, milliseconds, signal);
    this.#taking = false;
    if (signal?.aborted === true) return { kind: "canceled" };
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
    return this.#last - this.#lines.length + 1;
  }

  /** Moves the oldest lines to the file until at most so much is left; drops them if there is none. */
  #keep(left: number): void {
    const first = this.#firstKept;
    let count = 0;
    for (; this.#size > left; count += 1) this.#size -= sizeOf(this.#lines[count] ?? "");
    const moved = this.#lines.splice(0, count);
    const last = first + count - 1;
    const place = this.#file?.write(moved.join("\n"));
    const before = this.#older.at(-1);
    if (before !== undefined && before.place === undefined && place === undefined)
      before.last = last;
    else this.#older.push({ first, last, place });
  }

  #linesOf(part: OlderPart): readonly string[] | undefined {
    if (this.#read?.part === part) return this.#read.lines;
    const lines = (part.place && this.#file?.read(part.place))?.split("\n");
    if (lines !== undefined) this.#read = { part, lines };
    return lines;
  }

  #wake(): void {
    for (const done of this.#waiting) done();
  }
}

function sizeOf(line: string): number {
  return line.length + LINE;
}

export interface Place {
  readonly offset: number;
  readonly bytes: number;
}

/** Made with the first lines, for its user only, and open only while it is used: there may be many of them. */
export class FeedFile {
  readonly #path: string;
  readonly #onProblem: (problem: string) => void;
  #isMade = false;

  /** `onProblem` is called each time that something can't be written. */
  constructor(path: string, onProblem: (problem: string) => void = () => undefined) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  write(text: string): Place | undefined {
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
    try {
      makeDirectoryNow(dirname(this.#path));
      const how = this.#isMade ? O_NOFOLLOW : O_CREAT | O_EXCL;
      return using(fs.openSync(this.#path, O_WRONLY | O_APPEND | how, 0o600), (file) => {
        this.#isMade = true;
        const { size: offset } = fs.fstatSync(file);
        fs.writeFileSync(file, text);
        return { offset, bytes: fs.fstatSync(file).size - offset };
      });
    } catch (error) {
      this.#onProblem(errorMessage(error));
      return undefined;
    }
  }

  /** Undefined if it can't be read, or not all of it. */
  read({ offset, bytes }: Place): string | undefined {
    try {
      return using(openToReadNow(this.#path, "refused"), (file) => {
        const buffer = Buffer.allocUnsafe(bytes);
        const read = fs.readSync(file, buffer, 0, bytes, offset);
        return read === bytes ? buffer.toString("utf8") : undefined;
      });
    } catch {
      return undefined;
    }
  }

  remove(): void {
    try {
      fs.rmSync(this.#path, { force: true });
    } catch {
      // Its folder is removed with all that it holds.
    }
  }
}

function using<T>(file: number, use: (file: number) => T): T {
  try {
    return use(file);
  } finally {
    fs.closeSync(file);
  }
}

/** Reads a journal in parts. Memory holds one part of it and the first problems. */
import type { FileHandle } from "node:fs/promises";
import type { RunEvent } from "../events/event.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import { openToRead, type Links } from "../platform/files.ts";
import { JournalReader, notAJournal, type JournalProblem, type JournalWriter } from "./read.ts";
import type { JournalSource } from "./store.ts";

export interface JournalCondition {
  readonly problems: readonly JournalProblem[];
  readonly moreProblems: number;
  /** False: a file of another kind. */
  readonly isJournal: boolean;
}

/** The first problem because of which a run can't go on from a journal. An incomplete last line is none. */
export function damageOf({ problems }: JournalCondition): JournalProblem | undefined {
  return problems.find(({ kind }) => kind === "damaged" || kind === "unknown");
}

export const KEPT_PROBLEMS = 100;
/** Bytes of a line, unless the reader wants less. */
const MAX_LINE = 128 * 1024 * 1024;
const PART_BYTES = 1024 * 1024;
/** Small, because a merge reads hundreds of journals at the same time. */
const SMALL_PART_BYTES = 16 * 1024;

export interface ReadingOptions {
  /** Default: followed. */
  readonly links?: Links;
  /** In bytes. A longer line is not held, and is a problem. */
  readonly maxLine?: number | undefined;
}

export interface JournalReading {
  /** The events of one part of the file after the other. To be iterated once; closes the file at its end. */
  readonly events: AsyncIterable<readonly RunEvent[]>;
  condition(): JournalCondition;
  /** The process that wrote the latest events. */
  writer(): JournalWriter | undefined;
  /** The number of the line that would follow. */
  nextSeq(): number;
}

/** Rejects for everything but regular files. The events reject if the file can't be read any further. */
export async function openJournalFile(
  path: string,
  { links = "followed", maxLine }: ReadingOptions = {},
): Promise<JournalReading> {
  const file = await openRegular(path, links);
  return readJournalIn(file.createReadStream({ highWaterMark: PART_BYTES }), { maxLine });
}

/** The journals of a run are files, unless an application brings a store. */
export const journalFiles: JournalSource = {
  async *read(path) {
    const file = await openRegular(path, "followed");
    yield* file.createReadStream({ highWaterMark: SMALL_PART_BYTES });
  },
};

async function openRegular(path: string, links: Links): Promise<FileHandle> {
  const file = await openToRead(path, links);
  try {
    const found = await file.stat();
    if (found.isDirectory()) throw new Error("it is a folder");
    if (!found.isFile()) throw new Error("it is not a regular file");
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

export async function readJournalFile(
  path: string,
  take: (events: readonly RunEvent[]) => Promise<void> | void,
  options: ReadingOptions = {},
): Promise<JournalCondition> {
  const reading = await openJournalFile(path, options);
  for await (const events of reading.events) await take(events);
  return reading.condition();
}

/**
 * Reads no more parts than the events need, and closes them at the end. `byLine`: parses each event when it is asked for, so
 * that a merge of hundreds of journals holds bytes and few objects.
 */
export function readJournalIn(
  parts: AsyncIterable<string | Uint8Array>,
  {
    maxLine = MAX_LINE,
    byLine = false,
  }: Pick<ReadingOptions, "maxLine"> & { byLine?: boolean } = {},
): JournalReading {
  const reader = new JournalReader(KEPT_PROBLEMS);
  let { writer } = reader;
  async function* events(): AsyncIterable<readonly RunEvent[]> {
    const lines = new LineReader(maxLine);
    const yielder = new EventLoopYielder();
    const taken = (): readonly RunEvent[] => reader.events.splice(0);
    for await (const part of parts) {
      for (const line of lines.endedBy(bytesOf(part))) {
        if (!reader.read(line)) return;
        // One batch never has events of two processes.
        if ((byLine || reader.writer !== writer) && reader.events.length > 0) yield taken();
        ({ writer } = reader);
        await yielder.yieldIfDue();
      }
      if (reader.events.length > 0) yield taken();
    }
    reader.finish(lines.rest);
  }
  return {
    events: events(),
    writer: () => writer,
    condition() {
      const { isJournal, problems, moreProblems } = reader;
      return isJournal
        ? { problems, moreProblems, isJournal }
        : { problems: [notAJournal], moreProblems: 0, isJournal };
    },
    nextSeq: () => reader.nextSeq,
  };
}

function bytesOf(part: string | Uint8Array): Buffer {
  return typeof part === "string"
    ? Buffer.from(part)
    : Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

const LF = 10;

/** Each line is decoded by itself: a character beyond Latin-1 would make all of its part a text of twice the size. */
class LineReader {
  /** The beginning of an incomplete line; undefined if it is too long to be kept. */
  #begun: Buffer[] | undefined = [];
  #length = 0;
  readonly #longest: number;

  constructor(longest: number) {
    this.#longest = longest;
  }

  get rest(): string {
    const [only, ...more] = this.#begun ?? [Buffer.from("…")];
    return more.length === 0 ? String(only ?? "") : Buffer.concat(this.#begun ?? []).toString();
  }

  *endedBy(part: Buffer): Generator<string | undefined> {
    let start = 0;
    for (let end = part.indexOf(LF); end !== -1; end = part.indexOf(LF, start)) {
      this.#keep(part.subarray(start, end));
      const line = this.#begun && this.rest;
      this.#begun = [];
      this.#length = 0;
      start = end + 1;
      yield line;
    }
    this.#keep(part.subarray(start));
  }

  #keep(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > this.#longest) this.#begun = undefined;
    else if (bytes.length > 0) this.#begun?.push(bytes);
  }
}

/**
 * A journal in a store. It makes one append at a time, and the next one contains all lines that arrived meanwhile, so a killed
 * process leaves whole lines. A store that is too slow, or rejects, ends the journal.
 */
import type { Reporter } from "../events/sink.ts";
import { errorMessage } from "../platform/system-error.ts";
import { damageOf, readJournalIn } from "./file.ts";
import type { JournalStore } from "./store.ts";
import { createJournalReporter, JournalEnd, type JournalFile } from "./write.ts";

/** Maximum number of characters of one call, unless it is a single line, and of all that wait for the store. */
const MOST_AT_ONCE = 1024 * 1024;
const MOST_WAITING = 256 * 1024 * 1024;
const CLOSE_MS = 10_000;

/** Continues the journal of this name, if there is one. Rejects if it can't be read, or is damaged. */
export async function openStoredJournal(
  store: JournalStore,
  name: string,
  now: () => number,
): Promise<Reporter> {
  const { nextSeq, isNew } = await endOf(store, name).catch((error: unknown) => {
    const why = errorMessage(error);
    throw new Error(`The journal ${name} can't be started: ${why}`, { cause: error });
  });
  const file = new StoredJournal(store, name, nextSeq);
  const reporter = createJournalReporter(file, now, isNew ? 0 : nextSeq);
  return { ...reporter, closeMs: CLOSE_MS };
}

async function endOf(
  store: JournalStore,
  name: string,
): Promise<{ readonly nextSeq: number; readonly isNew: boolean }> {
  let isNew = true;
  async function* parts(): AsyncIterable<string | Uint8Array> {
    for await (const part of store.read(name)) {
      isNew &&= part.length === 0;
      yield part;
    }
  }
  const reading = readJournalIn(parts());
  for await (const _ of reading.events);
  if (isNew) return { nextSeq: 0, isNew };
  const condition = reading.condition();
  // A store has no way to remove half a line.
  const damage = damageOf(condition) ?? condition.problems.find(({ kind }) => kind === "torn");
  if (damage !== undefined) throw new Error(`line ${damage.line}: ${damage.reason}`);
  return { nextSeq: reading.nextSeq(), isNew };
}

class StoredJournal implements JournalFile {
  readonly #store: JournalStore;
  readonly #name: string;
  /** Each text consists of whole lines. */
  readonly #waiting: string[] = [];
  #length = 0;
  #lines: number;
  #appending: Promise<void> | undefined;
  #end: JournalEnd | undefined;

  constructor(store: JournalStore, name: string, lines: number) {
    this.#store = store;
    this.#name = name;
    this.#lines = lines;
  }

  write(bytes: Uint8Array, offset: number): number {
    if (this.#end !== undefined) throw this.#end;
    const text = new TextDecoder().decode(bytes.subarray(offset));
    this.#waiting.push(text);
    this.#length += text.length;
    if (this.#length > MOST_WAITING)
      throw (this.#end = new JournalEnd(this.#lines, "the store is too slow"));
    this.#appending ??= this.#append().finally(() => (this.#appending = undefined));
    return bytes.length - offset;
  }

  async close(): Promise<void> {
    await this.#appending;
    if (this.#end !== undefined) throw this.#end;
  }

  async #append(): Promise<void> {
    while (this.#length > 0 && this.#end === undefined) {
      const text = this.#next();
      try {
        await this.#store.append(this.#name, text);
        this.#lines += text.split("\n").length - 1;
      } catch (error) {
        this.#end ??= new JournalEnd(this.#lines, errorMessage(error), error);
      }
    }
  }

  #next(): string {
    let length = 0;
    const rest = this.#waiting.findIndex((text) => (length += text.length) > MOST_AT_ONCE);
    const count = rest === -1 ? this.#waiting.length : Math.max(1, rest);
    const text = this.#waiting.splice(0, count).join("");
    this.#length -= text.length;
    return text;
  }
}

/** The store of journals: files, unless an application provides its own. */

/**
 * Stores journals by name, for instance in a database that several machines share. A run appends whole lines in order,
 * one call at a time; the next call contains the events that happened meanwhile. If a call rejects, the run appends
 * nothing more, and its journal is incomplete. Two runs must not append to one journal at the same time: if the store
 * can detect it, it should reject the second one.
 */
export interface JournalStore {
  /** Appends lines to a journal. The first call creates it. Resolves when the lines are stored durably. */
  append(name: string, text: string): Promise<void>;
  /**
   * Yields the journal from its beginning, in pieces of any size. A string must not split a character. Yields nothing if
   * there is no such journal, and rejects if it can't be read.
   */
  read(name: string): AsyncIterable<string | Uint8Array>;
}

export type JournalSource = Pick<JournalStore, "read">;

export class MissingJournalError extends Error {
  override readonly name = "MissingJournalError";
}

/** Rejects for a journal that doesn't exist: with a wrong name, a job would silently start over. */
export function journalsIn(store: JournalStore): JournalSource {
  return {
    async *read(name) {
      let isEmpty = true;
      for await (const part of store.read(name)) {
        isEmpty &&= part.length === 0;
        yield part;
      }
      if (isEmpty) throw new MissingJournalError("there is no such journal");
    },
  };
}

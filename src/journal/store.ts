/** Where journals are kept: in files, unless an application brings a store of its own. */

/**
 * Keeps journals by name, for instance in a database that several machines share. Each run that has a journal appends
 * to it: whole lines, in their order, one call at a time; what happens during a call is in the next one. A call that
 * rejects ends the journal: nothing is appended any more, and the run is incomplete. Two runs must not append to
 * one journal at the same time: a store that can find out should reject the later one.
 */
export interface JournalStore {
  /** Adds the lines at the end of a journal, which the first call creates. Resolves when they are safe. */
  append(name: string, text: string): Promise<void>;
  /**
   * From the beginning, in pieces of any size, of which a string holds whole characters. Yields nothing if there is
   * no such journal, and rejects if it can't be read.
   */
  read(name: string): AsyncIterable<string | Uint8Array>;
}

export type JournalSource = Pick<JournalStore, "read">;

export class MissingJournalError extends Error {
  override readonly name = "MissingJournalError";
}

/** Rejects for a journal that isn't there: the name may be wrong, so nothing may start anew because of it. */
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

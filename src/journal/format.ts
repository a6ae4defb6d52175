/** The lines of a journal. See `docs/journal.md`. */

/** Increased when a reader of the old version would misread the new one. */
export const JOURNAL_VERSION = 3;
/** In version 2, lines also have `prev` and `hash`, which are ignored. */
export const READ_VERSIONS: readonly unknown[] = [2, JOURNAL_VERSION];
export const JOURNAL_FORMAT = "agent-jobs journal";

/** A line with its LF. */
export function journalLine(seq: number, fields: object): string {
  return `${JSON.stringify({ v: JOURNAL_VERSION, seq, ...fields })}\n`;
}

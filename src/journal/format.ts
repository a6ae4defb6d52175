/** The lines of a journal: how a line is written and checked. See `docs/journal.md`. */
import { createHash } from "node:crypto";

/** Increased when a reader of the old version would misread the new one. */
export const JOURNAL_VERSION = 2;
export const JOURNAL_FORMAT = "agent-jobs journal";

/** Where a journal continues. */
export interface JournalEnd {
  /** Of the next line. */
  readonly seq: number;
  /** Hash of the line before it; empty before the first. */
  readonly prev: string;
}

export const journalStart: JournalEnd = { seq: 0, prev: "" };

/** A line with its LF, and where the next one continues. */
export function journalLine(end: JournalEnd, fields: object): { line: string; end: JournalEnd } {
  const content = JSON.stringify({ v: JOURNAL_VERSION, ...end, ...fields });
  const hash = hashOf(content);
  const line = `${content.slice(0, -1)},"hash":"${hash}"}\n`;
  return { line, end: { seq: end.seq + 1, prev: hash } };
}

/** The hash at the end of a line, and whether it matches the rest of the line; undefined if there is none. */
export function hashOfLine(
  line: string,
): { readonly hash: string; readonly fits: boolean } | undefined {
  const [end, hash] = /,"hash":"([0-9a-f]{64})"\}$/.exec(line.slice(-76)) ?? [];
  if (end === undefined || hash === undefined) return undefined;
  return { hash, fits: hashOf(`${line.slice(0, -end.length)}}`) === hash };
}

function hashOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

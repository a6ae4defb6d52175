/**
 * Writing a journal: every event of a run in JSON lines, to be read with `jq` or
 * `parseJournal`.
 *
 * - A line is one write, complete with its LF, before `report` returns: a killed process leaves at most one
 *   torn line, the last.
 * - Streaming deltas are left out: the whole text follows (and a secret could be split over them).
 * - A full disk or a folder that vanished ends the journal, never the run: the failure is thrown once, for
 *   the sink to remember and report. So is a file that an agent has deleted, replaced or changed.
 */
import type { RunEvent } from "../events/event.ts";
import type { Reporter } from "../events/sink.ts";
import { systemClock } from "../platform/clock.ts";
import { OwnFile } from "../platform/own-file.ts";
import { errorMessage } from "../platform/system-error.ts";
import { JOURNAL_FORMAT, journalLine, journalStart, type JournalEnd } from "./format.ts";
import { readJournal } from "./read.ts";

/** How a journal is started. */
export interface JournalOptions {
  /** Go on in the journal that is at `path`, if there is one. Default: it is replaced. */
  readonly append?: boolean;
  /** Milliseconds since 1970. Default: the time of the system. */
  readonly now?: () => number;
}

/** Where lines go; `write` may write less than it was given. */
export interface JournalFile {
  write(bytes: Uint8Array, offset: number): number;
  /** Rejects if the file does not hold what was written. */
  close(): Promise<void> | void;
}

/**
 * Starts a journal at `path`, or continues one; parent folders are created. Throws if that is not possible, so that it is
 * known before the run. A damaged journal, or a file that is not a journal, is not continued. A torn last line is
 * removed, and the next line records this.
 */
export function createJournal(path: string, options: JournalOptions = {}): Reporter {
  const { append = false, now = () => systemClock.now() } = options;
  const file = new OwnFile("journal", path, { keep: append });
  if (!append) return createJournalReporter(file, now);
  try {
    const { end, removed } = prepareToContinue(file);
    return createJournalReporter(file, now, end, removed);
  } catch (error) {
    file.abandon();
    const why = errorMessage(error);
    throw new Error(`The journal ${path} can't be continued: ${why}`, { cause: error });
  }
}

/** Leaves whole lines only. `removed`: so many bytes of a torn one. */
function prepareToContinue(file: OwnFile): {
  readonly end: JournalEnd;
  readonly removed: number;
} {
  const bytes = file.read();
  const whole = bytes.lastIndexOf("\n".charCodeAt(0)) + 1;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, whole));
  const { end, problems } = whole === 0 ? { end: journalStart, problems: [] } : readJournal(text);
  const damage = problems.find(({ kind }) => kind === "damaged");
  if (damage !== undefined) throw new Error(`line ${damage.line}: ${damage.reason}`);
  const removed = bytes.length - whole;
  if (whole === 0 && !isBeginning(bytes)) throw new Error("the file is not a journal.");
  if (removed > 0) file.truncate(whole);
  return { end, removed };
}

/** Whether a file without a whole line may be a journal whose first line is torn. */
function isBeginning(bytes: Uint8Array): boolean {
  const { line } = journalLine(journalStart, {});
  const known = line.slice(0, line.indexOf(',"hash"'));
  const text = new TextDecoder().decode(bytes.subarray(0, known.length));
  return known.startsWith(text);
}

export function createJournalReporter(
  file: JournalFile,
  now: () => number,
  start: JournalEnd = journalStart,
  removed = 0,
): Reporter {
  let end = start;
  let broken = false;

  const write = (fields: object): void => {
    if (broken) return;
    const next = journalLine(end, fields);
    const bytes = new TextEncoder().encode(next.line);
    try {
      for (let offset = 0; offset < bytes.length;) {
        const written = file.write(bytes, offset);
        if (written <= 0) throw new Error("nothing was written");
        offset += written;
      }
    } catch (error) {
      broken = true;
      const why = errorMessage(error);
      throw new Error(`The journal ends after ${end.seq} lines: ${why}`, { cause: error });
    }
    end = next.end;
  };

  let unwrittenHeader: unknown;
  try {
    const gap = removed > 0 ? { removed } : {};
    if (start.seq === 0 || removed > 0)
      write({ type: "journal", at: now(), format: JOURNAL_FORMAT, ...gap });
  } catch (error) {
    unwrittenHeader = error;
  }
  return {
    name: "journal",
    report(event) {
      if (unwrittenHeader !== undefined) {
        const error = unwrittenHeader;
        unwrittenHeader = undefined;
        throw error;
      }
      if (!isDelta(event)) write(event);
    },
    async close() {
      broken = true;
      await file.close();
    },
  };
}

function isDelta(event: RunEvent): boolean {
  return event.type === "activity" && event.activity.kind.endsWith(".delta");
}

/**
 * Activities of sessions, and what is past, are written once per round of the event loop, the rest at once: what a step does comes
 * after its start was written. A killed process leaves at most one torn line. A failure is thrown once, and ends no run.
 */
import type { RunEvent } from "../events/event.ts";
import type { Reporter } from "../events/sink.ts";
import { systemClock } from "../platform/system-clock.ts";
import { OwnFile } from "../platform/own-file.ts";
import { thisProcess } from "../platform/run-folder.ts";
import { errorMessage } from "../platform/system-error.ts";
import { JOURNAL_FORMAT, journalLine, readJournal } from "./read.ts";

/** How a journal is started. */
export interface JournalOptions {
  /** Go on in the journal that is at `path`, if there is one. Default: it is replaced. */
  readonly append?: boolean;
  /** Milliseconds since 1970. Default: the time of the system. */
  readonly now?: () => number;
}

export class JournalEnd extends Error {
  constructor(lines: number, why: string, cause?: unknown) {
    super(`The journal ends after ${lines} lines: ${why}`, { cause });
  }
}

/** Where lines go; `write` may write less than it was given. */
export interface JournalFile {
  write(bytes: Uint8Array, offset: number): number;
  /** Rejects if the file does not hold what was written. */
  close(): Promise<void> | void;
}

/**
 * Starts a journal at `path`, or continues one; parent folders are created. The first event replaces an existing file.
 * Throws if that is not possible, so that it is known before the run. A damaged journal, or a file that is not a
 * journal, is not continued. A torn last line is removed, and the next line records this. `abandon` closes it before the
 * first event, and the file stays as it was.
 */
export function createJournal(
  path: string,
  options: JournalOptions = {},
): Reporter & { abandon(): void } {
  const { append = false, now = () => systemClock.now() } = options;
  const file = new OwnFile("journal", path, { keep: append });
  const abandon = (): void => file.abandon();
  try {
    const { nextSeq, removed } = append ? prepareToContinue(file) : { nextSeq: 0, removed: 0 };
    return { ...createJournalReporter(file, now, nextSeq, removed), abandon };
  } catch (error) {
    abandon();
    const why = errorMessage(error);
    throw new Error(`The journal ${path} can't be continued: ${why}`, { cause: error });
  }
}

/** Leaves whole lines only. `removed`: so many bytes of a torn one. */
function prepareToContinue(file: OwnFile): { nextSeq: number; removed: number } {
  const bytes = file.read();
  if (bytes.length === 0) return { nextSeq: 0, removed: 0 };
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const { nextSeq, problems, isJournal } = readJournal(text);
  if (!isJournal) throw new Error("the file is not a journal.");
  const damage = problems.find(({ kind }) => kind === "damaged");
  if (damage !== undefined) throw new Error(`line ${damage.line}: ${damage.reason}`);
  const whole = bytes.lastIndexOf("\n".charCodeAt(0)) + 1;
  const removed = bytes.length - whole;
  if (removed > 0) file.truncate(whole);
  return { nextSeq, removed };
}

/** Maximum number of characters that wait for the next round. */
const MOST_PENDING = 1024 * 1024;

export function createJournalReporter(
  file: JournalFile,
  now: () => number,
  firstSeq = 0,
  removed = 0,
): Reporter {
  let seq = firstSeq;
  let written = firstSeq;
  let pending = "";
  let failure: Error | undefined;
  let scheduled: NodeJS.Immediate | undefined;

  const flush = (): void => {
    clearImmediate(scheduled);
    scheduled = undefined;
    if (pending === "" || failure !== undefined) return;
    const bytes = new TextEncoder().encode(pending);
    pending = "";
    try {
      for (let offset = 0; offset < bytes.length;) offset += file.write(bytes, offset);
      written = seq;
    } catch (error) {
      failure =
        error instanceof JournalEnd ? error : new JournalEnd(written, errorMessage(error), error);
    }
  };
  let isReported = false;
  const reportFailure = (): void => {
    if (failure === undefined || isReported) return;
    isReported = true;
    throw failure;
  };
  const add = (fields: object): void => {
    pending += journalLine(seq, fields);
    seq += 1;
  };

  const at = now();
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    const gap = removed > 0 ? { removed } : {};
    add({ type: "journal", at, format: JOURNAL_FORMAT, process: thisProcess(), ...gap });
  };

  return {
    name: "journal",
    essential: true,
    takesPast: true,
    report(event) {
      if (failure === undefined) {
        begin();
        if (isKept(event)) add(event);
        const mayWait = event.type === "activity" || event.past === true;
        if (mayWait && pending.length < MOST_PENDING) scheduled ??= setImmediate(flush);
        else flush();
      }
      reportFailure();
    },
    async close() {
      try {
        begin();
        flush();
        reportFailure();
      } finally {
        failure ??= new Error("The journal is closed");
        isReported = true;
        await file.close();
      }
    },
  };
}

/** Texts that come in pieces are in the event of their end (and a secret could be split over them). */
export function isKept(event: RunEvent): boolean {
  if (event.type === "step.output") return false;
  return event.type !== "activity" || !event.activity.kind.endsWith(".delta");
}

/**
 * The journal: every event of a run in JSONL, to be read by people with `jq` and by us with `parseJournal`.
 * See `docs/journal.md`. Owns the format and the file descriptor.
 *
 * - A line is one write, complete with its LF, before `report` returns: a killed process leaves at most one
 *   torn line, the last.
 * - Streaming deltas are left out: the whole text follows.
 * - A full disk or a folder that vanished ends the journal, never the run: the failure is thrown once, for
 *   the sink to remember and tell. So is a file that an agent has deleted, replaced or changed.
 */
import type { RunEvent } from "../events/event.ts";
import { OwnFile } from "../platform/own-file.ts";
import type { Reporter } from "../events/sink.ts";

/** Raised when a reader of the old version would misread the new one. */
const JOURNAL_VERSION = 1;

/** Where lines go; `writeSync` may write less than it was given. */
export interface JournalFile {
  write(bytes: Uint8Array, offset: number): number;
  /** Rejects if the file does not hold what was written. */
  close(): Promise<void> | void;
}

/**
 * Starts a new journal at `path`; folders above it are created, a file that is there is replaced. Throws if
 * that is not possible: better to know before the run than after it.
 */
export function createJournal(path: string, now: () => number): Reporter {
  return createJournalReporter(new OwnFile("journal", path), now);
}

export function createJournalReporter(file: JournalFile, now: () => number): Reporter {
  let seq = 0;
  let broken = false;

  const write = (fields: object): void => {
    if (broken) return;
    const bytes = new TextEncoder().encode(
      `${JSON.stringify({ v: JOURNAL_VERSION, seq, ...fields })}\n`,
    );
    try {
      for (let offset = 0; offset < bytes.length;) {
        const written = file.write(bytes, offset);
        if (written <= 0) throw new Error("nothing was written");
        offset += written;
      }
    } catch (error) {
      broken = true;
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`The journal ends after ${seq} lines: ${why}`, { cause: error });
    }
    seq += 1;
  };

  let unwrittenHeader: unknown;
  try {
    write({ type: "journal", at: now(), format: "agent-jobs journal" });
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

export interface JournalProblem {
  /** 1-based. */
  readonly line: number;
  readonly reason: string;
}

export interface ParsedJournal {
  readonly events: readonly RunEvent[];
  readonly problems: readonly JournalProblem[];
  /** The last line is incomplete: the process was killed, or still runs. */
  readonly torn: boolean;
}

/** Reads a journal back. Never throws: a line that cannot be read is a problem, and the others are used. */
export function parseJournal(text: string): ParsedJournal {
  const events: RunEvent[] = [];
  const problems: JournalProblem[] = [];
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  let expected: number | undefined;
  for (const [index, line] of lines.entries()) {
    const record = parseLine(line);
    const problem =
      typeof record === "string" ? record : checkRecord(record, index === 0, expected);
    if (problem !== undefined) problems.push({ line: index + 1, reason: problem });
    if (typeof record === "string") {
      expected = undefined;
      continue;
    }
    expected = typeof record["seq"] === "number" ? record["seq"] + 1 : undefined;
    if (record["v"] === JOURNAL_VERSION && isEvent(record)) {
      const { v: _v, seq: _seq, ...event } = record;
      events.push(event);
    }
  }
  if (rest !== "") problems.push({ line: lines.length + 1, reason: "The line is incomplete." });
  if (text === "") problems.push({ line: 1, reason: "The journal is empty." });
  return { events, problems, torn: rest !== "" };
}

interface JournalRecord {
  readonly [key: string]: unknown;
}

function parseLine(line: string): JournalRecord | string {
  try {
    const parsed: unknown = JSON.parse(line);
    return isRecord(parsed) ? parsed : "The line is not a JSON object.";
  } catch {
    return "The line is not JSON.";
  }
}

function checkRecord(record: JournalRecord, first: boolean, expected?: number): string | undefined {
  if (record["v"] !== JOURNAL_VERSION) {
    return `Version ${JSON.stringify(record["v"])} is not ${JOURNAL_VERSION}, the one this program reads.`;
  }
  if (first) return record["type"] === "journal" ? undefined : "The header is missing.";
  if (expected !== undefined && record["seq"] !== expected) {
    return `Lines are missing: expected number ${expected}, found ${JSON.stringify(record["seq"])}.`;
  }
  return isEvent(record)
    ? undefined
    : `An event of type ${JSON.stringify(record["type"])} is not known or not whole.`;
}

function isRecord(value: unknown): value is JournalRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWorkRef(value: unknown): boolean {
  return (
    isRecord(value) && typeof value["workId"] === "number" && typeof value["taskId"] === "string"
  );
}

/** The fields that every fold relies on; the rest is as we wrote it. */
function isEvent(record: JournalRecord): record is JournalRecord & RunEvent {
  if (typeof record["at"] !== "number") return false;
  const { work } = record;
  switch (record["type"]) {
    case "run.started":
      return typeof record["jobName"] === "string" && isRecord(work);
    case "run.ended":
      return isKinded(record["outcome"]);
    case "work.started":
      return isWorkRef(work);
    case "work.ended":
      return isWorkRef(work) && isKinded(record["outcome"]);
    case "decision":
      return (work === null || isWorkRef(work)) && isKinded(record["decision"]);
    case "session.started":
    case "session.ended":
    case "turn.started":
    case "turn.ended":
      return isWorkRef(work) && typeof record["sessionId"] === "string";
    case "activity":
      return (
        isWorkRef(work) && typeof record["sessionId"] === "string" && isKinded(record["activity"])
      );
    default:
      return false;
  }
}

function isKinded(value: unknown): boolean {
  return isRecord(value) && typeof value["kind"] === "string";
}

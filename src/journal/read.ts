/**
 * Reading a journal back. Every line is checked: its version, its hash, its place in the chain, and
 * every field of its event. A line that can't be used is a problem, and the others are used.
 */
import { eventShape, eventTypes } from "../events/event-shapes.ts";
import { isRecord } from "../document/guards.ts";
import type { RunEvent } from "../events/event.ts";
import type { JournalProblem } from "./problem.ts";
import { count, fits, natural, optional, record, words } from "../events/shape.ts";
import {
  hashOfLine,
  JOURNAL_FORMAT,
  JOURNAL_VERSION,
  journalLine,
  journalStart,
  type JournalEnd,
} from "./format.ts";

/** The contents of a journal. */
export interface ParsedJournal {
  /** Of all lines that can be used, in their order. */
  readonly events: readonly RunEvent[];
  /** What is wrong, in the order of the lines. */
  readonly problems: readonly JournalProblem[];
  /** The last line is incomplete: the process was killed, or still runs. */
  readonly torn: boolean;
}

/** Reads a journal back. Never throws: a line that can't be read is a problem, and the others are used. */
export function parseJournal(text: string): ParsedJournal {
  const { events, problems, torn } = readJournal(text);
  return { events, problems, torn };
}

export function readJournal(text: string): ParsedJournal & {
  readonly end: JournalEnd;
  /** False: a file of another kind. It has one problem, not one for each of its lines. */
  readonly isJournal: boolean;
} {
  const events: RunEvent[] = [];
  const problems: JournalProblem[] = [];
  const reader = new JournalReader({
    event: (event) => events.push(event),
    problem: (problem) => problems.push(problem),
  });
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  for (const line of lines) if (!reader.read(line)) break;
  const { isJournal, torn } = reader.finish(rest);
  if (!isJournal) problems.splice(0, Infinity, notAJournal);
  return { events, problems, torn, end: reader.end, isJournal };
}

/** The only problem of a file of another kind. */
export const notAJournal: JournalProblem = {
  line: 1,
  reason: "The file is not a journal.",
  kind: "damaged",
};

/** Whether a file without a whole line may be a journal whose first line is torn. */
function isBeginning(text: string): boolean {
  const { line } = journalLine(journalStart, {});
  const known = line.slice(0, line.indexOf(',"hash"'));
  return known.startsWith(text.slice(0, known.length));
}

const header = record<{
  readonly type: "journal";
  readonly at: number;
  readonly format: typeof JOURNAL_FORMAT;
  readonly removed?: number;
}>({
  type: words({ journal: true }),
  at: count,
  format: words({ [JOURNAL_FORMAT]: true }),
  removed: optional(natural),
});

/** What a reader finds, in the order of the lines. */
export interface JournalFindings {
  event(event: RunEvent): void;
  problem(problem: JournalProblem): void;
}

/** Reads a journal line by line; of the lines before, only their hashes are kept. */
export class JournalReader {
  readonly #found: JournalFindings;
  /** Of the lines that were used. A repeated line is used once. */
  readonly #hashes = new Set<string>();
  /** Whether any line was one of a journal, of whatever version. */
  isJournal = false;
  #line = 0;
  #seq = 0;
  #crlf = false;
  #stopped = false;
  /** Undefined: the line before has no hash that can be read. */
  #prev: string | undefined = "";

  constructor(found: JournalFindings) {
    this.#found = found;
  }

  get end(): JournalEnd {
    return { seq: this.#seq, prev: this.#prev ?? "" };
  }

  /** How many lines were read. */
  get lines(): number {
    return this.#line;
  }

  /** A whole line, without its LF. False: nothing that follows can be read. */
  read(found: string): boolean {
    this.#line += 1;
    const line = found.endsWith("\r") ? found.slice(0, -1) : found;
    if (line !== found && !this.#crlf) {
      this.#crlf = true;
      this.#problem("The lines end with CRLF instead of LF: the file was changed.");
    }
    const value = parseLine(line);
    if (typeof value === "string") {
      this.#skip(value, undefined);
      return true;
    }
    const { v, seq, prev, hash: _hash, ...fields } = value;
    this.isJournal ||= v !== undefined && (seq !== undefined || fields["type"] === "journal");
    if (v !== JOURNAL_VERSION) {
      const isHeader = this.#line === 1 && fields["type"] === "journal";
      this.#skip(versionText(v, isHeader), undefined);
      this.#stopped = isHeader;
      return !isHeader;
    }
    const sealed = hashOfLine(line);
    if (sealed === undefined) this.#skip("The line does not end with its hash.", undefined);
    else if (!sealed.fits)
      this.#skip("The line was changed: its hash does not match.", sealed.hash);
    else if (this.#hashes.has(sealed.hash)) this.#problem("Duplicate line.");
    else if (typeof seq !== "number") this.#skip("seq must be a number.", sealed.hash);
    else {
      this.#hashes.add(sealed.hash);
      if (seq !== this.#seq)
        this.#problem(
          `Expected number ${this.#seq}, found ${seq}: lines are missing or out of order.`,
        );
      else if (this.#prev !== undefined && prev !== this.#prev)
        this.#problem("The line does not follow the previous one: one of them was changed.");
      this.#use(fields);
      this.#seq = seq + 1;
      this.#prev = sealed.hash;
    }
    return true;
  }

  /** Instead of `read`, for a line that is too long to be held. */
  skipLongLine(): true {
    this.#line += 1;
    this.#skip("The line is too long.", undefined);
    return true;
  }

  /** To be called once, at the end, with what follows the last LF. */
  finish(rest: string): { readonly isJournal: boolean; readonly torn: boolean } {
    const torn = rest !== "";
    this.isJournal ||= this.#line === 0 && isBeginning(rest);
    this.#line += 1;
    if (this.#line === 1 && !torn) this.#problem("The journal is empty.");
    else if (torn && this.isJournal && !this.#stopped)
      this.#problem("The line is incomplete.", "torn");
    return { isJournal: this.isJournal, torn };
  }

  #use(fields: Readonly<Record<string, unknown>>): void {
    const isFirst = this.#line === 1;
    if (fields["type"] === "journal") {
      const fault = header.fault(fields, "", 0);
      const { removed } = fields;
      if (fault !== undefined) this.#problem(`Invalid header: ${fault}.`);
      else if (removed !== undefined)
        this.#problem(
          `A torn line of ${JSON.stringify(removed)} bytes was removed before this one.`,
          "removed",
        );
      return;
    }
    if (isFirst) this.#problem("The header is missing.");
    const { type } = fields;
    if (typeof type === "string" && !eventTypes.has(type))
      this.#problem(`Unknown event type ${JSON.stringify(type)}.`, "unknown");
    else if (fits(eventShape, fields)) this.#found.event(fields);
    else this.#problem(`Invalid event: ${eventShape.fault(fields, "", 0) ?? ""}.`);
  }

  /** Nothing is known of the line but, perhaps, the hash that the next one has to name. */
  #skip(reason: string, hash: string | undefined): void {
    this.#problem(reason);
    this.#seq += 1;
    this.#prev = hash;
  }

  #problem(reason: string, kind: JournalProblem["kind"] = "damaged"): void {
    this.#found.problem({ line: this.#line, reason, kind });
  }
}

function versionText(version: unknown, isHeader: boolean): string {
  const found = JSON.stringify(version) ?? "none";
  if (!isHeader) return `The version is ${found}, not ${JOURNAL_VERSION}.`;
  const older = typeof version === "number" && version < JOURNAL_VERSION;
  return `This journal has version ${found}, of ${older ? "an older" : "another"} agent-jobs; this one reads version ${JOURNAL_VERSION}.`;
}

function parseLine(line: string): Readonly<Record<string, unknown>> | string {
  try {
    const parsed: unknown = JSON.parse(line);
    return isRecord(parsed) ? parsed : "The line is not a JSON object.";
  } catch {
    return "The line is not JSON.";
  }
}

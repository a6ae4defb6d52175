/**
 * Reading a journal back. Every line is checked: its version, its hash, its place in the chain, and
 * every field of its event. A line that can't be used is a problem, and the others are used.
 */
import { isRecord } from "../document/guards.ts";
import { eventShape } from "../events/event-shapes.ts";
import type { RunEvent } from "../events/event.ts";
import { fits, number, optional, record, words } from "../events/shape.ts";
import {
  hashOfLine,
  JOURNAL_FORMAT,
  JOURNAL_VERSION,
  journalStart,
  type JournalEnd,
} from "./format.ts";

/** A difference between a journal and what was written. */
export interface JournalProblem {
  /** 1-based. */
  readonly line: number;
  /** A sentence for people. */
  readonly reason: string;
  /**
   * `torn`: the last line is incomplete, because the process was killed or still runs. `removed`: such a line was
   * removed here when the journal was continued. `damaged`: everything else.
   */
  readonly kind: "torn" | "removed" | "damaged";
}

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

export function readJournal(text: string): ParsedJournal & { readonly end: JournalEnd } {
  const reader = new Reader();
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  for (const line of lines) if (!reader.read(line)) break;
  const { events, problems, end } = reader;
  const torn = rest !== "";
  const line = lines.length + 1;
  if (torn) problems.push({ line, reason: "The line is incomplete.", kind: "torn" });
  if (text === "") problems.push({ line: 1, reason: "The journal is empty.", kind: "damaged" });
  return { events, problems, torn, end };
}

const header = record<{
  readonly type: "journal";
  readonly at: number;
  readonly format: typeof JOURNAL_FORMAT;
  readonly removed?: number;
}>({
  type: words({ journal: true }),
  at: number,
  format: words({ [JOURNAL_FORMAT]: true }),
  removed: optional(number),
});

class Reader {
  readonly events: RunEvent[] = [];
  readonly problems: JournalProblem[] = [];
  /** Of the lines that were used. A repeated line is used once. */
  readonly #hashes = new Set<string>();
  #line = 0;
  #seq = 0;
  /** Undefined: the line before has no hash that can be read. */
  #prev: string | undefined = "";

  get end(): JournalEnd {
    return this.#line === 0 ? journalStart : { seq: this.#seq, prev: this.#prev ?? "" };
  }

  /** False: nothing that follows can be read. */
  read(line: string): boolean {
    this.#line += 1;
    const value = parseLine(line);
    if (typeof value === "string") {
      this.#skip(value, undefined);
      return true;
    }
    const { v, seq, prev, hash: _hash, ...fields } = value;
    if (v !== JOURNAL_VERSION) {
      const isHeader = this.#line === 1 && fields["type"] === "journal";
      this.#skip(versionText(v, isHeader), undefined);
      return !isHeader;
    }
    const found = hashOfLine(line);
    if (found === undefined) this.#skip("The line does not end with its hash.", undefined);
    else if (!found.fits) this.#skip("The line was changed: its hash does not match.", found.hash);
    else if (this.#hashes.has(found.hash)) this.#problem("The line is a duplicate.");
    else if (typeof seq !== "number") this.#skip("seq must be a number.", found.hash);
    else {
      this.#hashes.add(found.hash);
      if (seq !== this.#seq)
        this.#problem(
          `Expected number ${this.#seq}, found ${seq}: lines are missing or out of order.`,
        );
      else if (this.#prev !== undefined && prev !== this.#prev)
        this.#problem("The line does not follow the previous one: one of them was changed.");
      this.#use(fields);
      this.#seq = seq + 1;
      this.#prev = found.hash;
    }
    return true;
  }

  #use(fields: Readonly<Record<string, unknown>>): void {
    const isFirst = this.#line === 1;
    if (fields["type"] === "journal") {
      const fault = header.fault(fields, "", 0);
      const { removed } = fields;
      if (fault !== undefined) this.#problem(`The header is incomplete: ${fault}.`);
      else if (removed !== undefined)
        this.#problem(
          `A torn line of ${JSON.stringify(removed)} bytes was removed before this one.`,
          "removed",
        );
      return;
    }
    if (isFirst) this.#problem("The header is missing.");
    if (fits(eventShape, fields)) this.events.push(fields);
    else this.#problem(`The event is invalid: ${eventShape.fault(fields, "", 0) ?? ""}.`);
  }

  /** Nothing is known of the line but, perhaps, the hash that the next one has to name. */
  #skip(reason: string, hash: string | undefined): void {
    this.#problem(reason);
    this.#seq += 1;
    this.#prev = hash;
  }

  #problem(reason: string, kind: JournalProblem["kind"] = "damaged"): void {
    this.problems.push({ line: this.#line, reason, kind });
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

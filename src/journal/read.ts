/** A line that can't be used is a problem, and the others are used. */
import { eventCheck, eventTypes, type RunEvent } from "../events/event.ts";
import { isRecord } from "../text/guards.ts";
import { truncate } from "../text/truncate.ts";
import { schemaCheck } from "../document/schema-check.ts";
import {
  count,
  natural,
  optional,
  record,
  text,
  type SchemaType,
  words,
} from "../document/describe.ts";

/** Increased when a reader of the old version would misread the new one. */
const JOURNAL_VERSION = 3;
/** In version 2, lines also have `prev` and `hash`, which are ignored. */
const READ_VERSIONS: readonly unknown[] = [2, JOURNAL_VERSION];
export const JOURNAL_FORMAT = "agent-jobs journal";

export function journalLine(seq: number, fields: object): string {
  return `${JSON.stringify({ v: JOURNAL_VERSION, seq, ...fields })}\n`;
}

/** A difference between a journal and what was written. */
export interface JournalProblem {
  /** 1-based. */
  readonly line: number;
  /** A sentence for people. */
  readonly reason: string;
  /**
   * `torn`: the last line is incomplete, because the process was killed or still runs. `removed`: such a line was
   * removed here when the journal was continued. `empty`: the process was killed before it wrote anything. `unknown`: an intact event of a type that a newer agent-jobs has
   * added. `damaged`: everything else.
   */
  readonly kind: "torn" | "removed" | "empty" | "unknown" | "damaged";
}

/** The contents of a journal. */
export interface ParsedJournal {
  /** The events of all valid lines, in their order. */
  readonly events: readonly RunEvent[];
  /** Problems in the order of the lines. */
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
  readonly nextSeq: number;
  /** False: a file of another kind. It has one problem, not one for each of its lines. */
  readonly isJournal: boolean;
} {
  const reader = new JournalReader();
  const { events, problems } = reader;
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  const torn = lines.every((line) => reader.read(line)) && reader.finish(rest);
  const { isJournal, nextSeq } = reader;
  return { events, problems: isJournal ? problems : [notAJournal], torn, nextSeq, isJournal };
}

export const notAJournal: JournalProblem = {
  line: 1,
  reason: "The file is not a journal.",
  kind: "damaged",
};

/** Whether a file without a whole line may be a journal whose first line is torn. */
function isBeginning(text: string): boolean {
  return READ_VERSIONS.some((version) => {
    const known = `{"v":${String(version)},"seq":0`;
    return known.startsWith(text.slice(0, known.length));
  });
}

const header = record({
  type: words("journal"),
  at: count,
  format: words(JOURNAL_FORMAT),
  removed: optional(natural),
  process: optional(record({ pid: natural, started: text, place: text })),
});
/** The process that writes a journal. */
export type JournalWriter = NonNullable<SchemaType<typeof header>["process"]>;
const headerCheck = schemaCheck<SchemaType<typeof header>>(header, "header", 1);

const MAX_REASON = 500;

/** A journal begins with a header. Nothing of another file, or of another version, is read. */
export class JournalReader {
  /** Events that the caller has not taken yet. */
  readonly events: RunEvent[] = [];
  /** The first ones, in the order of the lines. */
  readonly problems: JournalProblem[] = [];
  moreProblems = 0;
  readonly #mostProblems: number;
  isJournal = false;
  nextSeq = 0;
  /** The process that wrote the next lines; undefined if an earlier version wrote them, which didn't record it. */
  writer: JournalWriter | undefined;
  #line = 0;

  constructor(mostProblems = Infinity) {
    this.#mostProblems = mostProblems;
  }

  /** A whole line, without its LF; undefined for one that is too long to be held. False: nothing that follows can be read. */
  read(line: string | undefined): boolean {
    this.#line += 1;
    const value = line === undefined ? "The line is too long." : parseLine(line);
    if (this.#line === 1 && !this.#begins(value)) return false;
    if (typeof value === "string") return this.#skip(value);
    const { v, seq, prev: _prev, hash: _hash, ...fields } = value;
    if (!READ_VERSIONS.includes(v))
      return this.#skip(`The version is ${shown(v)}, not ${READ_VERSIONS.join(" or ")}.`);
    if (typeof seq !== "number") return this.#skip("seq must be a number.");
    if (seq !== this.nextSeq)
      this.#problem(
        `Expected number ${this.nextSeq}, found ${seq}: lines are missing, repeated or out of order.`,
      );
    this.nextSeq = seq + 1;
    this.#use(fields);
    return true;
  }

  #begins(value: Readonly<Record<string, unknown>> | string): boolean {
    const { type, v }: Readonly<Record<string, unknown>> = Object(value);
    this.isJournal = type === "journal" && v !== undefined;
    const isKnown = READ_VERSIONS.includes(v);
    if (this.isJournal && !isKnown) this.#problem(versionText(v));
    return this.isJournal && isKnown;
  }

  /** To be called once, at the end, with what follows the last LF. Whether that is a torn line. */
  finish(rest: string): boolean {
    const torn = rest !== "";
    this.#line += 1;
    if (this.#line === 1) this.isJournal = !torn || isBeginning(rest);
    if (torn) this.#problem("The line is incomplete.", "torn");
    else if (this.#line === 1) this.#problem("The journal is empty.", "empty");
    return torn;
  }

  #use(fields: Readonly<Record<string, unknown>>): void {
    const { type } = fields;
    if (type === "journal") {
      if (!headerCheck.accepts(fields))
        return this.#problem(`Invalid ${headerCheck.fault(fields)}`);
      this.writer = fields.process;
      if (fields.removed !== undefined)
        this.#problem(
          `A torn line of ${fields.removed} bytes was removed before this one.`,
          "removed",
        );
      return;
    }
    if (typeof type === "string" && !eventTypes.has(type))
      this.#problem(`Unknown event type ${JSON.stringify(type)}.`, "unknown");
    else if (eventCheck.accepts(fields)) this.events.push(fields);
    else this.#problem(`Invalid ${eventCheck.fault(fields)}`);
  }

  #skip(reason: string): true {
    this.#problem(reason);
    this.nextSeq += 1;
    return true;
  }

  #problem(reason: string, kind: JournalProblem["kind"] = "damaged"): void {
    if (this.problems.length === this.#mostProblems) this.moreProblems += 1;
    else this.problems.push({ line: this.#line, reason: truncate(reason, MAX_REASON, "…"), kind });
  }
}

function versionText(version: unknown): string {
  const older = typeof version === "number" && version < JOURNAL_VERSION;
  return `This journal has version ${shown(version)}, of ${older ? "an older" : "another"} agent-jobs; this one reads versions ${READ_VERSIONS.join(" and ")}.`;
}

function shown(version: unknown): string {
  return JSON.stringify(version) ?? "none";
}

function parseLine(line: string): Readonly<Record<string, unknown>> | string {
  try {
    const parsed: unknown = JSON.parse(line);
    return isRecord(parsed) ? parsed : "The line is not a JSON object.";
  } catch {
    return "The line is not JSON.";
  }
}

/** The journals of a folder, but none through a link. A summary of each is kept, no line above `MAX_LINE`. */
import type { Stats } from "node:fs";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RunEvent } from "../events/event.ts";
import { viewsOf, type RunView } from "../events/view.ts";
import { openJournalFile } from "../journal/file.ts";
import { isGone, type ProcessIdentity } from "../platform/run-folder.ts";
import { summaryOf, type JournalInfo, type JournalPage, type RunSummary } from "./run-summary.ts";
import { randomUUID } from "node:crypto";
import * as is from "../document/describe.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { version } from "../generated/version.ts";
import { readSmallFile, writeNewFile } from "../platform/files.ts";
import { isRecord } from "../text/guards.ts";

export const MAX_PAGE = 1000;
const MAX_RUNS = 1000;
/** Bytes. */
const MAX_LINE = 4 * 1024 * 1024;
/** The index is written again after this many bytes of journals were read. */
const WORTH_KEEPING = 1024 * 1024;
const safely = { links: "refused", maxLine: MAX_LINE } as const;

interface PageOptions {
  /** Default: `MAX_PAGE`. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** Only the latest journal that contains this run. */
  readonly run?: string;
}

interface Found {
  readonly name: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export class JournalFolder {
  readonly #path: string;
  #known: Map<string, Known> | undefined;
  /** Files that are being read. */
  readonly #reading = new Map<string, Promise<Known>>();
  #unkept = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** The latest first. Rejects if the folder can't be read. */
  async list({ limit = MAX_PAGE, after, run }: PageOptions = {}): Promise<JournalPage> {
    const files = await this.#files();
    const total = files.length;
    const journals: JournalInfo[] = [];
    const start = after === undefined ? 0 : files.findIndex((file) => isAfter(file, after));
    const rest = start === -1 ? [] : files.slice(start);
    const page = run === undefined ? rest.slice(0, limit) : likelyFirst(files, run);
    for (const file of page) {
      const info = infoOf(file, await this.#summary(file));
      if (run !== undefined && !info.runs.some(({ runId }) => runId === run)) continue;
      journals.push(info);
      if (run !== undefined) break;
    }
    await this.#keep(files);
    const last = run === undefined && page.length < rest.length ? page.at(-1) : undefined;
    return { journals, total, ...(last && { next: cursorOf(last) }) };
  }

  /** The events of a journal as NDJSON, in pieces; undefined if the folder has no such journal. */
  async read(name: string): Promise<AsyncIterable<string> | undefined> {
    if (!isJournalName(name)) return undefined;
    try {
      return asNdjson((await openJournalFile(join(this.#path, name), safely)).events);
    } catch {
      return undefined;
    }
  }

  async #files(): Promise<readonly Found[]> {
    const names = (await readdir(this.#path)).filter(isJournalName);
    const stats = await Promise.all(
      names.map((name) => lstat(join(this.#path, name)).catch(() => undefined)),
    );
    const found = names.flatMap((name, index) => foundAs(name, stats[index]));
    return found.sort((a, b) => timeOf(b) - timeOf(a) || (a.name < b.name ? -1 : 1));
  }

  /** Calls at the same time share what they read. */
  async #summary(file: Found): Promise<Known> {
    const known = (this.#known ??= readIndex(this.#path));
    const before = known.get(file.name);
    if (before?.size === file.size && before.mtimeMs === file.mtimeMs) return before;
    const key = JSON.stringify(file);
    const reading =
      this.#reading.get(key) ?? this.#summarize(file).finally(() => void this.#reading.delete(key));
    this.#reading.set(key, reading);
    const summary = await reading;
    known.set(file.name, summary);
    return summary;
  }

  async #keep(files: readonly Found[]): Promise<void> {
    const known = this.#known;
    if (this.#unkept < WORTH_KEEPING || known === undefined) return;
    this.#unkept = 0;
    const names = new Set(files.map(({ name }) => name));
    for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    await writeIndex(this.#path, known);
  }

  async #summarize({ name, size, mtimeMs }: Found): Promise<Known> {
    const views = new Map<string, RunView>();
    const writers = new Map<string, ProcessIdentity | undefined>();
    let [problems, writer] = [1, undefined as ProcessIdentity | undefined];
    try {
      const reading = await openJournalFile(join(this.#path, name), safely);
      for await (const events of reading.events) {
        writer = reading.writer();
        for (const { runId } of events) if (!writers.has(runId)) writers.set(runId, writer);
        viewsOf(events, views);
      }
      const found = reading.condition();
      problems = found.problems.length + found.moreProblems;
    } catch {
      // It can't be read, or was removed just now.
    }
    this.#unkept += size;
    const shown = [...views.values()].slice(-MAX_RUNS);
    const open = shown.flatMap(({ runId, endedAt }) => {
      const own = writers.get(runId);
      return endedAt === undefined && own !== undefined ? [[runId, own] as const] : [];
    });
    return {
      size,
      mtimeMs,
      runs: shown.map((view) => {
        const summary = summaryOf(view);
        const isLeft = view.endedAt === undefined && writers.get(view.runId) !== writer;
        // Another process has continued the file.
        return isLeft ? { ...summary, status: "interrupted" } : summary;
      }),
      problems,
      writers: Object.fromEntries(open),
    };
  }
}

function foundAs(name: string, stats: Stats | undefined): readonly Found[] {
  return stats?.isFile() === true ? [{ name, size: stats.size, mtimeMs: stats.mtimeMs }] : [];
}

/** Whether the process still runs can change at any time, so it is not kept. */
function infoOf({ name, size, mtimeMs }: Found, { runs, problems, writers }: Known): JournalInfo {
  return {
    name,
    size,
    modified: new Date(mtimeMs).toISOString(),
    runs: runs.map((one) => {
      const writer = Object.hasOwn(writers, one.runId) ? writers[one.runId] : undefined;
      const isLeft = one.status === "running" && writer !== undefined && isGone(writer);
      return isLeft ? { ...one, status: "interrupted" } : one;
    }),
    problems,
  };
}

/** Names of journals that a server has written contain the id of the run. */
function likelyFirst(files: readonly Found[], run: string): readonly Found[] {
  const named = files.filter(({ name }) => name.includes(run));
  return [...named, ...files.filter((file) => !named.includes(file))];
}

function timeOf({ mtimeMs }: Found): number {
  return Math.trunc(mtimeMs);
}

function cursorOf(file: Found): string {
  return `${timeOf(file)}-${file.name}`;
}

function isAfter(file: Found, cursor: string): boolean {
  const [time = "", ...name] = cursor.split("-");
  const difference = timeOf(file) - Number(time);
  return difference < 0 || (difference === 0 && file.name > name.join("-"));
}

function isJournalName(name: string): boolean {
  return name.endsWith(".jsonl") && !/[/\\\0]/.test(name);
}

async function* asNdjson(parts: AsyncIterable<readonly RunEvent[]>): AsyncIterable<string> {
  for await (const part of parts) yield part.map((event) => `${JSON.stringify(event)}\n`).join("");
}

/**
 * The summary of a file in the index beside the journals of a folder, so that a server that starts reads only the changed
 * ones. It is valid for the size and time of its file. Without the index, all journals are read again.
 */
interface Known {
  readonly size: number;
  readonly mtimeMs: number;
  readonly runs: readonly RunSummary[];
  readonly problems: number;
  /** The processes that write the unfinished runs, by the ids of the runs. */
  readonly writers: Readonly<Record<string, ProcessIdentity>>;
}

const NAME = ".agent-jobs-journals.json";
const MAX_BYTES = 64 * 1024 * 1024;

const run = is.record({
  runId: is.text,
  jobName: is.text,
  status: is.words("running", "interrupted", "succeeded", "failed", "canceled", "skipped"),
  rehearsed: is.optional(is.yes),
  startTime: is.optional(is.text),
  endTime: is.optional(is.text),
  durationMs: is.amount,
  unpriced: is.optional(is.list(is.text)),
  reason: is.optional(is.text),
  modelCalls: is.count,
  inputTokens: is.count,
  outputTokens: is.count,
  cost: is.amount,
  attempts: is.count,
  retries: is.count,
  crashes: is.count,
  denials: is.count,
  resumed: is.optional(is.record({ runId: is.text, cost: is.amount })),
});
const known = is.record({
  size: is.count,
  mtimeMs: is.amount,
  runs: is.list(run),
  problems: is.count,
  writers: is.dictionary(is.record({ pid: is.natural, started: is.text, place: is.text })),
});
const check = schemaCheck<is.TypeOf<typeof known>>(known, "entry", 1);

/** The entries by file name. Empty if there is no index of this version. */
function readIndex(folder: string): Map<string, Known> {
  const found = new Map<string, Known>();
  try {
    const bytes = readSmallFile(join(folder, NAME), MAX_BYTES, "refused");
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (isRecord(value) && value["version"] === version && isRecord(value["journals"]))
      for (const [name, entry] of Object.entries(value["journals"]))
        if (check.accepts(entry)) found.set(name, entry);
  } catch {
    // An unusable index is built anew.
  }
  return found;
}

/** Replaces the index as a whole, so that another process reads the old or the new one. A folder may refuse it. */
async function writeIndex(folder: string, journals: ReadonlyMap<string, Known>): Promise<void> {
  const draft = join(folder, `${NAME}.${randomUUID()}`);
  try {
    const index = { version, journals: Object.fromEntries(journals) };
    await writeNewFile(draft, JSON.stringify(index));
    await rename(draft, join(folder, NAME));
  } catch {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

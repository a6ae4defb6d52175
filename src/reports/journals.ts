/** The journals of a folder, but none through a link. A summary of each is kept, no line above `MAX_LINE`. */
import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunEvent } from "../events/event.ts";
import { openJournalFile, readJournalFile } from "../journal/file.ts";
import { viewsOf, type RunView } from "../events/view.ts";
import { summaryOf, type JournalInfo } from "./run-summary.ts";

const MAX_JOURNALS = 1000;
const MAX_RUNS = 1000;
/** Bytes. */
const MAX_LINE = 4 * 1024 * 1024;
const safely = { links: "refused", maxLine: MAX_LINE } as const;

interface Known {
  readonly size: number;
  readonly mtimeMs: number;
  readonly info: JournalInfo;
}

export class JournalFolder {
  readonly #path: string;
  #known = new Map<string, Known>();
  #listing: Promise<readonly JournalInfo[]> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The latest first. Rejects if the folder can't be read. Calls at the same time share one answer. */
  list(): Promise<readonly JournalInfo[]> {
    this.#listing ??= this.#list().finally(() => (this.#listing = undefined));
    return this.#listing;
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

  async #list(): Promise<readonly JournalInfo[]> {
    const found: { readonly name: string; readonly stats: Stats }[] = [];
    for (const name of await readdir(this.#path)) {
      if (!isJournalName(name)) continue;
      const stats = await lstat(join(this.#path, name)).catch(() => undefined);
      if (stats?.isFile() === true) found.push({ name, stats });
    }
    found.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs || (a.name < b.name ? -1 : 1));
    const known = new Map<string, Known>();
    for (const { name, stats } of found.slice(0, MAX_JOURNALS)) {
      const { size, mtimeMs } = stats;
      const before = this.#known.get(name);
      known.set(
        name,
        before?.size === size && before.mtimeMs === mtimeMs
          ? before
          : { size, mtimeMs, info: await this.#summarize(name, stats) },
      );
    }
    this.#known = known;
    return [...known.values()].map(({ info }) => info);
  }

  async #summarize(name: string, { size, mtime }: Stats): Promise<JournalInfo> {
    const views = new Map<string, RunView>();
    const path = join(this.#path, name);
    const problems = await readJournalFile(
      path,
      (events) => void viewsOf(events, views),
      safely,
    ).then(
      (found) => found.problems.length + found.moreProblems,
      // It can't be read, or was removed just now.
      () => 1,
    );
    const runs = [...views.values()].slice(-MAX_RUNS).map(summaryOf);
    return { name, size, modified: mtime.toISOString(), runs, problems };
  }
}

function isJournalName(name: string): boolean {
  return name.endsWith(".jsonl") && !/[/\\\0]/.test(name);
}

async function* asNdjson(parts: AsyncIterable<readonly RunEvent[]>): AsyncIterable<string> {
  for await (const part of parts) yield part.map((event) => `${JSON.stringify(event)}\n`).join("");
}

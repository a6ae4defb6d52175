/** A report of journals, which are never in memory as a whole: several are read twice, first to find the runs. */
import { once } from "node:events";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createGzip, type Gzip } from "node:zlib";
import type { RunEvent } from "../events/event.ts";
import { readJournalFile, type JournalCondition } from "../journal/file.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { ReportJournal, ReportRun } from "./html/boot.ts";
import { isDismissed } from "../events/output-shapes.ts";
import { isFailure, viewsOf, wasRetried, type RunView } from "../events/view.ts";
import { summaryOf, type RunSummary } from "./run-summary.ts";

export interface JournalsReport {
  readonly journals: readonly ReportJournal[];
  readonly runs: readonly ReportRun[];
  /** gzip of NDJSON. */
  readonly events: readonly Uint8Array[];
  /** Nothing is wrong but, perhaps, an incomplete last line or an event of an unknown type. */
  readonly intact: boolean;
  readonly readable: boolean;
}

export interface FoundRun {
  readonly run: ReportRun;
  readonly view: RunView;
}

/** The files that are meant, each once: folders stand for the `*.jsonl` in them, and in their folders. Rejects with the reason. */
export async function journalFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files = new Map<string, string>();
  for (const path of paths) {
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    const inside = found?.isDirectory() === true ? await journalsIn(path) : [path];
    for (const file of inside) {
      const { dev, ino } = await stat(file, { bigint: true }).catch(() => ({ dev: file, ino: "" }));
      const key = `${dev}:${ino}`;
      if (!files.has(key)) files.set(key, file);
    }
  }
  return [...files.values()];
}

async function journalsIn(folder: string): Promise<readonly string[]> {
  // Each artifact of a matrix is a folder of its own.
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.name.endsWith(".jsonl") && !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The runs without their events, the earliest first. `archive`: takes the events, too. */
export async function runsOfJournals(files: readonly string[], archive?: EventArchive) {
  const journals = [];
  for (const name of files) journals.push({ name, ...(await findRuns(name, archive)) });
  return {
    runs: mergeRuns(journals.map(({ views }) => views)),
    journals: journals.map(({ name, problems, moreProblems }) => ({
      name,
      problems,
      moreProblems,
    })),
    readable: journals.some(({ isJournal }) => isJournal),
    intact: journals.every(
      ({ problems, moreProblems }) =>
        moreProblems === 0 && problems.every(({ kind }) => kind !== "damaged"),
    ),
  };
}

export async function reportOfJournals(files: readonly string[]): Promise<JournalsReport> {
  const archive = new EventArchive();
  const isOnly = files.length === 1;
  const { runs: found, ...read } = await runsOfJournals(files, isOnly ? archive : undefined);
  const runs = found.map(({ run }) => run);
  for (const [index, { name }] of isOnly ? [] : read.journals.entries()) {
    const ours = new Set(runs.filter((run) => run.journals[0] === index).map(({ runId }) => runId));
    if (ours.size > 0)
      await readJournalFile(name, (events) =>
        archive.addAll(events.filter(({ runId }) => ours.has(runId))),
      );
  }
  return { ...read, runs, events: await archive.finish() };
}

async function findRuns(
  path: string,
  archive: EventArchive | undefined,
): Promise<JournalCondition & { views: ReadonlyMap<string, RunView> }> {
  const views = new Map<string, RunView>();
  try {
    const condition = await readJournalFile(path, (events) => {
      viewsOf(events, views);
      return archive?.addAll(events);
    });
    return { ...condition, views };
  } catch (error) {
    // The report shows what was read before.
    const reason = `The journal can't be read: ${errorMessage(error)}`;
    const problem = { line: 1, reason, kind: "damaged" } as const;
    return { problems: [problem], moreProblems: 0, isJournal: false, views };
  }
}

/** A run that several journals contain is taken from the one that has most of it. */
function mergeRuns(journals: readonly ReadonlyMap<string, RunView>[]): readonly FoundRun[] {
  const runs = new Map<string, FoundRun & { readonly run: { readonly journals: number[] } }>();
  const places = journals
    .flatMap((views, index) => [...views.values()].map((view) => ({ view, index })))
    .sort((a, b) => b.view.events - a.view.events);
  for (const { view, index } of places) {
    const known = runs.get(view.runId);
    if (known === undefined)
      runs.set(view.runId, { run: { ...summaryOf(view), journals: [index] }, view });
    else known.run.journals.push(index);
  }
  const startOf = ({ run }: FoundRun): string => run.startTime ?? "";
  return [...runs.values()].sort((a, b) => startOf(a).localeCompare(startOf(b)));
}

/** Lines are handed to the compressor in parts of about this many bytes. */
const PART = 256 * 1024;

/** Events as NDJSON, compressed while they come, so that little is held of many. */
export class EventArchive {
  readonly #gzip: Gzip = createGzip();
  readonly #bytes: Uint8Array[] = [];
  readonly #ended: Promise<unknown>;
  #lines: Buffer[] = [];
  #length = 0;

  constructor() {
    this.#gzip.on("data", (bytes: Uint8Array) => this.#bytes.push(bytes));
    this.#ended = once(this.#gzip, "end");
    // `finish` rejects with the error.
    this.#ended.catch(() => {});
  }

  add(event: RunEvent): void {
    // Lines are encoded one by one: joined with characters beyond Latin-1, a line takes several times as long.
    const line = Buffer.from(`${JSON.stringify(event)}\n`);
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= PART) this.#compress();
  }

  /** Resolves when the compressor has caught up. */
  async addAll(events: readonly RunEvent[]): Promise<void> {
    for (const event of events) this.add(event);
    if (this.#gzip.writableNeedDrain) await once(this.#gzip, "drain");
  }

  async finish(): Promise<readonly Uint8Array[]> {
    this.#compress();
    this.#gzip.end();
    await this.#ended;
    return this.#bytes;
  }

  #compress(): void {
    if (this.#lines.length > 0) this.#gzip.write(Buffer.concat(this.#lines));
    this.#lines = [];
    this.#length = 0;
  }
}

/** Facts about the runs of many journals together. */
export interface History {
  /** The earliest first. */
  readonly runs: readonly RunSummary[];
  /** Tasks that failed or were retried in some runs, and in others they succeeded at once, although they were the same. */
  readonly flaky: readonly FlakyTask[];
  readonly findings: FindingFates;
}

export interface FlakyTask {
  readonly job: string;
  readonly task: string;
  readonly runs: number;
  readonly failed: number;
  readonly retried: number;
}

/** The fates of findings on pull requests, by the latest run of each that has read the conversation. */
export interface FindingFates {
  readonly open: number;
  /** Closed because a later run said so, or their lines are gone. */
  readonly resolved: number;
  /** Closed by a person. */
  readonly dismissed: number;
  /** The number of dismissed findings of each rule. */
  readonly dismissedByRule: Readonly<Record<string, number>>;
}

export function historyOf(found: readonly FoundRun[]): History {
  const views = found.map(({ view }) => view).filter(({ rehearsed }) => !rehearsed);
  return {
    runs: found.map(({ view }) => summaryOf(view)),
    flaky: flakyTasks(views),
    findings: fatesOf(views),
  };
}

function flakyTasks(views: readonly RunView[]): readonly FlakyTask[] {
  const tallies = new Map<string, { -readonly [Name in keyof FlakyTask]: FlakyTask[Name] }>();
  for (const { jobName: job, plan, works } of views) {
    for (const work of works.values()) {
      const ended = work.status === "succeeded" || isFailure(work);
      if (!ended || work.condition || work.modelId === "") continue;
      const { taskId: task } = work;
      // A task that was changed since is another one.
      const fingerprint = plan?.fingerprints?.tasks[task] ?? plan?.entryFingerprint;
      const key = JSON.stringify([job, task, fingerprint]);
      const tally = tallies.get(key) ?? { job, task, runs: 0, failed: 0, retried: 0 };
      tallies.set(key, tally);
      tally.runs += 1;
      if (isFailure(work)) tally.failed += 1;
      if (wasRetried(work)) tally.retried += 1;
    }
  }
  return [...tallies.values()]
    .filter(({ runs, failed, retried }) => retried > 0 || (failed > 0 && failed < runs))
    .sort((a, b) => b.failed + b.retried - (a.failed + a.retried));
}

function fatesOf(views: readonly RunView[]): FindingFates {
  const latest = new Map<string, RunView>();
  for (const view of views) {
    const { origin, conversation } = view.plan ?? {};
    if (origin === undefined || conversation === undefined) continue;
    const { repository, number, leg } = origin;
    latest.set(JSON.stringify([repository, number, view.jobName, leg]), view);
  }
  const all = [...latest.values()].flatMap(({ plan }) => plan?.conversation?.findings ?? []);
  const dismissed = all.filter(isDismissed);
  const rules = new Map<string, number>();
  for (const { rule } of dismissed) rules.set(rule, (rules.get(rule) ?? 0) + 1);
  return {
    open: all.filter(({ thread }) => thread === "open").length,
    resolved: all.filter((one) => one.thread === "resolved" && !isDismissed(one)).length,
    dismissed: dismissed.length,
    dismissedByRule: Object.fromEntries([...rules].sort(([, a], [, b]) => b - a)),
  };
}

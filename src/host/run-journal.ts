/** Opens the journal of a run: a file, or a journal of that name in the store of the host. */
import { join, resolve } from "node:path";
import type { Reporter } from "../events/sink.ts";
import { createJournal } from "../journal/write.ts";
import type { Clock } from "../platform/clock.ts";
import { plainName } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { asOption, unable } from "../run/options.ts";
import { lockJournal, type RunOptions } from "../run/prepare.ts";
import { checkRecords, closeOnError, openRecords, type RunRecord } from "../run/records.ts";
import type { Host } from "../run/host.ts";
import type { JobHostOptions } from "./host-options.ts";

interface JournalOwner {
  readonly host: Pick<Host, "redactor">;
  readonly clock: Clock;
  readonly options: Pick<JobHostOptions, "journalStore">;
  /** Files that no file tool writes to. */
  readonly kept: string[];
}

export interface RunJournal {
  readonly reporters: readonly RunRecord[];
  readonly release: () => void;
}

/** Throws a `UsageError` if it can't be written, or if another run of this machine resumes the same journal. */
export async function openRunJournal(
  start: Pick<RunOptions, "journal" | "journals" | "resume" | "shard">,
  { host, clock, options: { journalStore: store }, kept }: JournalOwner,
): Promise<RunJournal> {
  const { journal, journals = [], resume } = start;
  if (store !== undefined) {
    if (journal === undefined) return { reporters: [], release: () => {} };
    const { openStoredJournal } = await import("../journal/stored.ts");
    const opening = openStoredJournal(store, journal, () => clock.now());
    return { reporters: [await opening.catch(unable("write the journal"))], release: () => {} };
  }
  checkRecords([resume, ...journals], { journal });
  const unlock = lockJournal({ ...start, write: asOption });
  const file = journal === undefined ? [] : [resolve(journal)];
  kept.push(...file);
  const release = (): void => {
    unlock();
    for (const path of file) kept.splice(kept.indexOf(path), 1);
  };
  try {
    return { reporters: await openRecords({ journal }, host), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Runs `start`, which owns the journal from then on, unless it throws. */
export function withJournal<T>(journal: RunJournal, start: () => T | Promise<T>): Promise<T> {
  return closeOnError(journal.reporters, start).catch((error: unknown) => {
    journal.release();
    throw error;
  });
}

/** A journal that can't be written ends no run: it is reported as incomplete. */
export function openJournalIn(
  folder: string,
  jobName: string,
  runId: string,
  now: number,
): Reporter {
  const start = new Date(now).toISOString().replaceAll(/[:]|\.\d+/g, "");
  try {
    return createJournal(join(folder, `${plainName(jobName, 40)}-${start}-${runId}.jsonl`));
  } catch (error) {
    const report = (): never => {
      throw new Error(errorMessage(error), { cause: error });
    };
    return { name: "journal", essential: true, report };
  }
}

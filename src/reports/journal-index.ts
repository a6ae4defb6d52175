/**
 * An index beside the journals of a folder, so that a server that starts reads only the changed ones. An entry is valid
 * for the size and time of its file. Without the index, all journals are read again.
 */
import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import * as is from "../document/describe.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { version } from "../generated/version.ts";
import { readSmallFile, writeNewFile } from "../platform/files.ts";
import type { ProcessIdentity } from "../platform/run-folder.ts";
import { isRecord } from "../text/guards.ts";
import type { RunSummary } from "./run-summary.ts";

/** A summary of a file. */
export interface Known {
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
export function readIndex(folder: string): Map<string, Known> {
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
export async function writeIndex(
  folder: string,
  journals: ReadonlyMap<string, Known>,
): Promise<void> {
  const draft = join(folder, `${NAME}.${randomUUID()}`);
  try {
    const index = { version, journals: Object.fromEntries(journals) };
    await writeNewFile(draft, JSON.stringify(index));
    await rename(draft, join(folder, NAME));
  } catch {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

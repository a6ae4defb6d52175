/** `agent-jobs report`: journals in, one HTML file out. */
import { open, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { readJournalFile } from "../journal/file.ts";
import { systemClock } from "../platform/system-clock.ts";
import { makeDirectory } from "../platform/files.ts";
import { errorMessage, fileErrorMessage } from "../platform/system-error.ts";
import type { ReportJournal } from "../reports/html/boot.ts";
import { journalFiles, reportOfJournals } from "../reports/from-journals.ts";
import { reportHtml } from "../reports/html/html.ts";
import { findPageFiles } from "../reports/html/page.ts";
import { UsageError } from "./options.ts";
import { checkOutputs } from "./options-paths.ts";
import { version } from "../generated/version.ts";

export interface MadeReport {
  /** With what is wrong with each. */
  readonly journals: readonly ReportJournal[];
  readonly runs: number;
  /** Nothing is missing in the report that was in the journals. */
  readonly intact: boolean;
  readonly html: Iterable<string>;
}

/** Throws a `UsageError` if nothing can be shown. `output`: the file that will be written, if it is one. */
export async function makeReport(
  paths: readonly string[],
  output: string | undefined,
): Promise<MadeReport> {
  const files = await journalFiles(paths).catch((error: unknown) => {
    throw new UsageError(`Can't read the journals: ${errorMessage(error)}`);
  });
  if (files.length === 0)
    throw new UsageError(`There are no *.jsonl files in ${paths.join(", ")}.`);
  if (output !== undefined) {
    checkOutputs(files, { report: output });
    await refuseJournal(output);
  }
  const report = await reportOfJournals(files);
  const { journals, runs, events, intact, readable } = report;
  if (!readable) {
    const reasons = journals.map(({ name, problems: [problem] }) => `${name}: ${problem?.reason}`);
    throw new UsageError(`No journal can be read.\n${reasons.join("\n")}`);
  }
  const page = findPageFiles();
  if (page === undefined) throw new Error(MISSING_PAGE);
  const createdAt = new Date(systemClock.now()).toISOString();
  const html = reportHtml({ kind: "report", version, createdAt, journals, runs }, events, page);
  return { journals, runs: runs.length, intact, html };
}

/** A slip in the arguments must not cost the record of a run. */
async function refuseJournal(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return;
  const { isJournal } = await readJournalFile(path, () => {}, { maxBytes: BEGINNING_BYTES });
  if (found.size > 0 && isJournal)
    throw new UsageError(`The report would overwrite the journal ${path}. Choose another file.`);
}

/** A build without `npm run page`. */
export const MISSING_PAGE = "The files of the page, page.js and page.css, are missing.";

const BEGINNING_BYTES = 1024 * 1024;

/** Missing folders are made. A report that can't be written as a whole is removed. */
export async function writeReport(path: string, html: Iterable<string>): Promise<void> {
  try {
    await makeDirectory(dirname(path));
    const file = await open(path, "w");
    try {
      for (const part of html) await file.writeFile(part);
    } catch (error) {
      if ((await file.stat()).isFile()) await unlink(path);
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new UsageError(`Can't write the report ${path}: ${fileErrorMessage(error)}`);
  }
}

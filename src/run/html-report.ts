/** Runs as one HTML file: the run under way (`report.html` of `--output-dir`), or those of journals (`agent-jobs report`). */
import { open, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import type { Reporter } from "../events/sink.ts";
import { version } from "../generated/version.ts";
import { openJournalFile } from "../journal/file.ts";
import { isKept } from "../journal/write.ts";
import { makeDirectory } from "../platform/files.ts";
import { OwnFile } from "../platform/own-file.ts";
import { systemClock } from "../platform/system-clock.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { EventArchive, journalFiles, reportOfJournals } from "../reports/from-journals.ts";
import type { ReportBoot, ReportJournal, ReportRun } from "../reports/html/boot.ts";
import { reportHtml } from "../reports/html/html.ts";
import { findPageFiles, type PageFiles } from "../reports/html/page.ts";
import { summaryOf } from "../reports/run-summary.ts";
import type { RunView } from "../events/view.ts";
import { unable, UsageError } from "./options.ts";
import { checkOutputs } from "./options-paths.ts";

/** Written when the run has ended; until then the file stays as it was. Throws if the file can't be written. */
export function createHtmlReport(path: string): Reporter & {
  abandon(): void;
  saveUnfinished(): Promise<void>;
} {
  // Now, so that an unwritable file is found before a long run and not after it.
  const file = new OwnFile("HTML report", path);
  const archive = new EventArchive();
  let shown: RunView | undefined;
  let written: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    // The texts of the page are large: a run without a report never reads them.
    const page = pageFiles();
    const events = await archive.finish();
    const runs = shown === undefined ? [] : [{ ...summaryOf(shown), journals: [] }];
    file.writeAll(reportHtml(bootOf([], runs), events, page));
    await file.close();
  };
  const writeOnce = (): Promise<void> => (written ??= write());
  return {
    name: "HTML report",
    essential: true,
    takesPast: true,
    abandon: () => file.abandon(),
    report(event, view) {
      if (written !== undefined || !isKept(event)) return;
      archive.add(event);
      shown = view;
    },
    close: writeOnce,
    saveUnfinished: () => writeOnce().catch(() => undefined),
  };
}

export interface MadeReport {
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
  const files = await journalFiles(paths).catch(unable("read the journals"));
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
  const html = reportHtml(bootOf(journals, runs), events, pageFiles());
  return { journals, runs: runs.length, intact, html };
}

function bootOf(journals: readonly ReportJournal[], runs: readonly ReportRun[]): ReportBoot {
  const createdAt = new Date(systemClock.now()).toISOString();
  return { kind: "report", version, createdAt, journals, runs };
}

/** A slip in the arguments must not cost the record of a run, whatever its file is called. */
async function refuseJournal(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true || found.size === 0) return;
  const reading = await openJournalFile(path);
  for await (const _first of reading.events) break;
  if (reading.condition().isJournal)
    throw new UsageError(`The report would overwrite the journal ${path}. Choose another file.`);
}

/** Throws in a build without the page. */
function pageFiles(): PageFiles {
  const page = findPageFiles();
  if (page !== undefined) return page;
  throw new Error("The files of the page, page.js and page.css, are missing.");
}

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

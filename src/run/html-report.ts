import type { Reporter } from "../events/sink.ts";
import { isKept } from "../journal/write.ts";
import { systemClock } from "../platform/system-clock.ts";
import { OwnFile } from "../platform/own-file.ts";
import { EventArchive } from "../reports/event-archive.ts";
import { reportHtml } from "../reports/html/html.ts";
import { findPageFiles } from "../reports/html/page.ts";
import { RunTallies } from "../reports/run-summary.ts";
import { MISSING_PAGE } from "./journals-report.ts";
import { version } from "../generated/version.ts";

/**
 * Keeps a run as one HTML file, written when the run has ended; until then the file stays as it was. Throws if the
 * file can't be written.
 */
export function createHtmlReport(path: string): Reporter & {
  abandon(): void;
  /** Writes the report with the events so far. */
  saveUnfinished(): Promise<void>;
} {
  // Now, so that an unwritable file is found before a long run and not after it.
  const file = new OwnFile("HTML report", path);
  const archive = new EventArchive();
  const tallies = new RunTallies();
  let written: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    // The texts of the page are large: a run without a report never reads them.
    const page = findPageFiles();
    if (page === undefined) throw new Error(MISSING_PAGE);
    const events = await archive.finish();
    const boot = {
      kind: "report",
      version,
      createdAt: new Date(systemClock.now()).toISOString(),
      journals: [],
      runs: tallies.summaries().map((run) => ({ ...run, journals: [] })),
    } as const;
    file.writeAll(reportHtml(boot, events, page));
    await file.close();
  };
  const writeOnce = (): Promise<void> => (written ??= write());
  return {
    name: "HTML report",
    essential: true,
    abandon: () => file.abandon(),
    report(event) {
      if (written !== undefined || !isKept(event)) return;
      archive.add(event);
      tallies.add([event]);
    },
    close: writeOnce,
    saveUnfinished: () => writeOnce().catch(() => undefined),
  };
}

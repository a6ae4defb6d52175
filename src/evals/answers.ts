/** The answers of failed runs, from their journals. */
import { join } from "node:path";
import { viewsOf, type RunView } from "../events/view.ts";
import { readJournalFile } from "../journal/file.ts";
import { errorMessage } from "../platform/system-error.ts";
import { givenOutputs, reportsOf } from "../rehearsal/seen-outputs.ts";
import { truncate } from "../text/truncate.ts";
import { journalName } from "./results.ts";
import type { EvalSummary } from "./summary.ts";

export interface Answer {
  readonly run: number;
  readonly failures: readonly string[];
  /** The path in the output directory. */
  readonly journal: string;
  readonly text: string;
}
/** The answers by the key of the case, which the report shows side by side. */
export type Answers = ReadonlyMap<string, readonly Answer[]>;

/** The limit of one report. All journals are kept. */
const MOST_CASES = 100;

export async function answersOf({ cases }: EvalSummary, outputDir: string): Promise<Answers> {
  const all = new Map<string, readonly Answer[]>();
  const failed = cases.filter(({ failedRuns }) => failedRuns.length > 0).slice(0, MOST_CASES);
  for (const { key, failedRuns } of failed) {
    const answers = failedRuns.map(async (one) => {
      const journal = journalName({ key, ...one });
      return { ...one, journal, text: await answerIn(join(outputDir, journal)) };
    });
    all.set(key, await Promise.all(answers));
  }
  return all;
}

async function answerIn(journal: string): Promise<string> {
  const views = new Map<string, RunView>();
  try {
    await readJournalFile(journal, (events) => void viewsOf(events, views));
  } catch (error) {
    return `The journal can't be read: ${errorMessage(error)}`;
  }
  return truncate([...views.values()].map(answerOf).join("\n\n"), 4_000, "…");
}

/** The results of a run, or the last messages of its tasks if it has none. */
function answerOf(view: RunView): string {
  const reports = [...reportsOf(view)].map(([task, markdown]) => `${task}:\n${markdown}`);
  const fields = Object.entries(givenOutputs(view)).map(
    ([name, value]) => `${name}: ${JSON.stringify(value, null, 2)}`,
  );
  const said = [...view.works.values()].flatMap(({ taskId, lastMessage }) =>
    lastMessage === undefined ? [] : [`${taskId}:\n${lastMessage}`],
  );
  const handedIn = [...reports, ...fields];
  return (handedIn.length > 0 ? handedIn : said).join("\n\n");
}

import { join } from "node:path";
import type { Reporter } from "../events/sink.ts";
import { createJournal } from "../journal/write.ts";
import { plainName } from "../platform/output-folder.ts";
import { errorMessage } from "../platform/system-error.ts";

/** A journal that can't be written ends no run: it is reported as incomplete. */
export function openJournalIn(
  folder: string,
  jobName: string,
  runId: string,
  now: number,
): Reporter {
  const name = plainName(jobName, 40);
  const start = new Date(now).toISOString().replaceAll(/[:]|\.\d+/g, "");
  try {
    return createJournal(join(folder, `${name}-${start}-${runId}.jsonl`));
  } catch (error) {
    const report = (): never => {
      throw new Error(errorMessage(error), { cause: error });
    };
    return { name: "journal", essential: true, report };
  }
}

/** `$failed-checks` of a job: found once, before it runs, and only for one whose prompts name it. */
import type { PreparedEntry, Work } from "../entry/model.ts";
import { usesFailedChecks } from "../entry/reached.ts";
import { readableChecks, type FailedCheck } from "../events/failed-checks.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { errorMessage } from "../platform/system-error.ts";
import { UsageError } from "./options.ts";

export interface FailedChecksOptions {
  /** Undefined: the run isn't about any. A rehearsal doesn't ask it. Default: it isn't. */
  readonly findFailedChecks?: (() => Promise<readonly FailedCheck[] | undefined>) | undefined;
}

interface Wanted {
  readonly entry: PreparedEntry;
  readonly work: Work<number> | undefined;
  readonly script: Script | undefined;
  readonly options: FailedChecksOptions;
}

/** Undefined: no prompt names them, or the run isn't about any. Throws a `UsageError` if they can't be read. */
export async function failedChecksOfJob({
  entry,
  work,
  script,
  options: { findFailedChecks },
}: Wanted): Promise<readonly FailedCheck[] | undefined> {
  if (work === undefined || !usesFailedChecks(entry, work)) return undefined;
  if (script !== undefined) {
    const { file, github } = script;
    if (github?.failedChecks !== undefined) return readableChecks(github.failedChecks);
    throw new UsageError(
      `The job uses $failed-checks, and ${file} has none. Add \`github: { failedChecks: [] }\` to it.`,
    );
  }
  try {
    const found = await findFailedChecks?.();
    return found && readableChecks(found);
  } catch (error) {
    throw new UsageError(`The job uses $failed-checks: ${errorMessage(error)}.`);
  }
}

/** Reports for the tests of the page: journals, made into a file by the real command line. */
import type { TestContext } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { RunEvent } from "../../src/events/event.ts";
import { createJournal } from "../../src/journal/write.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { tell } from "../rig/tell.ts";

/** Writes the journals (name → events) and a report of them: its `file:` address. */
export async function writeReport(
  t: Pick<TestContext, "after">,
  journals: Readonly<Record<string, readonly RunEvent[]>>,
): Promise<string> {
  const { path } = await makeWorkspace(t);
  for (const [name, events] of Object.entries(journals)) {
    const journal = createJournal(join(path, name));
    tell(journal, ...events);
    await journal.close?.();
  }
  const { code, stderr } = await runCli(["report", ...Object.keys(journals), "-o", "report.html"], {
    cwd: path,
  });
  if (code !== 0) throw new Error(`agent-jobs report ended with ${code}: ${stderr}`);
  return pathToFileURL(join(path, "report.html")).href;
}

/** A copy of a run under another id, name and time. */
export function renamed(
  events: readonly RunEvent[],
  { runId, jobName, shift = 0 }: { runId: string; jobName?: string; shift?: number },
): readonly RunEvent[] {
  return events.map((event) => ({
    ...event,
    at: event.at + shift,
    runId,
    ...(event.type === "run.started" && jobName !== undefined ? { jobName } : {}),
  }));
}

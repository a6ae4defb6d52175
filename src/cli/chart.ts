import { chooseJob, readEntry, readWorkflow } from "../run/entry-files.ts";
import { isWorkflowFile } from "../run/workflow-files.ts";
import { unable, UsageError } from "../run/options.ts";
import { generateChartNodes } from "../entry/chart.ts";
import { renderMermaid } from "../entry/mermaid.ts";
import { viewsOf, type RunView } from "../events/view.ts";
import { readJournalFile } from "../journal/file.ts";
import { chartOf, printFlow } from "../reports/flow-chart.ts";
import { flowChartOf } from "../workflow/describe.ts";
import { findEntry } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export async function chart(
  io: Io,
  given: string | undefined,
  job: string | undefined,
  flags: OptionsOf<"chart">,
): Promise<ExitCode> {
  if (flags.journal !== undefined) {
    if (given !== undefined)
      throw new UsageError("Name an entry or a journal, not both. A journal contains its job.");
    return chartOfJournal(flags.journal, flags.run, io);
  }
  if (flags.run !== undefined) throw new UsageError("--run requires --journal.");
  if (given === undefined) throw new UsageError("Name an entry, or a journal with --journal.");
  const { file: entryFile } = await findEntry(given);
  if (isWorkflowFile(entryFile)) {
    if (job !== undefined) throw new UsageError("A workflow has no jobs. Name only the file.");
    const { workflow } = await readWorkflow(entryFile);
    io.output.print(printFlow(flowChartOf(workflow)).trimEnd());
    return exitCode.success;
  }
  const { entry } = await readEntry(entryFile);
  const { work } = entry.jobs[chooseJob(entry, job)] ?? {};
  if (work !== undefined) io.output.print(renderMermaid(generateChartNodes(work)).trimEnd());
  return exitCode.success;
}

/** Draws the readable part of a damaged journal. The exit code is then 1. */
async function chartOfJournal(
  path: string,
  runId: string | undefined,
  { output }: Io,
): Promise<ExitCode> {
  const views = new Map<string, RunView>();
  const { problems, moreProblems, isJournal } = await readJournalFile(path, (events) => {
    viewsOf(events, views);
  }).catch(unable(`read the journal ${path}`));
  if (!isJournal) throw new UsageError(`${path} is not a journal.`);
  for (const { line, reason } of problems) output.printError(`${path}:${line}: ${reason}`);
  if (moreProblems > 0) output.printError(`${path}: … and ${moreProblems} more problems`);
  const view = chooseRun(path, [...views.values()], runId);
  output.print(chartOf(view).trimEnd());
  const damaged = moreProblems > 0 || problems.some(({ kind }) => kind === "damaged");
  return damaged ? exitCode.failed : exitCode.success;
}

function chooseRun(path: string, runs: readonly RunView[], runId: string | undefined): RunView {
  const begun = runs.filter(({ plan }) => plan !== undefined);
  const known = begun.map((run) => run.runId).join(", ");
  if (known === "") throw new UsageError(`The journal ${path} contains no run.`);
  const chosen = runId === undefined ? begun.at(-1) : begun.find((run) => run.runId === runId);
  if (chosen !== undefined) return chosen;
  throw new UsageError(`The journal ${path} has no run ${JSON.stringify(runId)}. Runs: ${known}.`);
}

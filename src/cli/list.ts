import { describeJobs, type JobDescription } from "../app/describe-jobs.ts";
import { readEntry } from "../app/entry-files.ts";
import { exitCode, output, type ExitCode } from "./process.ts";

export async function list(entryFile: string, json: boolean): Promise<ExitCode> {
  const { entry } = await readEntry(entryFile);
  const jobs = describeJobs(entry);
  if (json) output.printJson({ entry: entryFile, jobs });
  else for (const line of table(jobs)) output.print(line);
  return exitCode.success;
}

function table(jobs: readonly JobDescription[]): readonly string[] {
  if (jobs.length === 0) return ["The entry has no jobs."];
  const rows = jobs.map((job) => [
    job.name,
    job.requireUserInput ? "required" : "none",
    job.tasks.join(", "),
    job.models.join(", "),
  ]);
  const head = ["JOB", "USER INPUT", "TASKS", "MODELS"];
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

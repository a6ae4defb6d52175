import { chooseJob, readEntry } from "../app/entry-files.ts";
import { chartOf } from "../app/run.ts";
import { exitCode, output, type ExitCode } from "./process.ts";

export async function chart(entryFile: string, job: string | undefined): Promise<ExitCode> {
  const { entry } = await readEntry(entryFile);
  output.print(chartOf(entry, chooseJob(entry, job)).trimEnd());
  return exitCode.success;
}

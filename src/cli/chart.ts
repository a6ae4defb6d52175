import { chooseJob, readEntry } from "../app/load.ts";
import { chartOf } from "../app/run.ts";
import { exitCode, type ExitCode } from "./exit-code.ts";

export async function chart(entryFile: string, job: string): Promise<ExitCode> {
  const { entry } = await readEntry(entryFile);
  process.stdout.write(chartOf(entry, chooseJob(entry, job)));
  return exitCode.success;
}

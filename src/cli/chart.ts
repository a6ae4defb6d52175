import { chooseJob, readEntry } from "../app/load.ts";
import { chartOf } from "../app/run.ts";
import { output } from "./output.ts";
import { exitCode, type ExitCode } from "./exit-code.ts";

export async function chart(entryFile: string, job: string | undefined): Promise<ExitCode> {
  const { entry } = await readEntry(entryFile);
  output.print(chartOf(entry, chooseJob(entry, job)).trimEnd());
  return exitCode.success;
}

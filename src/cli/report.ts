import { plural } from "../text/numbers.ts";
import { makeReport, writeReport } from "../run/html-report.ts";
import { UsageError } from "../run/options.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

/** Shows the readable part of damaged journals. The exit code is then 1. */
export async function report(
  { output }: Io,
  paths: readonly string[],
  { output: target }: OptionsOf<"report">,
): Promise<ExitCode> {
  if (target === "") throw new UsageError("-o needs a file name.");
  if (paths.includes("")) throw new UsageError("The name of a journal is empty.");
  const file = target === "-" ? undefined : target;
  const { journals, runs, intact, html } = await makeReport(paths, file);
  for (const { name, problems, moreProblems } of journals) {
    for (const { line, reason } of problems) output.printError(`${name}:${line}: ${reason}`);
    if (moreProblems > 0) output.printError(`${name}: ${moreProblems} more problems`);
  }
  if (file === undefined) await output.printFile(html);
  else {
    await writeReport(file, html);
    output.print(`${file}: ${plural(runs, "run")}`);
  }
  return intact ? exitCode.success : exitCode.failed;
}

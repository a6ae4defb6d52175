/** `agent-jobs plan` and `agent-jobs merge`: a job on several machines. */
import { defined } from "../document/guards.ts";
import { checkShards, matrixOf } from "../run/shards.ts";
import { UsageError } from "../run/options.ts";
import { readEarlierJob } from "../run/past-run.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";
import { runPart } from "./run.ts";

/** Prints the matrix on stdout, and the log of what runs before the fan-out on stderr. */
export async function plan(
  entryFile: string,
  jobName: string | undefined,
  { shards, ...given }: OptionsOf<"plan">,
  io: Io,
): Promise<ExitCode> {
  const { journal } = given;
  checkShards(shards, "--shards");
  if (journal === undefined)
    throw new UsageError("--journal is missing: the shards go on from the journal of the plan.");
  const code = await runPart(entryFile, jobName, { ...given, format: "json" }, io, { plan: true });
  if (code !== exitCode.success) return code;
  io.output.print(await matrixOf(journal, shards));
  return code;
}

export async function merge(
  journals: readonly string[],
  { entry, onMissing, ...given }: OptionsOf<"merge">,
  io: Io,
): Promise<ExitCode> {
  const [first = ""] = journals;
  const { started } = await readEarlierJob(first).catch(() => ({ started: undefined }));
  const entryFile = entry ?? started?.entryFile;
  if (entryFile === undefined || started === undefined)
    throw new UsageError(
      `Can't merge: ${first} does not contain the start of a run of an entry file.`,
    );
  return runPart(entryFile, started.jobName, given, io, { journals, ...defined({ onMissing }) });
}

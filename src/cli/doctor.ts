import { checkMachine } from "./doctor-checks.ts";
import { readSharedFlags, type SharedFlags } from "./flags.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export interface DoctorFlags extends SharedFlags {
  readonly json?: true;
}

export async function doctor({ json, ...flags }: DoctorFlags, { output }: Io): Promise<ExitCode> {
  const checks = await checkMachine(readSharedFlags(flags));
  if (json === true) output.printJson({ checks });
  else {
    const lines = checks.map(({ name, ok, text }) => `${ok ? "ok    " : "FAIL  "}${name}: ${text}`);
    output.print(lines.join("\n"));
  }
  return checks.every(({ ok }) => ok) ? exitCode.success : exitCode.failed;
}

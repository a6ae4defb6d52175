import { evalSchema } from "../evals/eval-schema.ts";
import { entrySchema } from "../entry/entry-schema.ts";
import { rehearsalSchema } from "../rehearsal/format/rehearsal-schema.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export function schema(kind: string, { output }: Io): ExitCode {
  const schemas: Readonly<Record<string, object>> = {
    entry: entrySchema,
    rehearsal: rehearsalSchema,
    eval: evalSchema,
  };
  output.printJson(schemas[kind]);
  return exitCode.success;
}

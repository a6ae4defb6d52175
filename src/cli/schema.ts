import { UsageError } from "../run/options.ts";
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
  const chosen = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (chosen === undefined) {
    throw new UsageError(
      `Unknown schema "${kind}". Known schemas: ${Object.keys(schemas).join(", ")}.`,
    );
  }
  output.printJson(chosen);
  return exitCode.success;
}

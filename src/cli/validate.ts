import { entrySchema } from "../entry/entry-schema.ts";
import { evalSchema } from "../evals/eval-schema.ts";
import { rehearsalSchema } from "../rehearsal/format/rehearsal-schema.ts";
import { checkFile, checkModels } from "../run/entry-files.ts";
import type { Offered } from "../run/offered-models.ts";
import {
  DiagnosticsError,
  diagnosticLine,
  diagnosticMessage,
  type Diagnostic,
} from "../document/diagnostic.ts";
import { annotation } from "../text/harmless-text.ts";
import { filesOfRepository, findEntry, noneFound } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

/** Valid files are named in the text format. */
export async function validate(
  io: Io,
  given: readonly string[],
  { format, strict, checkModels: asks, ...server }: OptionsOf<"validate">,
): Promise<ExitCode> {
  const { output } = io;
  const files =
    given.length === 0
      ? await filesOfRepository()
      : await Promise.all(given.map(async (one) => (await findEntry(one)).file));
  if (files.length === 0) throw noneFound("the files");
  const offered =
    asks === true ? await (await import("./models.ts")).offeredModels(server) : undefined;
  const diagnostics: Diagnostic[] = [];
  for (const file of files) {
    const found = await problemsOf(file, offered);
    const shown = strict === true ? found.map(asError) : found;
    if (format === "text" && shown.every(isWarning)) output.print(`${file}: valid`);
    for (const diagnostic of shown) diagnostics.push(diagnostic);
  }
  const valid = diagnostics.every(isWarning);
  switch (format) {
    case "text":
      for (const diagnostic of diagnostics) output.print(diagnosticLine(diagnostic));
      break;
    case "json":
      output.printJson({ valid, diagnostics });
      break;
    case "github":
      for (const diagnostic of diagnostics) output.printCommand(workflowCommand(diagnostic));
      break;
  }
  return valid ? exitCode.success : exitCode.usage;
}

async function problemsOf(
  file: string,
  offered: Offered | undefined,
): Promise<readonly Diagnostic[]> {
  try {
    if (/\.eval\.[^./\\]+$/.test(file)) {
      await (await import("../evals/read-eval.ts")).readEval(file);
      return [];
    }
    const found = await checkFile(file);
    return offered === undefined ? found : [...found, ...(await checkModels(file, offered))];
  } catch (error) {
    if (!(error instanceof DiagnosticsError)) throw error;
    return error.diagnostics;
  }
}

function isWarning({ severity }: Diagnostic): boolean {
  return severity === "warning";
}

function asError(diagnostic: Diagnostic): Diagnostic {
  const { severity, ...error } = diagnostic;
  return severity === undefined ? diagnostic : error;
}

function workflowCommand(diagnostic: Diagnostic): string {
  const { file, line, column, hint } = diagnostic;
  const message = diagnosticMessage(diagnostic) + (hint === undefined ? "" : ` (${hint})`);
  return annotation(isWarning(diagnostic) ? "warning" : "error", message, {
    file,
    line,
    col: column,
  });
}

export function printSchema({ output }: Io, kind: string): ExitCode {
  const schemas: Readonly<Record<string, object>> = {
    entry: entrySchema,
    rehearsal: rehearsalSchema,
    eval: evalSchema,
  };
  output.printJson(schemas[kind]);
  return exitCode.success;
}

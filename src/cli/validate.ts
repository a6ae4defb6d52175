import { defined } from "../document/guards.ts";
import { checkFile, checkModels } from "../run/entry-files.ts";
import type { OfferedModel } from "../run/offered-models.ts";
import { asFlag, UsageError } from "../run/options.ts";
import {
  DiagnosticsError,
  diagnosticLine,
  diagnosticMessage,
  type Diagnostic,
} from "../document/diagnostic.ts";
import { annotation } from "../reports/github/workflow-command.ts";
import { readAccess, type OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

/**
 * Prints all problems of all files; valid files are named in the text format. Warnings leave a file valid,
 * unless `strict` makes errors of them.
 */
export async function validate(
  files: readonly string[],
  { format, strict, checkModels: asks, ...server }: OptionsOf<"validate">,
  io: Io,
): Promise<ExitCode> {
  const offered =
    asks === true || server.providerBaseUrl !== undefined ? await modelsOffered(server, io) : [];
  const { output } = io;
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

async function modelsOffered(
  server: Parameters<typeof readAccess>[0],
  { output }: Io,
): Promise<readonly OfferedModel[]> {
  const [{ JobHost }, { missingModel }] = await Promise.all([
    import("../live/job-host.ts"),
    import("../run/execute.ts"),
  ]);
  const access = readAccess(server);
  const missing = missingModel(access, false, asFlag);
  if (missing !== undefined) throw new UsageError(missing);
  const { environment, provider, gitHubToken, runtimePath } = access;
  await using host = new JobHost({
    environment,
    ...defined({ provider, gitHubToken, runtimePath }),
  });
  const offered = await host.live.listModels();
  if (offered.length === 0)
    output.printError("agent-jobs: warning: The models were not checked, because none are listed.");
  return offered;
}

async function problemsOf(
  file: string,
  offered: readonly OfferedModel[],
): Promise<readonly Diagnostic[]> {
  try {
    return [...(await checkFile(file)), ...(await checkModels(file, offered))];
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

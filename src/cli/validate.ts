import { checkFile } from "../app/load.ts";
import {
  DiagnosticsError,
  diagnosticLine,
  diagnosticMessage,
  type Diagnostic,
} from "../entry/diagnostic.ts";
import { exitCode, type ExitCode } from "./exit-code.ts";
import { output } from "./output.ts";

export const validateFormats = ["text", "json", "github"] as const;

/** Prints all problems of all files; valid files are named in the text format. */
export async function validate(
  files: readonly string[],
  format: (typeof validateFormats)[number],
): Promise<ExitCode> {
  const diagnostics: Diagnostic[] = [];
  for (const file of files) {
    try {
      await checkFile(file);
      if (format === "text") output.print(`${file}: valid`);
    } catch (error) {
      if (!(error instanceof DiagnosticsError)) throw error;
      diagnostics.push(...error.diagnostics);
    }
  }
  switch (format) {
    case "text":
      for (const diagnostic of diagnostics) output.print(diagnosticLine(diagnostic));
      break;
    case "json":
      output.printJson({ valid: diagnostics.length === 0, diagnostics });
      break;
    case "github":
      for (const diagnostic of diagnostics) output.printCommand(workflowCommand(diagnostic));
      break;
  }
  return diagnostics.length === 0 ? exitCode.success : exitCode.usage;
}

/** An annotation of GitHub Actions, escaped as the runner unescapes it. */
function workflowCommand(diagnostic: Diagnostic): string {
  const { file, line, column, hint } = diagnostic;
  const escapeData = (text: string): string =>
    text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const escapeProperty = (text: string): string =>
    escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const properties = Object.entries({ file, line, col: column })
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${escapeProperty(String(value))}`],
    )
    .join(",");
  const message = diagnosticMessage(diagnostic) + (hint === undefined ? "" : ` (${hint})`);
  return `::error ${properties}::${escapeData(message)}`;
}

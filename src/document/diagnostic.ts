/** A problem in a file that a person wrote: what, where, and what to do about it. */
export interface Diagnostic {
  /** The file as the user named it; absent for an entry that did not come from a file. */
  readonly file?: string;
  /** 1-based; absent when no text is at hand. */
  readonly line?: number;
  /** 1-based, in UTF-16 units. */
  readonly column?: number;
  /** The JavaScript expression of the place, such as `entry.tasks["a"].model`; empty for the whole file. */
  readonly codePath: string;
  /** One sentence. */
  readonly reason: string;
  /** Tells the author what to do. */
  readonly hint?: string;
  /** Absent: an error. A warning leaves the file valid. */
  readonly severity?: "warning";
}

/** Thrown by `validateEntry` and the loaders. The message is that of the first diagnostic. */
export class DiagnosticsError extends Error {
  /** All problems, in the order of the document where there is one. */
  readonly diagnostics: readonly Diagnostic[];
  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnosticMessage(diagnostics[0] ?? { codePath: "", reason: "invalid" }));
    this.name = "DiagnosticsError";
    this.diagnostics = diagnostics;
  }
}

/** `codePath: reason`, the message of the error that `validateEntry` throws. */
export function diagnosticMessage(diagnostic: Diagnostic): string {
  return diagnostic.codePath === ""
    ? diagnostic.reason
    : `${diagnostic.codePath}: ${diagnostic.reason}`;
}

/** `file:line:column: codePath: reason`, the form that editors and terminals link; `warning: ` before the code path of one. */
export function diagnosticLine(diagnostic: Diagnostic): string {
  const { file, line, column, hint } = diagnostic;
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const level = diagnostic.severity === "warning" ? "warning: " : "";
  const text = level + diagnosticMessage(diagnostic) + (hint === undefined ? "" : ` (${hint})`);
  return place === "" ? text : `${place}: ${text}`;
}

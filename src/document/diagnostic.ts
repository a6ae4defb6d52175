import { defined, isList, isRecord } from "../text/guards.ts";
/** A problem in a file that a person wrote: its place, its reason, and a hint. */
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

export type Path = readonly (string | number)[];

export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      isList(at) ? at[Number(key)] : isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined,
    root,
  );
}

/** 1-based; the column counts UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** `isField`: of the name of a field whose value is a block below it; else of the value. */
export type Locate = (path: Path, isField?: boolean) => Position;

export interface Place {
  readonly file?: string;
  readonly locate?: Locate;
}

/** A diagnostic before it has a place: the checks know paths, only the document knows lines. */
export interface Problem {
  /** Where to point at in the text; for a missing field the path that it would have. */
  readonly path: Path;
  readonly codePath: string;
  readonly reason: string;
  readonly hint?: string;
  readonly severity?: "warning";
  readonly text?: string;
  /** For a misspelled field: the code path of the field that was meant. */
  readonly meant?: string;
  /** Whether it is about the field itself, and not about its value. */
  readonly isField?: true;
}

export function toDiagnostics(problems: readonly Problem[], place: Place = {}): Diagnostic[] {
  const { file, locate } = place;
  const diagnostics = problems.map(
    ({ path, isField, codePath, reason, hint, severity }): Diagnostic => ({
      ...defined({ severity, file }),
      ...locate?.(path, isField),
      codePath,
      reason,
      ...defined({ hint }),
    }),
  );
  return locate === undefined ? diagnostics : diagnostics.sort(byPosition);
}

export function byPosition(a: Diagnostic, b: Diagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

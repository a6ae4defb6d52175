import { defined, isList, isRecord } from "../text/guards.ts";
import type { Diagnostic } from "./diagnostic.ts";

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

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

/** Longer words are not compared, because the time is quadratic. */
const longestWord = 64;

/** The candidate that `word` is most likely a misspelling or the beginning of, if there is one. */
export function suggest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > longestWord) return undefined;
  const typed = word.toLowerCase();
  let best: string | undefined;
  const longer: string[] = [];
  // One typo per three letters is allowed; a single letter may differ only in case.
  let bestDistance = (word.length === 2 ? 1 : Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate.length > longestWord) continue;
    if (typed.length > 2 && candidate.toLowerCase().startsWith(typed)) longer.push(candidate);
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? (longer.length === 1 ? longer[0] : undefined);
}

export function suggestion(word: string, candidates: Iterable<string>): { hint?: string } {
  const best = suggest(word, candidates);
  return best === undefined ? {} : { hint: didYouMean(best) };
}

export function didYouMean(candidate: string): string {
  return `did you mean ${JSON.stringify(candidate)}?`;
}

/** Insertions, deletions, replacements, and swaps of neighbors. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      }
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

export function textPositions(text: string): (offset: number) => Position {
  return linePositions(() => text.split("\n").map(({ length }) => length));
}

/** Positions in lines of these lengths, by binary search. `lengths` is called on first use. */
export function linePositions(lengths: () => readonly number[]): (offset: number) => Position {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= startsOf(lengths());
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function startsOf(lengths: readonly number[]): number[] {
  let start = 0;
  return lengths.map((length) => (start += length + 1) - length - 1);
}

export interface Limits {
  readonly bytes: number;
  readonly nesting: number;
}

export interface TextFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint?: string;
}

export type ReadText =
  | {
      readonly kind: "read";
      readonly value: unknown;
      readonly offsetOf: (path: Path, isField?: boolean) => number;
    }
  | { readonly kind: "rejected"; readonly faults: readonly TextFault[] };

/* Fields that a schema names are dotted, keys of an author bracketed: `entry.tasks["a"].model`. */

type SchemaObject = Readonly<Record<string, unknown>>;

export function codePathOf(schema: object, root: string, path: Path): string {
  let expression = root;
  let current = alternatives(schema, [schema]);
  for (const key of path) {
    if (typeof key === "number") {
      expression += `[${key}]`;
      current = alternatives(
        schema,
        current.flatMap((one) => items(one, key)),
      );
      continue;
    }
    const named = current.flatMap((one) => own(one["properties"], key));
    const chosen = current.flatMap((one) => objects(one["additionalProperties"]));
    const dotted = (named.length > 0 || chosen.length === 0) && /^[A-Za-z_$][\w$]*$/.test(key);
    expression += dotted ? `.${key}` : `[${JSON.stringify(key)}]`;
    current = alternatives(schema, named.length > 0 ? named : chosen);
  }
  return expression;
}

function alternatives(root: object, schemas: readonly unknown[]): readonly SchemaObject[] {
  const found = new Set<SchemaObject>();
  const queue = schemas.flatMap(objects);
  for (let schema = queue.pop(); schema !== undefined; schema = queue.pop()) {
    if (found.has(schema)) continue;
    found.add(schema);
    const { $ref: reference, allOf, anyOf, oneOf, then: yes, else: no } = schema;
    const referred = typeof reference === "string" ? resolve(root, reference) : undefined;
    queue.push(...[referred, allOf, anyOf, oneOf, yes, no].flat().flatMap(objects));
  }
  return [...found];
}

/** A reference inside the document, such as `#/$defs/work`. */
export function resolve(root: object, reference: string): unknown {
  const targets = resolved.get(root) ?? new Map<string, unknown>();
  resolved.set(root, targets);
  if (!targets.has(reference)) targets.set(reference, valueAt(root, reference.split("/").slice(1)));
  return targets.get(reference);
}

/** Each is asked for once for each value of a document. */
const resolved = new WeakMap<object, Map<string, unknown>>();

function items(schema: SchemaObject, index: number): unknown[] {
  const tuple = schema["prefixItems"];
  const inTuple: unknown = Array.isArray(tuple) ? tuple[index] : undefined;
  return [inTuple ?? schema["items"]];
}

function own(value: unknown, key: string): unknown[] {
  return objects(value).flatMap((one) => (Object.hasOwn(one, key) ? [one[key]] : []));
}

function objects(value: unknown): SchemaObject[] {
  return isRecord(value) ? [value] : [];
}

import { type Path, type Position, valueAt } from "./diagnostic.ts";
import { isRecord } from "../text/guards.ts";

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

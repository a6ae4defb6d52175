/**
 * Paths as JavaScript expressions: fields that a schema names are dotted, and keys that an author chose are
 * bracketed: `entry.tasks["a"].model`, `entry.grid[0].jobs[1].jobName`.
 */
import { isRecord } from "./guards.ts";
import type { Path } from "./problem.ts";

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

/** The schemas and all that they refer to or choose from, each once. Thousands of paths lead through the same few. */
function alternatives(root: object, schemas: readonly unknown[]): readonly SchemaObject[] {
  const [first, ...others] = schemas;
  if (!isRecord(first) || others.length > 0) return findAlternatives(root, schemas);
  const known = knownAlternatives.get(first);
  if (known?.root === root) return known.found;
  const found = findAlternatives(root, schemas);
  knownAlternatives.set(first, { root, found });
  return found;
}

const knownAlternatives = new WeakMap<
  SchemaObject,
  { readonly root: object; readonly found: readonly SchemaObject[] }
>();

function findAlternatives(root: object, schemas: readonly unknown[]): readonly SchemaObject[] {
  const found = new Set<SchemaObject>();
  const queue = schemas.flatMap(objects);
  for (let schema = queue.pop(); schema !== undefined; schema = queue.pop()) {
    if (found.has(schema)) continue;
    found.add(schema);
    const reference = schema["$ref"];
    const next: unknown[] = typeof reference === "string" ? [resolve(root, reference)] : [];
    for (const keyword of ["allOf", "anyOf", "oneOf"]) next.push(schema[keyword]);
    for (const keyword of ["then", "else"]) next.push(schema[keyword]);
    for (const one of next.flat().flatMap(objects)) queue.push(one);
  }
  return [...found];
}

/** A reference inside the document, such as `#/$defs/work`. */
export function resolve(root: object, reference: string): unknown {
  let schema: unknown = root;
  for (const key of reference.split("/").slice(1)) [schema] = own(schema, key);
  return schema;
}

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

/** Fields that a schema names are dotted, keys of an author bracketed: `entry.tasks["a"].model`. */
import { isRecord } from "../text/guards.ts";
import { type Path, valueAt } from "./diagnostic.ts";

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

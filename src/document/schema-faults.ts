/** Checks a JSON Schema that isn't ours, such as the parameters of a tool. Unknown keywords are allowed. */
import { compileExpression } from "./expression.ts";
import { defined, isRecord, isText } from "../text/guards.ts";
import { type Path, valueAt } from "./diagnostic.ts";
import { meaning, schemaCheck } from "./schema-check.ts";

export interface SchemaFault {
  readonly path: Path;
  readonly reason: string;
  readonly hint?: string;
}

type Meaning = "reference" | "anchor" | "id" | "expression" | "by expression";
const means = (what: Meaning, schema: object): object => ({ ...schema, [meaning]: what });

const part = { $ref: "#" };
const parts = { type: "array", items: part, minItems: 1 };
const partsByName = { type: "object", additionalProperties: part };
const text = { type: "string" };
const anchor = {
  ...text,
  pattern: "^[A-Za-z_][-A-Za-z0-9._]*$",
  description: "An anchor has letters, digits, _, - and ., and begins with no digit.",
};
const size = { type: "integer", minimum: 0 };
const names = { type: "array", items: text };
const type = { enum: ["object", "array", "string", "number", "integer", "boolean", "null"] };

const each = (keywords: string, schema: object): object =>
  Object.fromEntries(keywords.split(" ").map((keyword) => [keyword, schema]));

const jsonSchema = {
  type: ["object", "boolean"],
  dependentRequired: { nullable: ["type"] },
  properties: {
    ...each("$ref $dynamicRef", means("reference", text)),
    ...each("$anchor $dynamicAnchor", means("anchor", anchor)),
    $id: means("id", text),
    // Ajv's own: with it, a check would answer with a promise.
    $async: { enum: [false] },
    type: {
      anyOf: [
        { type: "string", ...type },
        { type: "array", items: type, minItems: 1, uniqueItems: true },
      ],
    },
    enum: { type: "array", minItems: 1 },
    pattern: means("expression", text),
    patternProperties: means("by expression", partsByName),
    ...each("$defs definitions properties dependentSchemas", partsByName),
    ...each("allOf anyOf oneOf prefixItems", parts),
    ...each("not if then else contains items unevaluatedItems", part),
    ...each("additionalProperties unevaluatedProperties propertyNames", part),
    ...each("minProperties maxProperties minItems maxItems minContains maxContains", size),
    ...each("minLength maxLength", size),
    ...each("minimum maximum exclusiveMinimum exclusiveMaximum", { type: "number" }),
    multipleOf: { type: "number", exclusiveMinimum: 0 },
    ...each("nullable uniqueItems", { type: "boolean" }),
    required: names,
    dependentRequired: { type: "object", additionalProperties: names },
    dependencies: { type: "object", additionalProperties: { anyOf: [names, part] } },
  },
};

const check = schemaCheck(jsonSchema, "schema");

export function schemaFaults(schema: Readonly<Record<string, unknown>>): readonly SchemaFault[] {
  const inspected = check.inspect(schema);
  if (inspected.kind === "refused") return inspected.problems;
  const { places } = inspected;
  const holders = new Map<unknown, unknown>();
  for (const { meaning: what, value, path } of places)
    if (what === "anchor") holders.set(`#${String(value)}`, valueAt(schema, path.slice(0, -1)));
  const targetOf: TargetOf = (reference) =>
    /^#(?:\/|$)/.test(reference) ? valueAt(schema, pathOf(reference)) : holders.get(reference);
  const ids = new Set<unknown>();
  const faults = places.flatMap(({ meaning: what, value, path }): readonly SchemaFault[] => {
    if (what === "expression") return faultOfExpression(String(value), path);
    if (what === "by expression")
      return Object.keys(value ?? {}).flatMap((key) => faultOfExpression(key, [...path, key]));
    if (what === "reference") return faultOfReference(String(value), path, targetOf);
    if (what !== "id" || ids.size < ids.add(value).size) return [];
    return [{ path, reason: "Another schema in this one has the same $id." }];
  });
  if (faults.length > 0) return faults;
  const endless = places.find(
    ({ meaning: what, value, path }) =>
      what === "reference" &&
      applies(targetOf(String(value)), valueAt(schema, path.slice(0, -1)), targetOf),
  );
  return endless ? [{ path: endless.path, reason: "Refers to itself without end." }] : [];
}

type TargetOf = (reference: string) => unknown;

const applicators = "allOf anyOf oneOf not if then else".split(" ");

/** Whether to check a value by `schema` is to check the same value by `part`, too. */
function applies(schema: unknown, part: unknown, targetOf: TargetOf): boolean {
  const all = new Set([schema]);
  for (const one of all) {
    if (one === part) return true;
    if (!isRecord(one)) continue;
    const references = [one["$ref"], one["$dynamicRef"]].filter(isText);
    const below = [
      ...applicators.flatMap((keyword) => one[keyword] ?? []),
      ...Object.values(one["dependentSchemas"] ?? {}),
      ...references.map(targetOf),
    ];
    for (const next of below) all.add(next);
  }
  return false;
}

function faultOfExpression(source: string, path: Path): readonly SchemaFault[] {
  const compiled = compileExpression(source);
  if (compiled.kind === "compiled") return [];
  const { reason, hint } = compiled;
  return [{ path, reason, ...defined({ hint }) }];
}

function faultOfReference(
  reference: string,
  path: Path,
  targetOf: TargetOf,
): readonly SchemaFault[] {
  if (!reference.startsWith("#")) {
    const hint = 'refer to a part of this schema, such as "#/$defs/name"';
    return [{ path, reason: "Other schemas are not loaded.", hint }];
  }
  const target = targetOf(reference);
  if (isRecord(target) || typeof target === "boolean") return [];
  return [{ path, reason: `There is no ${JSON.stringify(reference)} in this schema.` }];
}

function pathOf(reference: string): Path {
  try {
    const parts = decodeURIComponent(reference).split("/").slice(1);
    return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return [reference];
  }
}

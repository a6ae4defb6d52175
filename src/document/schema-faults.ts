/**
 * What is wrong with a JSON Schema that isn't ours, and where: the parameters of a tool. `value-check.ts` compiles it,
 * but says of a wrong one only that it is wrong. Unknown keywords are allowed, as JSON Schema says.
 */
import { resolve } from "./code-path.ts";
import { isList, isRecord, isText } from "./guards.ts";
import type { Path } from "./problem.ts";
import { suggestion } from "./suggest.ts";
import { compileValueCheck } from "./value-check.ts";

export interface SchemaFault {
  readonly path: Path;
  readonly reason: string;
  readonly hint?: string;
}

/** The schemas in these say more about the value itself, not about a part of it. */
const applicators = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
]);

const types = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** Where schemas are in a JSON Schema of draft 2020-12. */
const schemaPlaces: ReadonlyMap<string, "schema" | "list" | "map"> = new Map([
  ...(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"] as const).map(
    (keyword) => [keyword, "map"] as const,
  ),
  ...(["allOf", "anyOf", "oneOf", "prefixItems"] as const).map(
    (keyword) => [keyword, "list"] as const,
  ),
  ...(
    [
      "items",
      "additionalProperties",
      "contains",
      "not",
      "if",
      "then",
      "else",
      "propertyNames",
      "unevaluatedItems",
      "unevaluatedProperties",
    ] as const
  ).map((keyword) => [keyword, "schema"] as const),
]);

/** Compiling one takes about a millisecond. */
const compiledParts = 100;

/** The schema of a part, as far as it isn't made of other schemas. */
interface Part {
  readonly path: Path;
  readonly rules: Readonly<Record<string, unknown>>;
  /** Pointers to the parts that apply to the same value. */
  readonly inPlace: readonly string[];
}

export function schemaFaults(schema: Readonly<Record<string, unknown>>): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  const parts = partsOf(schema, faults);
  for (const { path, rules } of parts)
    for (const fault of faultsOfRules(path, rules, schema)) faults.push(fault);
  if (faults.length === 0) for (const fault of endless(parts)) faults.push(fault);
  if (faults.length > 0) return faults;

  const whole = compileValueCheck(schema);
  if (whole.kind === "compiled") return [];
  for (const { path, rules } of parts.slice(0, compiledParts)) {
    const { $ref: _, ...own } = rules;
    if (compileValueCheck(own).kind === "compiled") continue;
    for (const [keyword, value] of Object.entries(own)) {
      const alone = compileValueCheck({ [keyword]: value });
      if (alone.kind === "invalid") {
        faults.push({ path: [...path, keyword], reason: `Is invalid: ${sentence(alone.reason)}` });
      }
    }
  }
  return faults.length > 0
    ? faults
    : [{ path: [], reason: `Is not a valid JSON Schema: ${sentence(whole.reason)}` }];
}

/** Every schema in a schema, without recursion: how deep it is makes no difference. */
function partsOf(root: unknown, faults: SchemaFault[]): readonly Part[] {
  const parts: Part[] = [];
  const left: { readonly path: Path; readonly schema: unknown }[] = [{ path: [], schema: root }];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const { path, schema } = one;
    if (typeof schema === "boolean") continue;
    if (!isRecord(schema)) {
      faults.push({ path, reason: "Must be a JSON Schema: an object, true or false." });
      continue;
    }
    const rules: [string, unknown][] = [];
    const inPlace: string[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      const at = [...path, keyword];
      const add = (way: Path, below: unknown): void => {
        left.push({ path: way, schema: below });
        if (applicators.has(keyword)) inPlace.push(pointerOf(way));
      };
      switch (schemaPlaces.get(keyword)) {
        case undefined:
          rules.push([keyword, value]);
          break;
        case "schema":
          add(at, value);
          break;
        case "list":
          if (!isList(value) || value.length === 0) {
            faults.push({ path: at, reason: "Must be a list of one or more JSON Schemas." });
          } else value.forEach((below, index) => add([...at, index], below));
          break;
        case "map":
          if (!isRecord(value)) {
            faults.push({ path: at, reason: "Must be an object of JSON Schemas." });
          } else for (const [key, below] of Object.entries(value)) add([...at, key], below);
      }
    }
    parts.push({ path, rules: Object.fromEntries(rules), inPlace });
  }
  return parts;
}

/** References that lead back to themselves for one and the same value: a check would never end. */
function endless(parts: readonly Part[]): readonly SchemaFault[] {
  const all = new Map(parts.map((part) => [pointerOf(part.path), part]));
  const state = new Map<Part, "open" | "done">();
  const faults: SchemaFault[] = [];
  for (const start of parts) {
    const stack = [start];
    for (let part = stack.at(-1); part !== undefined; part = stack.at(-1)) {
      if (state.has(part)) {
        state.set(part, "done");
        stack.pop();
        continue;
      }
      state.set(part, "open");
      const { $ref: reference } = part.rules;
      const referred = isText(reference) ? all.get(decoded(reference)) : undefined;
      if (referred !== undefined && state.get(referred) === "open") {
        faults.push({ path: [...part.path, "$ref"], reason: "Refers to itself without end." });
      }
      const next =
        referred === undefined ? part.inPlace : [...part.inPlace, pointerOf(referred.path)];
      for (const pointer of next) {
        const below = all.get(pointer);
        if (below !== undefined && !state.has(below)) stack.push(below);
      }
    }
  }
  return faults;
}

function pointerOf(path: Path): string {
  return ["#", ...path]
    .map((key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1"))
    .join("/");
}

function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

function faultsOfRules(path: Path, rules: Part["rules"], root: object): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  const { $ref: reference, type } = rules;
  if (reference !== undefined) {
    const at = [...path, "$ref"];
    if (!isText(reference) || !reference.startsWith("#")) {
      const hint = 'refer to a part of this schema, such as "#/$defs/name"';
      faults.push({ path: at, reason: "Other schemas are not loaded.", hint });
    } else if (isPlainPointer(reference) && resolve(root, reference) === undefined) {
      const reason = `There is no ${JSON.stringify(reference)} in this schema.`;
      faults.push({ path: at, reason });
    }
  }
  for (const [index, one] of [type].flat().entries()) {
    if (!isText(one) || types.includes(one)) continue;
    const at = isList(type) ? [...path, "type", index] : [...path, "type"];
    const reason = `There is no type ${JSON.stringify(one)}.`;
    const { hint = `the types are ${types.join(", ")}` } = suggestion(one, types);
    faults.push({ path: at, reason, hint });
  }
  return faults;
}

function sentence(reason: string): string {
  return `${reason.replace(/\.$/, "")}.`;
}

/** One that needs no decoding, and leads through no list. The compiler finds the others. */
function isPlainPointer(reference: string): boolean {
  return /^#\/[^~%]*$/.test(reference) && !/\/\d+(?:\/|$)/.test(reference);
}

import type { ErrorObject } from "ajv";
import { resolve, type Path, didYouMean, suggest, suggestion } from "./diagnostic.ts";
import { defined, isList, isRecord, isText } from "../text/guards.ts";

/** A keyword that a value does not fit, as ajv reports it. */
export type Fault = Pick<ErrorObject, "keyword" | "params" | "schema" | "parentSchema" | "data"> & {
  readonly message?: string;
};

export interface Explained {
  readonly path: Path;
  readonly reason: string;
  readonly hint?: string;
  /** For an unknown field: the known one that was probably meant. */
  readonly meant?: string;
  readonly isField?: true;
}

export function explain(error: Fault, path: Path, root: object): Explained {
  const params: Readonly<Record<string, unknown>> = error.params;
  const schema: unknown = error.schema;
  switch (error.keyword) {
    case "required": {
      const name = String(params["missingProperty"]);
      const cases = tagValues(error.parentSchema?.["oneOf"], name, root);
      const hint =
        cases.length === 0
          ? meantValue([error.parentSchema?.["type"]].flat().filter(isText), error.data)
          : `write ${list(cases)}`;
      return { path: [...path, name], reason: "This field is required.", ...defined({ hint }) };
    }
    case "dependentRequired": {
      const at = [...path, String(params["property"])];
      return { path: at, reason: `Requires ${String(params["missingProperty"])}.` };
    }
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params["additionalProperty"] ?? params["unevaluatedProperty"]);
      const known = Object.keys(error.parentSchema?.["properties"] ?? {});
      const meant = suggest(name, known);
      const all = known.length === 0 ? undefined : `known fields: ${known.join(", ")}`;
      const hint = meant === undefined ? all : didYouMean(meant);
      const reason = `Unknown field ${quote(name)}.`;
      return { path: [...path, name], isField: true, reason, ...defined({ hint, meant }) };
    }
    case "type":
    case "anyOf":
    case "oneOf": {
      const fields = alternativeFields(schema);
      if (fields.length > 0) {
        const many = error.keyword === "oneOf" ? "exactly" : "at least";
        return { path, reason: `Must have ${many} one of the ${named(fields)}.` };
      }
      const types = [params["types"] ?? schema].flat().filter(isText);
      if (types.length === 0) return { path, reason: "Has none of the allowed forms." };
      const reason = `Must be ${either(types)}, not ${describe(error.data)}.`;
      const hint = meantValue(types, error.data);
      return { path, reason, ...defined({ hint }) };
    }
    case "enum":
    case "const":
      return { path, ...mustBe([schema].flat(), error.data) };
    case "discriminator": {
      const tag = String(params["tag"]);
      const cases = tagValues(error.parentSchema?.["oneOf"], tag, root);
      return { path: [...path, tag], ...mustBe(cases, params["tagValue"]) };
    }
    case "propertyNames": {
      const name = String(params["propertyName"]);
      const reason = `${quote(name)} can't be a name here.`;
      return { path: [...path, name], reason, ...defined({ hint: descriptionOf(schema) }) };
    }
    case "nesting":
      return { path, reason: "Is nested too deeply." };
    case "minLength":
      return { path, reason: "Must not be empty." };
    case "pattern": {
      // In our own schemas, the description explains it better.
      const hint = error.message === undefined ? descriptionOf(error.parentSchema) : undefined;
      if (hint !== undefined) return { path, reason: "Is invalid.", hint };
      return { path, reason: `Is invalid: must match pattern ${quote(schema)}.` };
    }
    case "uniqueItems":
      return { path, reason: "Must not have an element twice." };
    default:
      return { path, reason: beyondBound(error) };
  }
}

function descriptionOf(schema: unknown): string | undefined {
  const description = isRecord(schema) ? schema["description"] : undefined;
  return isText(description) ? description : undefined;
}

function mustBe(values: readonly unknown[], data: unknown): Pick<Explained, "reason" | "hint"> {
  const reason = `Must be ${list(values.map(quote))}, not ${describe(data)}.`;
  return { reason, ...(isText(data) ? suggestion(data, values.filter(isText)) : {}) };
}

const bounds: ReadonlyMap<string, string> = new Map([
  ["minimum", "be at least"],
  ["exclusiveMinimum", "be more than"],
  ["maximum", "be at most"],
  ["exclusiveMaximum", "be less than"],
]);

const sizes: ReadonlyMap<string, string> = new Map([
  ["maxLength", "character"],
  ["minItems", "element"],
  ["maxItems", "element"],
  ["minProperties", "field"],
  ["maxProperties", "field"],
]);

function beyondBound({ keyword, schema, parentSchema, data, message }: Fault): string {
  const bound = bounds.get(keyword);
  if (bound !== undefined) return `Must ${bound} ${String(schema)}, not ${describe(data)}.`;
  const counted = sizes.get(keyword);
  if (counted === undefined) return `Is invalid: ${message ?? keyword}.`;
  const { properties, minProperties, maxProperties } = parentSchema ?? {};
  if (counted === "field" && minProperties === 1 && maxProperties === 1 && isRecord(properties))
    return `Must have exactly one of the ${named(Object.keys(properties))}.`;
  const some = schema === 1 ? `one ${counted}` : `${String(schema)} ${counted}s`;
  return `Must have ${keyword.startsWith("min") ? "at least" : "at most"} ${some}.`;
}

function meantValue(types: readonly string[], data: unknown): string | undefined {
  if (isRecord(data) && types.includes("string")) {
    const [[name, value] = ["", ""], ...more] = Object.entries(data);
    const isLine = more.length === 0 && isText(value) && !/["\\\n]/.test(name + value);
    return isLine ? `quote a string with a colon: "${name}: ${value}"` : undefined;
  }
  if (!isText(data) || data.length > 40) return undefined;
  if (types.includes("number") || types.includes("integer"))
    return /^-?\d+(\.\d+)?$/.test(data) ? `write ${data}` : undefined;
  if (types.includes("boolean")) {
    const [yes] = /^(true|yes|on)$/i.exec(data) ?? [];
    return yes !== undefined || /^(false|no|off)$/i.test(data)
      ? `write ${String(yes !== undefined)}`
      : undefined;
  }
  return types.length === 1 && types[0] === "array" ? `write [${quote(data)}]` : undefined;
}

/** The fields of a union whose cases are distinguished by which one is there; none for other unions. */
export function alternativeFields(branches: unknown): readonly string[] {
  if (!isList(branches)) return [];
  const fields = branches.map((branch) => {
    const [first, ...more] = isRecord(branch) ? Object.entries(branch) : [];
    const required = first?.[0] === "required" && isList(first[1]) ? first[1] : [];
    return more.length === 0 && required.length === 1 ? required[0] : undefined;
  });
  return fields.every(isText) ? fields : [];
}

function named(fields: readonly string[]): string {
  return `fields ${list(fields.map(quote))}`;
}

function tagValues(branches: unknown, tag: string, root: object): string[] {
  return isList(branches) ? branches.map((branch) => tagOf(branch, tag, root)).filter(isText) : [];
}

export function tagOf(branch: unknown, tag: string, root: object): unknown {
  if (!isRecord(branch)) return undefined;
  const { $ref: reference, properties } = branch;
  if (isText(reference)) return tagOf(resolve(root, reference), tag, root);
  const property = isRecord(properties) ? properties[tag] : undefined;
  return isRecord(property) ? property["const"] : undefined;
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}

function list(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

function either(types: readonly string[]): string {
  const names = types.map((type) => typeNames.get(type) ?? type);
  return list([...new Set(names)]);
}

const typeNames = new Map([
  ["string", "text"],
  ["integer", "a whole number"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
  ["null", "null"],
]);

function describe(data: unknown): string {
  if (isText(data)) return data.length > 40 ? "another text" : `the text ${quote(data)}`;
  if (isList(data)) return "a list";
  if (typeof data === "function") return "a function";
  return isRecord(data) ? "an object" : String(data);
}

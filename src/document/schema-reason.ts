import type { ErrorObject } from "ajv";
import { resolve } from "./code-path.ts";
import { defined, isList, isRecord, isText } from "./guards.ts";
import type { Path } from "./problem.ts";
import { didYouMean, suggest, suggestion } from "./suggest.ts";

/** What a value has against a keyword of its schema, as ajv reports it. */
export type Fault = Pick<ErrorObject, "keyword" | "params" | "schema" | "parentSchema" | "data"> & {
  readonly message?: string;
};

export interface Explained {
  readonly path: Path;
  readonly reason: string;
  readonly hint?: string;
  /** For an unknown field: the known one that was probably meant. */
  readonly meant?: string;
}

/** One sentence for one fault; `path` is that of the value. */
export function explain(error: Fault, path: Path, root: object): Explained {
  const params: Readonly<Record<string, unknown>> = error.params;
  const schema: unknown = error.schema;
  switch (error.keyword) {
    case "required": {
      const name = String(params["missingProperty"]);
      const cases = tagValues(error.parentSchema?.["oneOf"], name, root);
      return {
        path: [...path, name],
        reason: "This field is required.",
        ...defined({
          hint:
            cases.length === 0
              ? meantValue([error.parentSchema?.["type"]].flat().filter(isText), error.data)
              : `write ${list(cases)}`,
        }),
      };
    }
    case "dependentRequired": {
      const needed = String(params["missingProperty"]);
      const at = [...path, String(params["property"])];
      return { path: at, reason: `Requires ${needed}.` };
    }
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params["additionalProperty"] ?? params["unevaluatedProperty"]);
      const known = Object.keys(error.parentSchema?.["properties"] ?? {});
      const meant = suggest(name, known);
      const unknown = { path: [...path, name], reason: `Unknown field ${JSON.stringify(name)}.` };
      if (meant !== undefined) return { ...unknown, hint: didYouMean(meant), meant };
      return known.length === 0
        ? unknown
        : { ...unknown, hint: `known fields: ${known.join(", ")}` };
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
    case "enum": {
      const allowed = [schema].flat().map((one) => JSON.stringify(one));
      const typed = error.data;
      return {
        path,
        reason: `Must be ${list(allowed)}, not ${describe(typed)}.`,
        ...(typeof typed === "string" ? suggestion(typed, [schema].flat().filter(isText)) : {}),
      };
    }
    case "const":
      return {
        path,
        reason: `Must be ${JSON.stringify(schema)}, not ${describe(error.data)}.`,
        ...(isText(error.data) && isText(schema) ? suggestion(error.data, [schema]) : {}),
      };
    case "discriminator": {
      const tag = String(params["tag"]);
      const value = params["tagValue"];
      const cases = tagValues(error.parentSchema?.["oneOf"], tag, root);
      return {
        path: [...path, tag],
        reason: `Must be ${list(cases.map(quote))}, not ${describe(value)}.`,
        ...(isText(value) ? suggestion(value, cases) : {}),
      };
    }
    case "propertyNames":
      return {
        path: [...path, String(params["propertyName"])],
        reason: `${JSON.stringify(params["propertyName"])} can't be a name here.`,
        ...(isRecord(schema) && isText(schema["description"])
          ? { hint: schema["description"] }
          : {}),
      };
    case "minimum":
      return { path, reason: `Must be at least ${String(schema)}, not ${describe(error.data)}.` };
    case "exclusiveMinimum":
      return { path, reason: `Must be more than ${String(schema)}, not ${describe(error.data)}.` };
    case "maximum":
      return { path, reason: `Must be at most ${String(schema)}, not ${describe(error.data)}.` };
    case "exclusiveMaximum":
      return { path, reason: `Must be less than ${String(schema)}, not ${describe(error.data)}.` };
    case "minLength":
      return { path, reason: "Must not be empty." };
    case "maxLength":
      return { path, reason: `Must have at most ${count(schema, "character")}.` };
    case "pattern":
      return { path, reason: `Is invalid: must match pattern ${JSON.stringify(schema)}.` };
    case "uniqueItems":
      return { path, reason: "Must not have an element twice." };
    case "minItems":
      return { path, reason: `Must have at least ${count(schema, "element")}.` };
    case "maxItems":
      return { path, reason: `Must have at most ${count(schema, "element")}.` };
    case "minProperties":
    case "maxProperties":
      return explainSize(error, path);
    default:
      return { path, reason: `Is invalid: ${error.message ?? error.keyword}.` };
  }
}

/** What to write instead of a value of another type, if it is obvious what was meant. */
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

function explainSize(error: Fault, path: Path): Explained {
  const known = Object.keys(error.parentSchema?.["properties"] ?? {});
  const { minProperties, maxProperties } = error.parentSchema ?? {};
  if (known.length > 0 && minProperties === 1 && maxProperties === 1) {
    return { path, reason: `Must have exactly one of the ${named(known)}.` };
  }
  const bound = error.keyword === "minProperties" ? "at least" : "at most";
  return { path, reason: `Must have ${bound} ${count(error.schema, "field")}.` };
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

/** The constants that distinguish the branches. */
function tagValues(branches: unknown, tag: string, root: object): string[] {
  return isList(branches) ? branches.map((branch) => tagOf(branch, tag, root)).filter(isText) : [];
}

/** The constant of a field in a branch. */
export function tagOf(branch: unknown, tag: string, root: object): unknown {
  if (!isRecord(branch)) return undefined;
  const { $ref: reference, properties } = branch;
  if (isText(reference)) return tagOf(resolve(root, reference), tag, root);
  const property = isRecord(properties) ? properties[tag] : undefined;
  return isRecord(property) ? property["const"] : undefined;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

/** `a`, `a or b`, `a, b or c`. */
function list(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

/** Types by their names; anything else, such as the constant `true`, by itself. */
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

function count(number: unknown, noun: string): string {
  return number === 1 ? `one ${noun}` : `${String(number)} ${noun}s`;
}

/** What was found, short enough for a sentence. */
function describe(data: unknown): string {
  if (typeof data === "string") {
    return data.length > 40 ? "another text" : `the text ${JSON.stringify(data)}`;
  }
  if (Array.isArray(data)) return "a list";
  if (data === null) return "null";
  switch (typeof data) {
    case "number":
    case "boolean":
    case "undefined":
      return String(data);
    case "object":
      return "an object";
    default:
      return `a ${typeof data}`;
  }
}

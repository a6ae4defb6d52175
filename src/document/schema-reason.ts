import type { ErrorObject } from "ajv";
import { resolve } from "./code-path.ts";
import { defined, isList, isRecord, isText } from "./guards.ts";
import type { Path } from "./problem.ts";
import { didYouMean, suggest, suggestion } from "./suggest.ts";

export interface Explained {
  readonly path: Path;
  readonly reason: string;
  readonly hint?: string;
  /** For an unknown field: the known one that was probably meant. */
  readonly meant?: string;
  /** The fields of which one had to be there. */
  readonly lacks?: readonly string[];
}

/** One sentence for one error of ajv; `path` is that of the value that ajv names. */
export function explain(error: ErrorObject, path: Path, root: object): Explained {
  const params: Readonly<Record<string, unknown>> = error.params;
  const schema: unknown = error.schema;
  switch (error.keyword) {
    case "required": {
      const name = String(params["missingProperty"]);
      const cases = tagValues(error.parentSchema?.["oneOf"], name, root);
      return {
        path: [...path, name],
        reason: "This field is required.",
        lacks: [name],
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
      return { path: at, reason: `Requires ${needed}.`, lacks: [needed] };
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
        return { path, reason: `Must have ${many} one of the ${named(fields)}.`, lacks: fields };
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
    case "discriminator":
      return explainTag(error, path, root);
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

/** A union whose cases are distinguished by a constant in a field. */
function explainTag(error: ErrorObject, path: Path, root: object): Explained {
  const params: Readonly<Record<string, unknown>> = error.params;
  const tag = String(params["tag"]);
  const value = params["tagValue"];
  if (value === undefined) {
    return { path: [...path, tag], reason: "This field is required.", lacks: [tag] };
  }
  const cases = tagValues(error.parentSchema?.["oneOf"], tag, root);
  const expected = cases.length === 0 ? "one of the known cases" : list(cases.map(quote));
  return {
    path: [...path, tag],
    reason: `Must be ${expected}, not ${describe(value)}.`,
    ...(typeof value === "string" ? suggestion(value, cases) : {}),
  };
}

function explainSize(error: ErrorObject, path: Path): Explained {
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
  if (!isList(branches)) return [];
  return branches.filter(isRecord).flatMap((branch) => {
    const reference = branch["$ref"];
    const target = isText(reference) ? resolve(root, reference) : branch;
    const properties = isRecord(target) ? target["properties"] : undefined;
    const property = isRecord(properties) ? properties[tag] : undefined;
    return isRecord(property) ? [property["const"]].filter(isText) : [];
  });
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

/**
 * JSON Schema (draft 2020-12) with errors for people, for our own schemas. They use the keywords below, refer by
 * `#/$defs/…` only, and the cases of a union exclude each other: by a constant in a field (`discriminator`), by which
 * field is there, or by type. A test compares what is accepted here with what ajv accepts.
 */
import { codePathOf, resolve } from "./text-position.ts";
import { defined, isList, isRecord, isText } from "../text/guards.ts";
import {
  type Diagnostic,
  diagnosticMessage,
  type Path,
  type Place,
  type Problem,
  toDiagnostics,
  suggest,
} from "./diagnostic.ts";
import { alternativeFields, explain, type Fault, tagOf } from "./schema-reason.ts";

type SchemaObject = Readonly<Record<string, unknown>>;

/** A list of a million wrong elements would fill the memory with sentences. */
export const reportedProblems = 20_000;

/** Levels of lists and objects, so that the stack is large enough. A document of a person has fewer. */
const MAX_DEPTH = 500;

/** A field of a schema: what its values are beyond their form, such as the name of a task. */
export const meaning = Symbol("meaning");

/** A value whose schema has a `meaning`. The schema accepts it, but for what is inside of it. */
export interface MeantPlace {
  readonly meaning: string;
  readonly value: unknown;
  readonly path: Path;
}

export type Inspection<T> = { readonly places: readonly MeantPlace[] } & (
  | { readonly kind: "accepted"; readonly value: T }
  | { readonly kind: "refused"; readonly problems: Problem[]; readonly complete: boolean }
);

export interface SchemaCheck<T> {
  accepts(value: unknown): value is T;
  /** At most as many problems as are reported; empty for an accepted value. */
  problems(value: unknown): Problem[];
  inspect(value: unknown): Inspection<T>;
  /** The first problem, with its place. */
  fault(value: unknown): string;
  diagnose(value: unknown, place?: Place): Diagnostic[];
  codePath(path: Path): string;
}

/** `root` is the name that expressions begin with. At most `most` faults are explained. */
export function schemaCheck<T = unknown>(
  schema: object,
  root: string,
  most = reportedProblems,
): SchemaCheck<T> {
  const codePath = (path: Path): string => codePathOf(schema, root, path);
  const inspect = (value: unknown): Inspection<T> => {
    const walk = new Walk(schema, most);
    walk.check(value, schema);
    const { found, places } = walk;
    if (isAccepted<T>(value, found)) return { kind: "accepted", value, places };
    const problems = found.slice(0, most).map((fault): Problem => {
      const { path, reason, hint, meant, isField } = explain(fault, fault.path, schema);
      return {
        path,
        codePath: codePath(path),
        reason,
        ...defined({ hint, isField }),
        ...(meant === undefined ? {} : { meant: codePath([...path.slice(0, -1), meant]) }),
      };
    });
    return { kind: "refused", problems, complete: found.length <= most, places };
  };
  const problems = (value: unknown): Problem[] => {
    const inspected = inspect(value);
    return inspected.kind === "accepted" ? [] : inspected.problems;
  };
  return {
    accepts: (value): value is T => isAccepted<T>(value, faultsOf(value, schema, schema, 0)),
    problems,
    fault(value) {
      const [problem] = problems(value);
      return problem === undefined ? "" : diagnosticMessage(problem);
    },
    inspect,
    diagnose: (value, place) => toDiagnostics(problems(value), place),
    codePath,
  };
}

/** The schema says that it is a `T`. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters
function isAccepted<T>(_value: unknown, faults: readonly PlacedFault[]): _value is T {
  return faults.length === 0;
}

interface PlacedFault extends Fault {
  /** The path of the value that has the fault: for a missing or an unknown field, the object. */
  readonly path: Path;
}

function faultsOf(
  value: unknown,
  schema: unknown,
  root: object,
  most: number,
): readonly PlacedFault[] {
  const walk = new Walk(root, most);
  walk.check(value, schema);
  return walk.found;
}

class Walk {
  readonly found: PlacedFault[] = [];
  readonly places: MeantPlace[] = [];
  readonly #root: object;
  readonly #most: number;
  readonly #path: (string | number)[] = [];

  constructor(root: object, most: number) {
    this.#root = root;
    this.#most = most;
  }

  check(value: unknown, given: unknown, meant?: unknown): void {
    const before = this.found.length;
    if (!isRecord(given) || before > this.#most) return;
    if (this.#path.length > MAX_DEPTH) return this.#add("nesting", given, value);
    const rules = rulesOf(given);
    const { schema, reference, type } = rules;
    const means = meant ?? rules.meaning;
    if (reference !== undefined) return this.check(value, resolve(this.#root, reference), means);
    if (type !== undefined && !isOfTypes(value, type)) return this.#add("type", schema, value);
    if (rules.isType && means === undefined) return;
    if (rules.hasValues) {
      const { const: constant, enum: allowed } = schema;
      if (constant !== undefined && value !== constant) return this.#add("const", schema, value);
      if (isList(allowed) && !allowed.includes(value)) return this.#add("enum", schema, value);
    }
    if (rules.hasBounds) {
      if (isText(value)) this.#checkText(value, schema);
      else if (typeof value === "number") this.#checkNumber(value, rules);
      else if (isList(value)) this.#checkSize(value.length, schema, itemSizes, value);
    }
    if (isText(means) && this.found.length === before)
      this.places.push({ meaning: means, value, path: [...this.#path] });
    if (isList(value)) this.#checkList(value, schema);
    const misspelled = isRecord(value) ? this.#checkObject(value, rules) : nothing;
    if (rules.isUnion) this.#checkUnion(value, schema, misspelled);
    if (rules.isConditional) this.#checkConditions(value, schema);
  }

  #add(keyword: string, schema: SchemaObject, data: unknown, params: Fault["params"] = {}): void {
    const fault = { keyword, schema: schema[keyword], parentSchema: schema, data, params };
    this.found.push({ ...fault, path: [...this.#path] });
  }

  #checkText(value: string, schema: SchemaObject): void {
    const { minLength = 0, maxLength = Infinity, pattern } = schema;
    if (value.length < Number(minLength)) this.#add("minLength", schema, value);
    if (value.length > Number(maxLength)) this.#add("maxLength", schema, value);
    if (isText(pattern) && !new RegExp(pattern, "u").test(value))
      this.#add("pattern", schema, value);
  }

  #checkNumber(value: number, { schema, bounds }: Rules): void {
    for (const { keyword, isBeyond, bound } of bounds)
      if (isBeyond(value, bound)) this.#add(keyword, schema, value);
  }

  #checkList(value: readonly unknown[], schema: SchemaObject): void {
    const { prefixItems, items, uniqueItems } = schema;
    if (uniqueItems === true && new Set(value).size < value.length)
      this.#add("uniqueItems", schema, value);
    const first = isList(prefixItems) ? prefixItems : [];
    if (first.length === 0 && items === undefined) return;
    value.forEach((item, index) => this.#below(index, item, first[index] ?? items));
  }

  /** The fields that were meant by unknown ones: to miss them, too, is the same fault. */
  #checkObject(value: SchemaObject, rules: Rules): readonly string[] {
    const { schema, properties, others, required } = rules;
    const unknown: string[] = [];
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      if (rules.hasNames && !this.#fits(key, schema["propertyNames"]))
        this.#add("propertyNames", schema, value, { propertyName: key });
      if (Object.hasOwn(properties, key)) this.#below(key, value[key], properties[key]);
      else if (others === false) {
        unknown.push(key);
        this.#add("additionalProperties", schema, value, { additionalProperty: key });
      } else if (others !== undefined) this.#below(key, value[key], others);
    }
    const known = unknown.length === 0 ? [] : Object.keys(properties);
    const meant = unknown.flatMap((key) => suggest(key, known) ?? []);
    if (unknown.length === 0 && rules.hasBounds)
      this.#checkSize(Object.keys(value).length, schema, fieldSizes, value);
    const lacks = (field: string): boolean =>
      !Object.hasOwn(value, field) && !meant.includes(field);
    for (const missingProperty of required)
      if (lacks(missingProperty)) this.#add("required", schema, value, { missingProperty });
    for (const [property, needed] of rules.dependent)
      if (Object.hasOwn(value, property))
        for (const missingProperty of needed.filter(lacks))
          this.#add("dependentRequired", schema, value, { property, missingProperty });
    return meant;
  }

  #checkSize(
    size: number,
    schema: SchemaObject,
    [least, most]: readonly [string, string],
    value: unknown,
  ): void {
    if (size < Number(schema[least] ?? 0)) this.#add(least, schema, value);
    if (size > Number(schema[most] ?? Infinity)) this.#add(most, schema, value);
  }

  #below(key: string | number, value: unknown, schema: unknown): void {
    this.#path.push(key);
    this.check(value, schema);
    this.#path.pop();
  }

  #checkUnion(value: unknown, schema: SchemaObject, misspelled: readonly string[]): void {
    const keyword = schema["oneOf"] === undefined ? "anyOf" : "oneOf";
    const branches = schema[keyword];
    if (!isList(branches)) return;
    const { discriminator } = schema;
    if (isRecord(discriminator)) return this.#checkTagged(value, schema, branches, discriminator);
    const fields = alternativeFields(branches);
    if (fields.length > 0) {
      if (!isRecord(value) || fields.some((field) => misspelled.includes(field))) return;
      const there = fields.filter((field) => Object.hasOwn(value, field)).length;
      if (there === 0 || (there > 1 && keyword === "oneOf")) this.#add(keyword, schema, value);
      return;
    }
    const typesOfBranches = branches.map((branch) => typesOf(branch, this.#root));
    const fitting = branches.filter((_, index) => isOfTypes(value, typesOfBranches[index]));
    const [only, ...others] = fitting;
    if (only === undefined)
      this.#add(keyword, schema, value, { types: typesOfBranches.flat().filter(isText) });
    else if (others.length === 0) this.check(value, only);
    else {
      // A field that is misspelled is less wrong than one that is missing.
      const distanceOf = (branch: unknown): number =>
        faultsOf(value, branch, this.#root, this.#most).reduce((sum, fault) => {
          const { meant } = explain(fault, fault.path, this.#root);
          return sum + (meant === undefined ? 1 : 0.5);
        }, 0);
      this.check(value, fitting.toSorted((a, b) => distanceOf(a) - distanceOf(b))[0]);
    }
  }

  #checkTagged(
    value: unknown,
    schema: SchemaObject,
    branches: readonly unknown[],
    discriminator: SchemaObject,
  ): void {
    const tag = String(discriminator["propertyName"]);
    // A missing tag is reported as a missing field.
    if (!isRecord(value) || !Object.hasOwn(value, tag)) return;
    const meant = casesOf(branches, tag, this.#root).get(value[tag]);
    if (meant === undefined)
      this.#add("discriminator", schema, value, { tag, tagValue: value[tag] });
    else this.check(value, meant);
  }

  #checkConditions(value: unknown, schema: SchemaObject): void {
    const { allOf, if: condition, then: yes, else: no, not } = schema;
    if (isList(allOf)) for (const one of allOf) this.check(value, one);
    if (condition !== undefined) this.check(value, this.#fits(value, condition) ? yes : no);
    if (not !== undefined && this.#fits(value, not)) this.#add("not", schema, value);
  }

  #fits(value: unknown, schema: unknown): boolean {
    return faultsOf(value, schema, this.#root, 0).length === 0;
  }
}

const cases = new WeakMap<readonly unknown[], ReadonlyMap<unknown, unknown>>();

function casesOf(branches: readonly unknown[], tag: string, root: object) {
  const known = cases.get(branches) ?? new Map(branches.map((one) => [tagOf(one, tag, root), one]));
  cases.set(branches, known);
  return known;
}

const bounds: readonly (readonly [keyword: string, isBeyond: (a: number, b: number) => boolean])[] =
  [
    ["minimum", (value, bound) => value < bound],
    ["exclusiveMinimum", (value, bound) => value <= bound],
    ["maximum", (value, bound) => value > bound],
    ["exclusiveMaximum", (value, bound) => value >= bound],
  ];
const itemSizes = ["minItems", "maxItems"] as const;
const fieldSizes = ["minProperties", "maxProperties"] as const;
const textSizes = ["minLength", "maxLength", "pattern"] as const;
const sizes = [...bounds.map(([keyword]) => keyword), ...itemSizes, ...fieldSizes, ...textSizes];
const nothing: readonly string[] = [];
const noFields: SchemaObject = {};

/** A schema as the walk needs it. V8 reads objects fast that all have the same fields. */
class Rules {
  readonly schema: SchemaObject;
  readonly reference: string | undefined;
  readonly type: unknown;
  readonly meaning: unknown;
  readonly bounds: readonly {
    readonly keyword: string;
    readonly isBeyond: (a: number, b: number) => boolean;
    readonly bound: number;
  }[];
  readonly properties: SchemaObject;
  readonly others: unknown;
  readonly required: readonly string[];
  readonly dependent: readonly (readonly [string, readonly string[]])[];
  readonly hasValues: boolean;
  readonly hasBounds: boolean;
  readonly hasNames: boolean;
  readonly isUnion: boolean;
  readonly isConditional: boolean;
  /** It has no other rule than its type. */
  readonly isType: boolean;

  constructor(schema: SchemaObject) {
    const { $ref: reference, properties, required, dependentRequired } = schema;
    const has = (...names: readonly string[]): boolean =>
      names.some((name) => schema[name] !== undefined);
    this.schema = schema;
    this.reference = isText(reference) ? reference : undefined;
    this.type = schema["type"];
    this.meaning = Reflect.get(schema, meaning);
    this.bounds = bounds.flatMap(([keyword, isBeyond]) => {
      const bound = schema[keyword];
      return typeof bound === "number" ? [{ keyword, isBeyond, bound }] : [];
    });
    this.properties = isRecord(properties) ? properties : noFields;
    this.others = schema["additionalProperties"];
    this.required = textsOf(required);
    this.dependent = Object.entries(dependentRequired ?? {}).map(
      ([name, needed]) => [name, textsOf(needed)] as const,
    );
    this.hasValues = has("const", "enum");
    this.hasBounds = has(...sizes);
    this.hasNames = has("propertyNames");
    this.isUnion = has("oneOf", "anyOf");
    this.isConditional = has("allOf", "if", "not");
    this.isType = Object.keys(schema).every((name) => name === "type" || name === "description");
  }
}

const known = new WeakMap<SchemaObject, Rules>();

function rulesOf(schema: SchemaObject): Rules {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const made = new Rules(schema);
  known.set(schema, made);
  return made;
}

function textsOf(value: unknown): readonly string[] {
  return isList(value) ? value.filter(isText) : nothing;
}

function typesOf(branch: unknown, root: object): unknown {
  if (!isRecord(branch)) return [];
  const { $ref: reference, const: constant, type } = branch;
  if (isText(reference)) return typesOf(resolve(root, reference), root);
  return constant === undefined ? type : JSON.stringify(constant);
}

function isOfTypes(data: unknown, types: unknown): boolean {
  return isList(types) ? types.some((type) => isOfTypes(data, type)) : isOfType(data, types);
}

function isOfType(data: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return data === null;
    case "array":
      return isList(data);
    case "object":
      return isRecord(data);
    case "integer":
      return Number.isInteger(data);
    case "number":
      return Number.isFinite(data);
    case "string":
    case "boolean":
      return typeof data === type;
    default:
      return JSON.stringify(data) === type;
  }
}

/**
 * JSON Schema (draft 2020-12) with errors for people: one sentence per fault, at the fault, with the
 * expression of its place and, for misspelled names, a guess.
 *
 * Schemas that use it: refer by `#/$defs/…` only; distinguish the cases of a union by `discriminator`
 * (a constant in a field; ajv then checks that case alone, where a bare `oneOf` costs the product of
 * its levels), by which field is there (`oneOf` of `required`, beside `type: object`) or by type; use no `uniqueItems` over objects (its comparison needs prototypes).
 */
import type { AnySchemaObject, ErrorObject, ValidateFunction } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";
import { ajvModule } from "./ajv.ts";
import { codePathOf, resolve } from "./code-path.ts";
import { defined, isList, isRecord, isText } from "./guards.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { type Path, type Place, type Problem, toDiagnostics } from "./problem.ts";
import { alternativeFields, type Explained, explain } from "./schema-reason.ts";

/**
 * More faults than this are not explained: a file with so many is not what it was taken for, and a
 * list of a million wrong elements would fill the memory with sentences.
 */
export const reportedProblems = 20_000;

export interface CompiledSchema<T> {
  /** Whether the value matches the schema. */
  accepts(value: unknown): value is T;
  /**
   * The same as `accepts`, but stops at the first fault. To collect all of them can take the square of their number,
   * because ajv copies the list of errors at each reference.
   */
  fits(value: unknown): value is T;
  /** The first fault, if any. */
  firstProblem(value: unknown): Problem | undefined;
  /** What is wrong, up to about `reportedProblems`; empty for an accepted value. */
  problems(value: unknown): Problem[];
  /** The same, and whether that is all that is wrong. */
  inspect(value: unknown): { readonly problems: Problem[]; readonly complete: boolean };
  /** The same with places. */
  diagnose(value: unknown, place?: Place): Diagnostic[];
  /** The expression of a path, such as `entry.tasks["a"].model`. */
  codePath(path: Path): string;
}

/** How a schema is understood; `scripts/generate.mjs` compiles with the same. */
export const schemaOptions = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  discriminator: true,
  ownProperties: true,
  // Schemas are ours, and a test holds them against the meta-schema: to compile that one as well would
  // be half of the time that a start spends here.
  meta: false,
  validateSchema: false,
  // Optimizing the generated code takes longer than running it once.
  code: { optimize: false },
  inlineRefs: false,
  // Reported as results, never to the console.
  logger: false,
} as const;

/**
 * `root` is the name that expressions begin with. The schema is compiled on first use; where `quick` says of a
 * value that it fits, which is most of the time, that never happens. At most `explained` faults are explained.
 */
export function compileSchema<T = unknown>(
  schema: AnySchemaObject,
  root: string,
  quick: (value: unknown) => boolean = () => false,
  explained = reportedProblems,
): CompiledSchema<T> {
  let compiled: ValidateFunction<T> | undefined;
  let first: ValidateFunction<T> | undefined;
  let ajv: Ajv2020 | undefined;
  const branches = new Map<object, ValidateFunction>();
  const getAjv = (): Ajv2020 => (ajv ??= new (ajvModule())(schemaOptions));
  const branch = (one: AnySchemaObject): ValidateFunction => {
    const known = branches.get(one);
    if (known !== undefined) return known;
    const made = getAjv().compile({ $defs: schema["$defs"] as unknown, ...one });
    branches.set(one, made);
    return made;
  };
  const validate = (): ValidateFunction<T> => (compiled ??= getAjv().compile<T>(schema));
  const validateFirst = (): ValidateFunction<T> =>
    (first ??= new (ajvModule())({ ...schemaOptions, allErrors: false }).compile<T>(schema));
  const codePath = (path: Path): string => codePathOf(schema, root, path);

  const explainAll = (value: unknown, all: readonly ErrorObject[]): Problem[] => {
    const errors = collapseUnions(all, schema, branch);
    const found = errors.map((error) => ({
      keyword: error.keyword,
      codePath: codePath(pathOf(value, error.instancePath)),
      explained: explain(error, pathOf(value, error.instancePath), schema),
    }));
    return withoutNoise(found).map(({ path, reason, hint, meant }) => ({
      path,
      codePath: codePath(path),
      reason,
      ...defined({ hint }),
      ...(meant === undefined ? {} : { meant: codePath([...path.slice(0, -1), meant]) }),
    }));
  };
  const inspect = (value: unknown): { problems: Problem[]; complete: boolean } => {
    if (quick(value)) return { problems: [], complete: true };
    const check = validate();
    if (check(value)) return { problems: [], complete: true };
    const all = check.errors ?? [];
    const problems = explainAll(value, all.slice(0, explained));
    return { problems, complete: all.length <= explained };
  };
  const problems = (value: unknown): Problem[] => inspect(value).problems;
  return {
    accepts: (value): value is T => quick(value) || validate()(value),
    fits: (value): value is T => quick(value) || validateFirst()(value),
    firstProblem: (value) => {
      if (quick(value)) return undefined;
      const check = validateFirst();
      return check(value) ? undefined : explainAll(value, check.errors ?? [])[0];
    },
    problems,
    inspect,
    diagnose: (value, place) => toDiagnostics(problems(value), place),
    codePath,
  };
}

interface Found {
  readonly keyword: string;
  /** Of the value that ajv names, which is the object for a missing or an unknown field. */
  readonly codePath: string;
  readonly explained: Explained;
}

function key(codePath: string, field: string): string {
  return JSON.stringify([codePath, field]);
}

/** A misspelled field is one fault: not also a missing field, or an object of the wrong size. */
function withoutNoise(found: readonly Found[]): Explained[] {
  const misspelled = new Set<string>();
  const withUnknown = new Set<string>();
  for (const { keyword, codePath, explained } of found) {
    if (keyword === "additionalProperties") withUnknown.add(codePath);
    if (explained.meant !== undefined) misspelled.add(key(codePath, explained.meant));
  }
  const seen = new Set<string>();
  return found.flatMap(({ keyword, codePath, explained }) => {
    const place = explained.path.at(-1);
    if (explained.lacks?.some((field) => misspelled.has(key(codePath, field))) === true) return [];
    if (/^(min|max)Properties$/.test(keyword) && withUnknown.has(codePath)) return [];
    const once = key(codePath, `${String(place)} ${explained.reason}`);
    if (seen.has(once)) return [];
    seen.add(once);
    return [explained];
  });
}

/** A JSON pointer as a path. The value decides whether a number is an index or a key. */
function pathOf(value: unknown, pointer: string): Path {
  const path: (string | number)[] = [];
  let current = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (isList(current)) {
      path.push(Number(key));
      current = current[Number(key)];
    } else {
      path.push(key);
      current = isRecord(current) ? current[key] : undefined;
    }
  }
  return path;
}

/**
 * ajv reports a failed `anyOf` or `oneOf` as the errors of every branch, then one for the union. What
 * helps is the errors of the branch that was meant, which is the one whose type fits.
 */
function collapseUnions(
  errors: readonly ErrorObject[],
  root: AnySchemaObject,
  compile: (branch: AnySchemaObject) => ValidateFunction,
): ErrorObject[] {
  const kept: ErrorObject[] = [];
  for (const error of errors) {
    // `if` and `propertyNames` only say that something below them failed.
    if (error.keyword === "if" || error.propertyName !== undefined) continue;
    if (error.keyword !== "anyOf" && error.keyword !== "oneOf") {
      kept.push(error);
      continue;
    }
    const branches = isList(error.schema) ? error.schema.filter(isRecord) : [];
    const fields = alternativeFields(error.schema);
    if (fields.length > 0) {
      while (kept.at(-1)?.schemaPath.startsWith(`${error.schemaPath}/`) === true) kept.pop();
      // What is no object has a problem of its own: its type.
      if (isRecord(error.data)) kept.push(error);
      continue;
    }
    const failures = branches.map((branch) => {
      const check = compile(branch);
      check(error.data);
      return {
        types: typesOf(branch, root),
        errors: collapseUnions(check.errors ?? [], root, compile),
      };
    });
    const total = failures.reduce((sum, failure) => sum + failure.errors.length, 0);
    kept.splice(kept.length - total);

    const meant = failures
      .filter(({ types }) => types.length === 0 || types.some((type) => isOfType(error.data, type)))
      .sort((a, b) => a.errors.length - b.errors.length)[0];
    if (meant === undefined || meant.errors.length === 0) {
      kept.push({ ...error, params: { types: failures.flatMap(({ types }) => types) } });
      continue;
    }
    for (const one of meant.errors) {
      kept.push({ ...one, instancePath: error.instancePath + one.instancePath });
    }
  }
  return kept;
}

function typesOf(branch: AnySchemaObject, root: AnySchemaObject): string[] {
  const reference: unknown = branch["$ref"];
  const target = isText(reference) ? resolve(root, reference) : branch;
  if (!isRecord(target)) return [];
  return "const" in target
    ? [JSON.stringify(target["const"])]
    : [target["type"]].flat().filter(isText);
}

function isOfType(data: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return data === null;
    case "array":
      return isList(data);
    case "object":
      return isRecord(data);
    case "integer":
      return Number.isInteger(data);
    case "string":
    case "number":
    case "boolean":
      return typeof data === type;
    default:
      return JSON.stringify(data) === type;
  }
}

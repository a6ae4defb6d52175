/** For schemas that aren't ours: any that ajv can compile. Formats are ignored; expressions take linear time. */
import type { AnySchemaObject, ErrorObject, FuncKeywordDefinition, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { compileExpression } from "./expression.ts";
import { isRecord } from "../text/guards.ts";
import type { Path } from "./diagnostic.ts";
import { explain } from "./schema-reason.ts";

export interface ValueProblem {
  /** The path of the value that is wrong. For a missing or an unknown field, that of the object. */
  readonly at: Path;
  /** The path of the field if it is missing or unknown, else `at`. */
  readonly path: Path;
  readonly reason: string;
  /** Whether it is about the type, the size or the names of `at`, whatever its fields and items are. */
  readonly ofShape: boolean;
  /** Whether it is about one branch of a union or a condition, so that it depends on other branches. */
  readonly conditional: boolean;
}

export type ValueCheck = (value: unknown) => readonly ValueProblem[];

export type CompiledCheck =
  | { readonly kind: "compiled"; readonly check: ValueCheck }
  | { readonly kind: "invalid"; readonly reason: string };

const explained = 100;

/** With more values than this, only the first problem is reported: ajv copies all errors for each wrong value. */
const MANY_VALUES = 10_000;

export function compileValueCheck(schema: object): CompiledCheck {
  // `$schema` is not loaded. With `$async`, a check would return a promise, which looks like a yes.
  const { $schema: _schema, $async: _async, ...rules }: AnySchemaObject = { ...schema };
  try {
    const checkAll = compile(rules, true);
    let checkFirst: ValidateFunction | undefined;
    const check: ValueCheck = (value) => {
      const validate = hasMany(value) ? (checkFirst ??= compile(rules, false)) : checkAll;
      try {
        if (validate(value)) return [];
      } catch {
        // A value that can't be checked is not accepted.
        const reason = "Is nested too deeply to be checked against its JSON Schema.";
        return [{ at: [], path: [], reason, ofShape: false, conditional: false }];
      }
      return (validate.errors ?? []).slice(0, explained).map((error) => problemOf(error, rules));
    };
    return { kind: "compiled", check };
  } catch (error) {
    return { kind: "invalid", reason: error instanceof Error ? error.message : "unknown error" };
  }
}

function compile(rules: AnySchemaObject, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors,
    verbose: true,
    strict: false,
    // Compiling the meta-schema takes longer than everything else, and a wrong schema doesn't compile either.
    meta: false,
    validateSchema: false,
    ownProperties: true,
    validateFormats: false,
    // A schema that many refer to would be repeated for each of them.
    inlineRefs: false,
    logger: false,
    // Optimizing the generated code takes longer than running it a few times.
    code: { optimize: false, regExp: Object.assign(linearExpression, { code: "expression" }) },
  });
  // Ajv refuses `id`, the old name of `$id`. Here it is ignored, as any unknown keyword.
  ajv.removeKeyword("id").removeKeyword("uniqueItems").addKeyword(uniqueItems);
  return ajv.compile(rules);
}

function hasMany(value: unknown): boolean {
  const all = [value];
  for (const one of all) {
    if (all.length > MANY_VALUES) return true;
    if (isNested(one)) for (const inner of Object.values(Object(one))) all.push(inner);
  }
  return false;
}

/** Ajv's own takes quadratic time: it compares every pair. */
const uniqueItems: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (isWanted: boolean, list: readonly unknown[]) =>
    !isWanted ||
    [list.filter(isNested).map(sortedJson), list.filter((one) => !isNested(one))].every(
      hasNoneTwice,
    ),
};

const isNested = (value: unknown): boolean => typeof value === "object" && value !== null;
const hasNoneTwice = (list: readonly unknown[]): boolean => new Set(list).size === list.length;

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Throws for an expression that can't be matched in linear time: what a model sends could take forever. */
function linearExpression(source: string): {
  readonly test: (text: string) => boolean;
  readonly toString: () => string;
} {
  const compiled = compileExpression(source);
  if (compiled.kind === "compiled") {
    const { expression } = compiled;
    // ajv uses the text as the key of a matcher.
    return { test: (text) => expression.mismatch(text) === undefined, toString: () => source };
  }
  const { reason, hint } = compiled;
  throw new Error(hint === undefined ? reason : `${reason.replace(/\.$/, "")} (${hint})`);
}

const shapeKeywords = new Set(
  "required type additionalProperties propertyNames minItems maxItems minProperties maxProperties".split(
    " ",
  ),
);

function problemOf(error: ErrorObject, schema: object): ValueProblem {
  const at = error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const { path, reason, hint } = explain(error, at, schema);
  return {
    at,
    path,
    reason: hint === undefined ? reason : `${reason} (${hint})`,
    ofShape: shapeKeywords.has(error.keyword),
    conditional: /\/(?:anyOf|oneOf|not|if|then|else|dependentSchemas)(?:\/|$)/.test(
      error.schemaPath,
    ),
  };
}

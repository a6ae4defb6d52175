/**
 * Checks values that don't come from a file against JSON Schemas that aren't ours: the arguments of a tool. Unlike
 * `schema-check.ts` it accepts any schema of draft 2020-12 that ajv can compile, ignores formats and unknown
 * keywords, and takes values with ordinary prototypes.
 */
import type { AnySchemaObject, ErrorObject } from "ajv";
import { ajvCompiler } from "./ajv.ts";
import type { Path } from "./problem.ts";
import { explain } from "./schema-reason.ts";

export interface ValueProblem {
  /** Of the value that is wrong. For a missing or an unknown field, of the object. */
  readonly at: Path;
  /** Of the field, where a field is missing or unknown. Else the same as `at`. */
  readonly path: Path;
  readonly reason: string;
  readonly keyword: string;
  /** Whether it is about one branch of a union or a condition, so that it depends on other branches. */
  readonly conditional: boolean;
}

export type ValueCheck = (value: unknown) => readonly ValueProblem[];

export type CompiledCheck =
  | { readonly kind: "compiled"; readonly check: ValueCheck }
  | { readonly kind: "invalid"; readonly reason: string };

/** Problems of one value that are explained. */
const explained = 100;

export function compileValueCheck(schema: object): CompiledCheck {
  // What `$schema` names is not loaded. With `$async`, a check would return a promise, which looks like a yes.
  const { $schema: _schema, $async: _async, ...rules }: AnySchemaObject = { ...schema };
  const Compiler = ajvCompiler();
  try {
    const validate = new Compiler({
      allErrors: true,
      verbose: true,
      strict: false,
      // Compiling the meta-schema takes longer than everything else, and a wrong schema doesn't compile either.
      meta: false,
      validateSchema: false,
      ownProperties: true,
      validateFormats: false,
      logger: false,
      // Optimizing the generated code takes longer than running it a few times.
      code: { optimize: false },
    }).compile(rules);
    const check: ValueCheck = (value) =>
      validate(value)
        ? []
        : (validate.errors ?? []).slice(0, explained).map((error) => problemOf(error, rules));
    return { kind: "compiled", check };
  } catch (error) {
    return { kind: "invalid", reason: error instanceof Error ? error.message : "unknown error" };
  }
}

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
    keyword: error.keyword,
    conditional: /\/(?:anyOf|oneOf|not|if|then|else|dependentSchemas)(?:\/|$)/.test(
      error.schemaPath,
    ),
  };
}

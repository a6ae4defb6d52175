/**
 * Checks values that don't come from a file against JSON Schemas that aren't ours: the arguments of a tool. Unlike
 * `schema-check.ts` it accepts any schema of draft 2020-12 that ajv can compile, ignores formats and unknown
 * keywords, and takes values with ordinary prototypes. Neither the schema nor the value can make it take long: see
 * `schema-steps.ts`.
 */
import type { AnySchemaObject, ErrorObject, ValidateFunction } from "ajv";
import { ajvModule } from "./ajv.ts";
import type { Path } from "./problem.ts";
import { explain } from "./schema-reason.ts";
import { counting, Steps, TooManySteps } from "./schema-steps.ts";

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
/** Of a check: less than a tenth of a second. */
const mostSteps = 4_000_000;
/** Of looking for all that is wrong: ajv copies the list of errors at each reference. */
const explainingSteps = 5_000;
/** Of a larger schema, only the first problem is explained: to compile it again takes a tenth of a second or more. */
const mostExplainedParts = 300;

export interface ValueCheckOptions {
  /**
   * For the schema of somebody else, who checks the arguments again: regular expressions that can't be matched in
   * linear time, or that are too long, match everything. Such a schema can have fewer parts. Default: they are invalid.
   */
  readonly lenient?: boolean;
}

export function compileValueCheck(
  schema: object,
  { lenient = false }: ValueCheckOptions = {},
): CompiledCheck {
  // What `$schema` names is not loaded. With `$async`, a check would return a promise, which looks like a yes.
  const { $schema: _schema, $async: _async, ...rules }: AnySchemaObject = { ...schema };
  const steps = new Steps();
  try {
    const { schema: counted, parts } = counting(rules, { foreign: lenient });
    const compile = (allErrors: boolean): ValidateFunction => {
      const ajv = new (ajvModule().Ajv2020)({
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
        code: { optimize: false, regExp: steps.expressions(lenient) },
      });
      steps.addTo(ajv);
      return ajv.compile(counted);
    };
    const validate = compile(false);
    let validateAll: ValidateFunction | undefined;
    const problems = (errors: ValidateFunction["errors"]): readonly ValueProblem[] =>
      (errors ?? []).slice(0, explained).map((error) => problemOf(error, rules));
    const check: ValueCheck = (value) => {
      steps.restart(mostSteps);
      try {
        if (validate(value)) return [];
      } catch (error) {
        return [unchecked(error)];
      }
      const first = problems(validate.errors);
      if (parts > mostExplainedParts) return first;
      steps.restart(explainingSteps);
      try {
        validateAll ??= compile(true);
        validateAll(value);
        return problems(validateAll.errors);
      } catch {
        return first;
      }
    };
    return { kind: "compiled", check };
  } catch (error) {
    return { kind: "invalid", reason: error instanceof Error ? error.message : "unknown error" };
  }
}

/** A value that can't be checked is not accepted. */
function unchecked(error: unknown): ValueProblem {
  const reason =
    error instanceof TooManySteps
      ? "Is too large to be checked against its JSON Schema."
      : "Is nested too deeply to be checked against its JSON Schema.";
  return { at: [], path: [], reason, keyword: "", conditional: false };
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

import { defined } from "../text/guards.ts";
import type { Described } from "../document/describe.ts";
import { meaning } from "../document/schema-check.ts";

export type Meaning =
  | "category"
  | "task"
  /** With a structured result. */
  | "task with a result"
  | "job"
  | "relic"
  | "monument"
  | "tool"
  /** A tool of the entry, or a job tool. */
  | "tool of a task"
  /** Must not be that of a task. */
  | "name of a work"
  | "glob"
  | "glob inside"
  | "file of the repository"
  | "tool pattern"
  | "command pattern"
  /** A JSON Schema of an object. */
  | "parameters"
  | PromptMeaning
  | "work"
  /** The id of a task, in place of a `Ref` to it. */
  | "work of a task";
export type PromptMeaning =
  "variable" | "prompt" | "prompt of a task" | "prompt of a work" | "condition";

export function means<const S extends object = typeof name>(what: Meaning, schema?: S): S {
  const given: object = schema ?? name;
  return withMeaning({ ...given, [meaning]: what });
}

/** The meaning is no keyword, and not a part of the type. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters
function withMeaning<S>(schema: object): S;
function withMeaning(schema: object): object {
  return schema;
}

export const listOf = (what: Meaning, description?: string, more: object = {}) =>
  ({ type: "array", items: means(what), ...more, ...defined({ description }) }) as const;

export const text = { type: "string" } as const;
export const name = { type: "string", minLength: 1 } as const;
export const texts = { type: "array", items: text } as const;
export const names = { type: "array", items: name } as const;

export const textOf = (description: string) => ({ ...text, description }) as const;
export const named = (description: string) => ({ ...name, description }) as const;
export const flag = (description: string, fallback: boolean) =>
  ({ type: "boolean", default: fallback, description }) as const;
export const choice = <const Values extends readonly string[]>(
  values: Values,
  fallback: Values[number],
  description: string,
) => ({ enum: values, default: fallback, description }) as const;

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

/** A whole number from 1 on. */
export const whole = (description: string, bounds: Bounds = {}) =>
  ({ type: "integer", minimum: 1, ...bounds, description }) as const;
/** A number over 0. */
export const positive = (description: string, bounds: Bounds = {}) =>
  ({ type: "number", exclusiveMinimum: 0, ...bounds, description }) as const;

export function ref<T = unknown>(
  definition: string,
  description?: string,
): Described<T> & { readonly $ref: string } {
  return { $ref: `#/$defs/${definition}`, ...defined({ description }) };
}

export const list = <const Item extends object>(
  items: Item,
  description: string,
  more: object = {},
) => ({ type: "array", items, ...more, description }) as const;

export const object = <const P extends object, const R extends readonly string[]>(
  properties: P,
  required: R,
  more: object = {},
) => ({ type: "object", ...more, properties, required, additionalProperties: false }) as const;

export const map = <const V extends object>(values: V, more: object) =>
  ({ type: "object", ...more, additionalProperties: values }) as const;

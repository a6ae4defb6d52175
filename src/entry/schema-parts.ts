import { defined } from "../text/guards.ts";
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
  /** Of the entry, or a job tool. */
  | "tool of a task"
  /** Must not be that of a task. */
  | "name of a work"
  | "glob"
  | "glob inside"
  | "tool pattern"
  | "command pattern"
  /** A JSON Schema of an object. */
  | "parameters"
  | PromptMeaning
  | "work";
export type PromptMeaning =
  "variable" | "prompt" | "prompt of a task" | "prompt of a work" | "condition";

export function means(what: Meaning, schema: object = name): object {
  return { ...schema, [meaning]: what };
}

export function listOf(what: Meaning, description?: string, more: object = {}): object {
  return { type: "array", items: means(what), ...more, ...defined({ description }) };
}

export const text = { type: "string" } as const;
export const name = { type: "string", minLength: 1 } as const;
export const texts = { type: "array", items: text } as const;
export const names = { type: "array", items: name } as const;

export const textOf = (description: string) => ({ ...text, description });
export const named = (description: string) => ({ ...name, description });
export const flag = (description: string, fallback: boolean) => ({
  type: "boolean",
  default: fallback,
  description,
});
export const choice = (values: readonly string[], fallback: string, description: string) => ({
  enum: values,
  default: fallback,
  description,
});

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

/** A whole number from 1 on. */
export const whole = (description: string, bounds: Bounds = {}) => ({
  type: "integer",
  minimum: 1,
  ...bounds,
  description,
});
/** A number over 0. */
export const positive = (description: string, bounds: Bounds = {}) => ({
  type: "number",
  exclusiveMinimum: 0,
  ...bounds,
  description,
});

export function ref(definition: string, description?: string): object {
  return { $ref: `#/$defs/${definition}`, ...defined({ description }) };
}

export function object(properties: object, required: readonly string[], more: object = {}): object {
  return { type: "object", ...more, properties, required, additionalProperties: false };
}

export function map(values: object, more: object): object {
  return { type: "object", ...more, additionalProperties: values };
}

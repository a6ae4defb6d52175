import type { Described, SchemaType } from "../../document/describe.ts";

export const text = (description: string) => ({ type: "string", description }) as const;

export const whole = (minimum: number, description: string) =>
  ({ type: "integer", minimum, description }) as const;

export const flag = (description: string) =>
  ({ type: "boolean", const: true, description }) as const;

export const list = <const Item>(description: string, items: Item) =>
  ({ type: "array", description, items }) as const;

export const filled = <const Item>(description: string, items: Item) =>
  ({ type: "array", description, minItems: 1, items }) as const;

export const map = <const Value>(description: string, additionalProperties: Value) =>
  ({ type: "object", description, additionalProperties }) as const;

export const string = { type: "string" } as const;
export const nonEmpty = { type: "string", minLength: 1 } as const;

export type ConditionField = SchemaType<ReturnType<typeof condition>>;

export const condition = (description: string) =>
  ({
    type: ["string", "object"],
    description: `${description} A plain string is short for "contains".`,
    minLength: 1,
    minProperties: 1,
    additionalProperties: false,
    properties: {
      contains: strings("What the text must contain: one string or several."),
      excludes: strings("What the text must not contain: one string or several."),
      equals: text("The whole text, apart from white space at its end."),
      matches: text("A JavaScript regular expression that must match somewhere in the text."),
    },
  }) as const;

/** Needs a schema that has `condition` as `$defs.text`. */
export const conditionRef = (description: string): Described<ConditionField> => ({
  $ref: "#/$defs/text",
  description,
});

const strings = (description: string) =>
  ({
    type: ["string", "array"],
    description,
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  }) as const;

export const results = ["succeeded", "failed", "canceled", "skipped"] as const;
export const outcomes = ["succeeded", "failed", "crashed", "canceled"] as const;
export type RunResult = (typeof results)[number];
export type WorkResult = (typeof outcomes)[number];

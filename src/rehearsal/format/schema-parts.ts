/** What the parts of the schema of a rehearsal are made of. */
import type { SchemaType } from "../../document/schema-type.ts";

export const text = (description: string) => ({ type: "string", description }) as const;

export const whole = (minimum: number, description: string) =>
  ({ type: "integer", minimum, description }) as const;

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

const strings = (description: string) =>
  ({
    type: ["string", "array"],
    description,
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  }) as const;

/** How a job ends, and how a work does. */
export const results = ["succeeded", "failed", "canceled", "skipped"] as const;
export const outcomes = ["succeeded", "failed", "crashed", "canceled"] as const;
export type RunResult = (typeof results)[number];
export type WorkResult = (typeof outcomes)[number];

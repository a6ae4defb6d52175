/** What the parts of the schema of a rehearsal are made of. */

export const text = (description: string) => ({ type: "string", description });

export const whole = (minimum: number, description: string) => ({
  type: "integer",
  minimum,
  description,
});

export const condition = (description: string) => ({
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
});

function strings(description: string) {
  return {
    type: ["string", "array"],
    description,
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  };
}

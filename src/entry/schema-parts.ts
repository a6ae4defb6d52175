/** What the parts of the schema of an entry are built from. */

export const text = { type: "string" } as const;
export const name = { type: "string", minLength: 1 } as const;
export const texts = { type: "array", items: { type: "string" } } as const;
export const names = { type: "array", items: { type: "string", minLength: 1 } } as const;

export function ref(definition: string, description?: string): object {
  const reference = { $ref: `#/$defs/${definition}` };
  return description === undefined ? reference : { ...reference, description };
}

export function object(properties: object, required: readonly string[], more: object = {}): object {
  return { type: "object", ...more, properties, required, additionalProperties: false };
}

export function map(values: object, more: object): object {
  return { type: "object", ...more, additionalProperties: values };
}

/** Where schemas are in a JSON Schema of draft 2020-12. */
export const schemaPlaces: ReadonlyMap<string, "schema" | "list" | "map"> = new Map([
  ...(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"] as const).map(
    (keyword) => [keyword, "map"] as const,
  ),
  ...(["allOf", "anyOf", "oneOf", "prefixItems"] as const).map(
    (keyword) => [keyword, "list"] as const,
  ),
  ...(
    [
      "items",
      "additionalProperties",
      "contains",
      "not",
      "if",
      "then",
      "else",
      "propertyNames",
      "unevaluatedItems",
      "unevaluatedProperties",
    ] as const
  ).map((keyword) => [keyword, "schema"] as const),
]);

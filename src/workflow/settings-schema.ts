/** The schema of the front matter of a workflow, with parts of that of an entry. */
import { entrySchema } from "../entry/entry-schema.ts";

const name = { type: "string", minLength: 1 } as const;
const { permissions, limits, model } = entrySchema.$defs;

export const settingsSchema = {
  type: "object",
  properties: {
    model: { oneOf: [name, { $ref: "#/$defs/model" }] },
    models: { type: "object", additionalProperties: name },
    permissions: { $ref: "#/$defs/permissions" },
    agentTools: { type: "array", items: name },
    limits: { $ref: "#/$defs/limits" },
    answers: {
      type: "object",
      additionalProperties: {
        oneOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
      },
    },
  },
  additionalProperties: false,
  $defs: { model, permissions, limits },
} as const;

/** The schema of the front matter of a workflow, with parts of that of an entry. */
import { entrySchema } from "../../entry/entry-schema.ts";
import { declarations, toolName } from "../../entry/tool-declarations.ts";

const name = { type: "string", minLength: 1 } as const;
const { permissions, limits, model, tool, mcpServer } = entrySchema.$defs;

export const settingsSchema = {
  type: "object",
  properties: {
    model: { oneOf: [name, { $ref: "#/$defs/model" }] },
    models: { type: "object", additionalProperties: name },
    permissions: { $ref: "#/$defs/permissions" },
    agentTools: { type: "array", items: name },
    tools: declarations("tool", toolName, "Commands and modules, by name."),
    mcpServers: declarations("mcpServer", toolName, "MCP servers, by name."),
    limits: { $ref: "#/$defs/limits" },
    answers: {
      type: "object",
      additionalProperties: {
        oneOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
      },
    },
  },
  additionalProperties: false,
  $defs: { model, permissions, limits, tool, mcpServer },
} as const;

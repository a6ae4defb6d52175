/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
/** Published as `schema/action-protocol.schema.json`. What it can't express is checked in `preflight.ts`. */
import type { Described, SchemaType } from "../document/describe.ts";

/** Limits of a document: its actions, those in groups included, and how deep groups may be nested. */
export const documentLimits = { actions: 32, depth: 3 } as const;

const id = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } as const;
function ref<T>(name: string): { readonly $ref: string } & Described<T> {
  return { $ref: `#/$defs/${name}` };
}
const reference = { type: "string", pattern: "^\\$\\{\\{[^{}]+\\}\\}$" } as const;

function paramsOf(name: string): object {
  return {
    if: {
      properties: { action: { const: name } },
      required: ["action"],
      not: { required: ["sub_actions"] },
    },
    then: { properties: { params: { $ref: `#/$defs/${name}` } } },
  };
}

const context = {
  type: "object",
  additionalProperties: false,
  properties: {
    knowledge_relics: {
      type: "array",
      uniqueItems: true,
      items: { type: "string", minLength: 1 },
    },
    security_level: {
      enum: ["user", "admin", "system"],
      deprecated: true,
      description: "Ignored: rights come from the permissions of the task.",
    },
    variables: {
      type: "object",
      propertyNames: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]{0,63}$" },
      additionalProperties: true,
      description: "Merged into the variables of the run. Null deletes a variable.",
    },
  },
} as const;

const display = {
  type: ["object", "null"],
  required: ["type"],
  properties: {
    type: { type: "string", examples: ["progress_bar", "status_message"] },
    label: { type: "string" },
    estimated_duration_seconds: { type: "integer", minimum: 0 },
  },
} as const;

const action = {
  type: "object",
  required: ["action", "type"],
  additionalProperties: false,
  properties: {
    action_id: ref<string>("id"),
    action: { type: "string", minLength: 1 },
    type: { enum: ["tool", "internal", "relic", "monument"] },
    description: { type: "string" },
    params: { type: "object", default: {} },
    execution: { enum: ["SYNC", "ASYNC"], default: "SYNC" },
    depends_on: {
      type: ["string", "array"],
      pattern: id.pattern,
      uniqueItems: true,
      minItems: 1,
      // Not a reference: ajv has to see that they are texts, or it compares each with each.
      items: id,
    },
    display: ref<SchemaType<typeof display>>("display"),
    sub_actions: { type: "array", minItems: 1, items: ref<ActionSpec>("action") },
  },
  if: { not: { required: ["sub_actions"] } },
  then: { required: ["params"] },
  allOf: [paramsOf("task_manager"), paramsOf("trap_card"), paramsOf("delegate")],
} as const;

const thought = {
  type: "object",
  required: ["type", "content"],
  additionalProperties: false,
  properties: {
    type: {
      type: "string",
      pattern: "^[A-Z][A-Z_]{0,31}$",
      examples: ["PLAN", "OBSERVATION", "DECISION", "ASSUMPTION"],
    },
    content: { type: "string" },
    actions: {
      type: "array",
      items: ref<ActionSpec>("action"),
      description: "Read-only SYNC actions. They run before the actions of the document.",
    },
  },
} as const;

export interface ActionSpec extends SchemaType<typeof action> {}
export type ActionDocument = SchemaType<typeof messageSchema>;

export const messageSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "urn:master-schema:2.0",
  title: "agent-jobs action document",
  description: `What a model answers in a task with \`protocol: actions\`. Beyond this schema: ids are unique, at most ${documentLimits.actions} actions in all, groups at most ${documentLimits.depth} levels deep.`,
  type: "object",
  required: ["status", "thoughts", "actions", "stop", "response"],
  additionalProperties: false,
  properties: {
    status: { enum: ["SUCCESS", "EXECUTING", "ERROR", "TASK_STARTED"] },
    context: ref<SchemaType<typeof context>>("context"),
    thoughts: { type: "array", items: ref<SchemaType<typeof thought>>("thought") },
    actions: {
      type: ["array", "null"],
      maxItems: documentLimits.actions,
      items: ref<ActionSpec>("action"),
    },
    stop: { type: "boolean" },
    response: { type: ["string", "null"] },
  },
  $defs: {
    id,
    context,
    thought,
    display,
    action,
    task_manager: {
      type: "object",
      required: ["operation"],
      additionalProperties: false,
      properties: {
        operation: { enum: ["get_status", "get_result", "list", "wait", "cancel"] },
        ids: {
          type: "array",
          minItems: 1,
          items: { type: "string", minLength: 1 },
          description: "Without ids, wait waits for all tasks that are running.",
        },
        task_id: { type: "string", minLength: 1, description: "Short for ids with one element." },
        mode: { enum: ["any", "all"], default: "all" },
        timeoutSeconds: { anyOf: [{ type: "number", minimum: 0 }, reference] },
        offset: {
          anyOf: [{ type: "integer", minimum: 0 }, reference],
          description: "get_result: the first character to return of a result that was cut.",
        },
      },
    },
    trap_card: {
      type: "object",
      required: ["operation"],
      additionalProperties: false,
      properties: {
        operation: { enum: ["register", "update", "remove", "list"] },
        id: { $ref: "#/$defs/id" },
        action: { $ref: "#/$defs/action" },
      },
      if: { properties: { operation: { const: "list" } }, required: ["operation"] },
      then: {},
      else: {
        required: ["id"],
        if: { properties: { operation: { const: "remove" } }, required: ["operation"] },
        then: {},
        else: { required: ["action"] },
      },
    },
    delegate: {
      type: "object",
      required: ["task", "input"],
      additionalProperties: false,
      properties: { task: { type: "string", minLength: 1 }, input: { type: "string" } },
    },
  },
} as const;

/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
/**
 * The schema of a document of the protocol, and its reading. Size and nesting are checked before anything recurses. Objects
 * of a document have no prototype, nor `__proto__`.
 */
import { isList, isRecord } from "../text/guards.ts";
import { readJson } from "../document/read-document.ts";
import { type Path, textPositions } from "../document/diagnostic.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { truncateUnredacted } from "../text/truncate.ts";
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

/** Published as `schema/action-protocol.schema.json`. What it can't express is checked in `preflight.ts`. */
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

/** The kind of a problem. */
export type ProblemCode =
  /** The text is longer than `maxCharacters`, or has more than `maxValues` values. */
  | "too_large"
  /** The text is empty, or isn't exactly one JSON document without duplicate keys. */
  | "not_json"
  /** The answer ends where the model's output limit has cut it. */
  | "cut"
  /** A key or an id is `__proto__`. */
  | "forbidden_name"
  /** The document doesn't match the published schema. */
  | "schema"
  | "too_many_actions"
  | "too_deep"
  | "duplicate_id"
  | "unknown_dependency"
  | "self_dependency"
  | "cyclic_dependency"
  | "unknown_tool"
  | "unknown_internal"
  | "unknown_relic"
  | "unknown_monument"
  | "unknown_member"
  | "unknown_task"
  /** The params don't match the schema of the tool. */
  | "invalid_params"
  /** `${{` that begins no reference. */
  | "invalid_reference"
  /** A reference to a variable or an action that doesn't exist. */
  | "unknown_reference"
  /** An action that changes something, where only reading is allowed. */
  | "not_read_only"
  /** An ASYNC action in a thought. */
  | "not_sync"
  /** All variables together would be larger than the limit. */
  | "variables_too_large";

/** Something wrong with a document, as the model sees it. At most 20 are listed, and how many more there are. */
export interface ProtocolProblem {
  /** A JSON pointer into the document, at most 300 characters long. Empty for the document as a whole. */
  readonly path: string;
  /** For programs. */
  readonly code: ProblemCode;
  /** For the model, at most 500 characters long. */
  readonly message: string;
}

export function pointerOf(path: Path): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

const messageLimits = {
  characters: 1_000_000,
  /** Objects, lists, texts, numbers… in a document. Bounds the time of checks that compare values pairwise. */
  values: 10_000,
  nesting: 100,
  problems: 20,
  pathCharacters: 300,
  reasonCharacters: 500,
} as const;

export type Rejected = {
  readonly kind: "rejected";
  readonly problems: readonly ProtocolProblem[];
};
type ReadMessage = { readonly kind: "read"; readonly document: ActionDocument } | Rejected;

/** More than are reported, because several can be one fault. Explaining thousands would take seconds. */
const explained = 10 * messageLimits.problems;
const schema = schemaCheck<ActionDocument>(messageSchema, "document", explained);

export function readMessage(answer: unknown): ReadMessage {
  const parsed = parse(typeof answer === "string" ? answer : jsonOf(answer));
  if (parsed.kind === "rejected") return parsed;
  const { value } = parsed;
  const unsafe = scan(value);
  if (unsafe !== undefined) return reject([unsafe]);
  if (schema.accepts(value)) return { kind: "read", document: value };
  return reject(
    schema.problems(value).map(({ path, reason, hint }): ProtocolProblem => {
      const message = hint === undefined ? reason : `${reason} (${hint})`;
      return { path: pointerOf(path), code: "schema", message };
    }),
  );
}

export function reject(problems: readonly ProtocolProblem[]): Rejected {
  const { problems: most, pathCharacters, reasonCharacters } = messageLimits;
  const listed = problems.slice(0, most).map(({ path, code, message }) => ({
    path: shortened(path, pathCharacters),
    code,
    message: shortened(message, reasonCharacters),
  }));
  const rest = problems.length - most;
  if (rest <= 0) return { kind: "rejected", problems: listed };
  const [first] = problems;
  const more: ProtocolProblem = {
    path: "",
    code: first?.code ?? "schema",
    message: `At least ${rest} more problems are not listed.`,
  };
  return { kind: "rejected", problems: [...listed, more] };
}

function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : truncateUnredacted(text, limit - 1, "…");
}

type Parsed = { readonly kind: "parsed"; readonly value: unknown } | Rejected;

function parse(answer: string): Parsed {
  const whole = (code: ProblemCode, message: string): Parsed =>
    reject([{ path: "", code, message }]);
  if (answer.length > messageLimits.characters) {
    return whole(
      "too_large",
      `The answer has ${answer.length} characters. The maximum is ${messageLimits.characters}.`,
    );
  }
  const text = withoutFence(answer);
  if (text.trim() === "") return whole("not_json", "The answer is empty.");
  const read = readJson(text, { bytes: messageLimits.characters, nesting: messageLimits.nesting });
  if (read.kind === "read") return { kind: "parsed", value: read.value };
  const positionOf = textPositions(text);
  return reject(
    read.faults.map(({ offset, reason, hint }) => {
      const { line, column } = positionOf(Math.min(offset, text.length));
      const problem = reason.replace(/\b([Tt]he) file\b/, "$1 answer");
      const help = hint === undefined ? "" : ` (${hint})`;
      return {
        path: "",
        code: "not_json",
        message: `Not one JSON document: line ${line}, column ${column}: ${problem}${help}`,
      };
    }),
  );
}

/** Empty for what is no JSON. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function withoutFence(answer: string): string {
  const text = answer.trim();
  const firstEnd = text.indexOf("\n");
  const lastStart = text.lastIndexOf("\n");
  const mark = /^(`{3,}|~{3,})[ \t]*[\w+-]*$/.exec(text.slice(0, firstEnd).trimEnd())?.[1];
  const isFenced = firstEnd < lastStart && text.slice(lastStart + 1) === mark;
  return isFenced ? text.slice(firstEnd + 1, lastStart) : answer;
}

function scan(root: unknown): ProtocolProblem | undefined {
  let values = 0;
  const visit = (value: unknown, path: Path): ProtocolProblem | undefined => {
    if (++values > messageLimits.values) {
      const message = `The document has more than ${messageLimits.values} values.`;
      return { path: "", code: "too_large", message };
    }
    if (!isList(value) && !isRecord(value)) return undefined;
    for (const [key, item] of isList(value) ? value.entries() : Object.entries(value)) {
      if (key === "__proto__") {
        const message = `The key "__proto__" is not allowed.`;
        return { path: pointerOf([...path, key]), code: "forbidden_name", message };
      }
      const problem = visit(item, [...path, key]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return visit(root, []);
}

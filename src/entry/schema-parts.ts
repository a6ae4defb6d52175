/** What the parts of the schema of an entry are built from, and what its values can mean. */
import type { Salvaged } from "../document/salvage.ts";
import { meaning } from "../document/schema-check.ts";
import type { Prompt, RunWork, TaskWork } from "./model.ts";

/** What `check-entry.ts` checks wherever the schema has it, and the type of what the schema accepts there. */
export interface Meanings {
  /** Names. */
  readonly category: string;
  readonly task: string;
  readonly job: string;
  readonly relic: string;
  readonly monument: string;
  readonly tool: string;
  readonly "tool of a server": string;
  /** Of the entry, or a job tool. */
  readonly "tool of a task": string;
  /** Of a task with a structured result. */
  readonly "task with a result": string;
  /** Must not be that of a task. */
  readonly "name of a work": string;
  /** Patterns. */
  readonly glob: string;
  readonly "glob inside": string;
  readonly "tool pattern": string;
  readonly "command pattern": string;
  /** A JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Prompts. */
  readonly variable: Salvaged<Prompt>;
  readonly prompt: Salvaged<Prompt>;
  readonly "prompt of a task": Salvaged<Prompt>;
  readonly "prompt of a work": Salvaged<Prompt>;
  readonly condition: Salvaged<Prompt>;
  /** Works. */
  readonly Ref: Salvaged<TaskWork>;
  readonly Run: Salvaged<RunWork>;
}
export type Meaning = keyof Meanings;

/** The schema, for values that mean this. */
export function means(what: Meaning, schema: object = name): object {
  return { ...schema, [meaning]: what };
}

export function listOf(what: Meaning): object {
  return { type: "array", items: means(what) };
}

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

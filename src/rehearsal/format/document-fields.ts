/** A document of the action protocol as a reply. It is not checked: a rehearsal can play a model that writes wrong ones. */
import { isList, isRecord } from "../../text/guards.ts";
import type { Described } from "../../document/describe.ts";

const field = (description: string) => ({ description });

export interface DocumentFields {
  readonly status?: unknown;
  readonly thoughts?: unknown;
  readonly actions?: unknown;
  readonly stop?: unknown;
  readonly response?: unknown;
  readonly [field: string]: unknown;
}

export const documentSchema: Described<DocumentFields> = {
  type: "object",
  description:
    'The answer as a document of the action protocol, which is sent as JSON. Fields that are left out get the values of an ordinary document. Nothing else is checked: a wrong document is sent as it is. Use "text" for an answer that is not one JSON object.',
  properties: {
    status: field(
      'SUCCESS, EXECUTING, ERROR or TASK_STARTED. Default: "SUCCESS" if the document stops without actions, else "EXECUTING".',
    ),
    context: field("`knowledge_relics` and `variables`. Default: none."),
    thoughts: field("A list of `{ type, content }`, possibly with `actions`. Default: none."),
    actions: field("A list of actions, or null. Default: null."),
    stop: field("Whether the run ends. Default: true if the document has no actions."),
    response: field("The answer for people, or null. Default: null."),
  },
};

export function completeDocument(fields: DocumentFields): DocumentFields {
  const idle = !hasActions(fields) && ![fields.thoughts].flat().some(hasActions);
  const { stop = idle } = fields;
  const status = idle && stop === true ? "SUCCESS" : "EXECUTING";
  return { status, thoughts: [], actions: null, stop, response: null, ...fields };
}

export function shortDocument(document: DocumentFields): DocumentFields {
  let short = document;
  // The default of the status depends on stop, so it goes first.
  for (const name of ["status", "thoughts", "actions", "stop", "response"]) {
    const { [name]: value, ...rest } = short;
    const same = JSON.stringify(completeDocument(rest)[name]) === JSON.stringify(value);
    if (same && value !== undefined) short = rest;
  }
  return short;
}

function hasActions(value: unknown): boolean {
  return isRecord(value) && isList(value["actions"]) && value["actions"].length > 0;
}

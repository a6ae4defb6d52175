/**
 * Asks a model server for an answer in JSON. The SDK has no call for it (docs/internals/runtime-notes.md#answer-formats). Pure;
 * knows the wire APIs that the runtime speaks. What comes back is checked as any other answer: this only makes a
 * fitting one more likely.
 */
import { isRecord, parsedJson } from "../document/guards.ts";
import type { AnswerFormat } from "../engine/ports.ts";
import type { WireRequest } from "./history.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface FormattedRequest {
  readonly body: string;
  /** The server and the model that are asked. */
  readonly asked: string;
}

/** The request with the format; undefined if it can't have one, or has one already. */
export function withAnswerFormat(
  { url, method, body }: WireRequest,
  format: AnswerFormat,
): FormattedRequest | undefined {
  if (method !== "POST" || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  const fields = parsed(body);
  const written = fields && rewritten(pathname.replace(/(?<!\/)\/+$/, ""), fields, format);
  if (written === undefined) return undefined;
  return {
    body: JSON.stringify(written),
    asked: `${origin}${pathname} ${JSON.stringify(fields?.["model"])}`,
  };
}

/** Whether a status may mean that the server refuses a field of the request. */
export function isRefusal(status: number): boolean {
  return status === 400 || status === 422;
}

function rewritten(
  path: string,
  fields: Fields,
  { name, schema }: AnswerFormat,
): Fields | undefined {
  // Not strict: a strict format takes no objects with fields of any name, such as the params of an action.
  const described = { name, schema, strict: false };
  if (path.endsWith("/chat/completions")) {
    if ((fields["response_format"] ?? null) !== null) return undefined;
    return { ...fields, response_format: { type: "json_schema", json_schema: described } };
  }
  if (path.endsWith("/responses")) {
    const text = fields["text"] ?? {};
    if (!isRecord(text) || (text["format"] ?? null) !== null) return undefined;
    return { ...fields, text: { ...text, format: { type: "json_schema", ...described } } };
  }
  // Anthropic's API has only strict formats.
  return undefined;
}

function parsed(body: string): Fields | undefined {
  const value = parsedJson(body);
  return isRecord(value) ? value : undefined;
}

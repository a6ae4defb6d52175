/**
 * Adds to the model requests of a session what the SDK has no call for
 * (docs/internals/runtime-notes.md#history, #answer-formats).
 */
import type { AnswerFormat, PastMessage } from "../engine/ports.ts";
import { isRecord, parsedJson, urlOf } from "../text/guards.ts";

export interface WireRequest {
  readonly url: string;
  readonly method: string;
  readonly body: string;
}

type Fields = Readonly<Record<string, unknown>>;

const conversations: Readonly<
  Record<string, (fields: Fields, history: readonly PastMessage[]) => Fields | undefined>
> = { "/chat/completions": chat, "/responses": responses, "/messages": messages };

/** `added`: messages of the history. A string: why it must not be sent, since it can't carry the history. */
export function withHistory(
  request: WireRequest,
  past: readonly PastMessage[],
): { readonly body: string; readonly added: number } | string {
  const { method, body } = request;
  // Anthropic refuses a message without text, and no model learns anything from it.
  const history = past.filter(({ text }) => text.trim() !== "").map(wellFormed);
  const unchanged = { body, added: 0 };
  if (history.length === 0 || method !== "POST" || body === "") return unchanged;
  const path = pathOf(request.url);
  const fields = parsed(body);
  const api = Object.keys(conversations).find((end) => path.endsWith(end));
  if (api === undefined && fields !== undefined) {
    const asks = ["messages", "input", "prompt", "contents"].some((name) => name in fields);
    if (!asks || path.endsWith("/embeddings")) return unchanged;
  }
  const written = fields && conversations[api ?? ""]?.(fields, history);
  return written === undefined
    ? `The conversation so far can't be put into a model request to ${path}: its form is not supported.`
    : { body: JSON.stringify(written), added: history.length };
}

function chat(fields: Fields, history: readonly PastMessage[]): Fields | undefined {
  const written = history.map(({ role, text }) => ({ role, content: text }));
  const own = records(fields["messages"]);
  return own && { ...fields, messages: afterSystem(own, written) };
}

/** OpenAI's responses. With `previous_response_id`, only the server knows what has been sent before. */
function responses(fields: Fields, history: readonly PastMessage[]): Fields | undefined {
  if ((fields["previous_response_id"] ?? fields["conversation"] ?? null) !== null) return undefined;
  const input = fields["input"];
  const own = typeof input === "string" ? [asInput({ role: "user", text: input })] : records(input);
  return own && { ...fields, input: afterSystem(own, history.map(asInput)) };
}

/** Anthropic's messages: a user begins, and roles alternate. Consecutive messages of one role become one. */
function messages(fields: Fields, history: readonly PastMessage[]): Fields | undefined {
  const own = records(fields["messages"]);
  if (own === undefined) return undefined;
  const opening = history[0]?.role === "assistant" ? [beginning] : [];
  // A user may be last in the history. The runtime's further messages stay as they are.
  const written = [...[...opening, ...history].map(asBlocks), ...own.slice(0, 1)];
  return { ...fields, messages: [...alternating(written), ...own.slice(1)] };
}

function alternating(messages: readonly Fields[]): Fields[] {
  const alternate: Fields[] = [];
  for (const message of messages) {
    const last = alternate.at(-1);
    if (last?.["role"] !== message["role"]) {
      alternate.push(message);
      continue;
    }
    const content = [...blocksOf(last), ...blocksOf(message)];
    alternate[alternate.length - 1] = { ...message, content };
  }
  return alternate;
}

const beginning: PastMessage = { role: "user", text: "(The conversation begins.)" };

function afterSystem(own: readonly Fields[], history: readonly Fields[]): Fields[] {
  const first = own.findIndex(({ role }) => role !== "system" && role !== "developer");
  const begin = first === -1 ? own.length : first;
  return [...own.slice(0, begin), ...history, ...own.slice(begin)];
}

function asInput({ role, text }: PastMessage): Fields {
  return { type: "message", role, content: text };
}

function asBlocks({ role, text }: PastMessage): Fields {
  return { role, content: [{ type: "text", text }] };
}

function blocksOf({ content }: Fields = {}): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

/** Half a surrogate pair has no place in UTF-8, and servers refuse its escape. */
function wellFormed({ role, text }: PastMessage): PastMessage {
  return { role, text: Buffer.from(text).toString() };
}

function records(value: unknown): Fields[] | undefined {
  return Array.isArray(value) && value.every(isRecord) ? value : undefined;
}

function parsed(body: string): Fields | undefined {
  const value = parsedJson(body);
  return isRecord(value) ? value : undefined;
}

function pathOf(url: string): string {
  return urlOf(url)?.pathname.replace(/(?<!\/)\/+$/, "") ?? url;
}

/* Formats of answers. What comes back is checked like any other answer. */

export function withAnswerFormat(
  { url, method, body }: WireRequest,
  format: AnswerFormat,
): { readonly body: string; readonly asked: string } | undefined {
  const address = urlOf(url);
  if (method !== "POST" || address === undefined) return undefined;
  const fields = parsed(body);
  const written = fields && formatted(pathOf(url), fields, format);
  if (written === undefined) return undefined;
  const asked = `${address.origin}${address.pathname} ${JSON.stringify(fields?.["model"])}`;
  return { body: JSON.stringify(written), asked };
}

export function isRefusal(status: number): boolean {
  return status === 400 || status === 422;
}

function formatted(
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

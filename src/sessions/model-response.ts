/**
 * Reads answers of model servers that the runtime loses or misjudges: error documents that it doesn't know, errors with
 * status 200, web pages, refusals of the model (docs/internals/runtime-notes.md#unclear-answers), and answers of the
 * responses API that break off, whose beginning it takes for the whole (#broken-answers-of-the-responses-api).
 */
import { createParser } from "eventsource-parser";
import { isRecord, parsedJson, urlOf } from "../text/guards.ts";
import type { Crash } from "../events/crash.ts";
import { capitalized } from "../events/decision.ts";
import { modelCrash, quoted, serverName, wordsOf, type ModelAddress } from "./model-error.ts";
import type { AnswerFormat, PastMessage } from "../engine/ports.ts";

const mostWhole = 10_000_000;
/** The last event holds the whole answer, of which there are 4 MB (docs/limits.md), and its text may be in it twice. */
const maxEventCharacters = 8_500_000;

type Tell = (crash: Crash) => void;

/** Calls `onData` for each event, with undefined for one that is too long, after which no further event is read. */
function watchEvents(
  onData: (data: string | undefined) => void,
  onEnd: (text: string) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let isTooLong = false;
  let first = "";
  const parser = createParser({
    maxBufferSize: maxEventCharacters,
    // The parser bounds only what it keeps, not an event that arrives at once.
    onEvent: ({ data }) => onData(data.length > maxEventCharacters ? undefined : data),
    onError({ type }) {
      if (type !== "max-buffer-size-exceeded") return;
      isTooLong = true;
      onData(undefined);
    },
  });
  const feed = (text: string): void => {
    if (!isTooLong) parser.feed(text);
  };
  return new TransformStream({
    transform(bytes, controller) {
      const text = decoder.decode(bytes, { stream: true });
      first ||= /\S/.exec(text)?.[0] ?? "";
      feed(text);
      controller.enqueue(bytes);
    },
    flush() {
      // The last event may lack the empty line behind it.
      feed("\n\n");
      onEnd(first);
    },
  });
}

/** `tell` gets the crash that the answer is, unless the runtime reports it itself. */
export async function clearAnswer(
  response: Response,
  asked: ModelAddress,
  tell: Tell,
): Promise<Response> {
  const { status, ok, body } = response;
  if (body === null) return response;
  const [first, rest] = await beginning(body);
  const headers = new Headers(response.headers);
  const isStream = /^\s*(?::|(?:data|event|id|retry):)/.test(first);
  if (ok && (isStream || first.trim() === ""))
    return new Response(rest.pipeThrough(watchRefusal(asked, tell)), { status, headers });
  const text = await textOf(rest);
  headers.delete("content-length");
  const value = parsedJson(text);
  if (ok && isAnswer(value)) return new Response(text, { status, headers });
  if (!ok) {
    const { error: reported } = { error: value, ...(isRecord(value) ? value : {}) };
    headers.set("content-type", "application/json");
    const message = wordsOf(text) ?? `${status} ${response.statusText}`;
    const document = { error: { ...(isRecord(reported) ? reported : {}), message } };
    return new Response(JSON.stringify(document), { status, headers });
  }
  const crash = crashOf(text, asked);
  tell(crash);
  return stopped(crash.message);
}

/** The runtime doesn't repeat a request that is answered so. */
export function stopped(message: string): Response {
  return Response.json({ error: { message } }, { status: 400 });
}

function crashOf(text: string, asked: ModelAddress): Crash {
  const isPage = /^\s*</.test(text);
  if (!isPage && parsedJson(text) !== undefined)
    return modelCrash({ message: text, errorType: "query" }, text, asked);
  const kind = isPage ? "a web page" : "a text";
  const words = wordsOf(text);
  const message = `${capitalized(serverName(asked))} answered with ${kind} in place of an answer of a model${quoted(words)}`;
  if (!isPage) return { cause: "session-error", message };
  const advice = "Check the address, and whether a proxy or a login is in front of the server.";
  return { cause: "configuration", message: `${message} ${advice}` };
}

function isAnswer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const isError = ["error", "errors", "detail"].some((name) => (value[name] ?? null) !== null);
  return !isError || ["choices", "output", "content"].some((name) => Array.isArray(value[name]));
}

async function beginning(
  body: ReadableStream<Uint8Array>,
): Promise<readonly [string, ReadableStream<Uint8Array>]> {
  const [first, whole] = body.tee();
  const reader = first.getReader();
  const { value } = await reader.read();
  void reader.cancel();
  return [Buffer.from(value ?? []).toString(), whole];
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    if ((bytes += part.length) > mostWhole) break;
  }
  return Buffer.concat(parts).toString();
}

/** A refusal of the model is in a field of its own, and the runtime takes the answer for an empty one. */
function watchRefusal(asked: ModelAddress, tell: Tell): TransformStream<Uint8Array, Uint8Array> {
  let words = "";
  return watchEvents(
    (data = "") => {
      if (data.includes('"refusal"') && words.length < 2_000) words += refusalOf(parsedJson(data));
    },
    () => {
      if (words === "") return;
      const who = `${capitalized(serverName(asked))}, model "${asked.modelId}"`;
      const message = `${who}: the model refused to answer${quoted(wordsOf(words))}`;
      tell({ cause: "refused", message });
    },
  );
}

function refusalOf(event: unknown): string {
  const choices = isRecord(event) ? event["choices"] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = isRecord(choice) ? choice["delta"] : undefined;
  const refusal = isRecord(delta) ? delta["refusal"] : undefined;
  return typeof refusal === "string" ? refusal : "";
}

/** How a response may end. Of an incomplete one, the runtime passes on these reasons, and no other. */
const knownReasons: readonly unknown[] = ["max_output_tokens", "content_filter"];

type Sign = "broken" | "whole";

const brokeOff = "The model server broke off its answer.";
const withoutEnd =
  "The model server broke off its answer: it ended without `response.completed`. If the server never sends it, use its API of chat completions: set `provider-wire-api` (in the library, `wireApi`) to `completions`.";

/** `onError` gets the document of an error that an event holds. */
export function untilItsEnd(
  url: string,
  response: Response,
  onError: (document: unknown) => void = () => {},
): Response {
  const isResponse = /\/responses\/?$/.test(urlOf(url)?.pathname ?? "");
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  if (!isResponse || !response.ok || isJson || response.body === null) return response;
  let sign: Sign | undefined;
  const watch = watchEvents(
    (data) => {
      if (sign === "whole") return;
      const found = data === undefined ? "broken" : signOf(data);
      sign = found ?? sign;
      const event = found === "broken" ? parsedJson(data ?? "") : undefined;
      if (isRecord(event))
        onError(isRecord(event["response"]) ? event["response"]["error"] : event);
    },
    (first) => {
      // An answer in one piece, without its type: no line of a stream of events begins with a brace.
      if (sign === "whole" || first === "{") return;
      throw new Error(sign === "broken" ? brokeOff : withoutEnd);
    },
  );
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(watch), { status, statusText, headers });
}

function signOf(data: string): Sign | undefined {
  // Deltas come by the thousand: most need no parsing.
  if (!/response\.(?:completed|done|incomplete|failed)|"error"/.test(data)) return undefined;
  const event = parsedJson(data);
  if (!isRecord(event)) return undefined;
  const { type, response } = event;
  if (type === "response.failed" || type === "error") return "broken";
  if (!isRecord(response)) return undefined;
  const { status = "completed", incomplete_details: details } = response;
  if (type === "response.completed" || type === "response.done") {
    return status === "completed" ? "whole" : "broken";
  }
  if (type !== "response.incomplete") return undefined;
  return isRecord(details) && knownReasons.includes(details["reason"]) ? "whole" : "broken";
}

/*
 * Adds to the model requests of a session what the SDK has no call for
 * (docs/internals/runtime-notes.md#history, #answer-formats).
 */

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
  const opening = history[0]?.role === "assistant" ? [opener] : [];
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

const opener: PastMessage = { role: "user", text: "(The conversation begins.)" };

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
  // A strict format allows no objects with arbitrary fields, such as the params of an action.
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

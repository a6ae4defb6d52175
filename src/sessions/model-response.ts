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

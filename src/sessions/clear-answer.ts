/**
 * Reads what the runtime loses of an answer of the model server (docs/internals/runtime-notes.md#unclear-answers): error
 * documents that it doesn't know, errors with status 200, web pages, and refusals of the model.
 */
import { createParser } from "eventsource-parser";
import { isRecord, parsedJson } from "../text/guards.ts";
import type { Crash } from "../events/crash.ts";
import { capitalized } from "../events/decision.ts";
import { modelCrash, quoted, serverName, wordsOf, type ModelAddress } from "./model-error.ts";

const mostWhole = 10_000_000;

type Tell = (crash: Crash) => void;

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
    const { error: told } = { error: value, ...(isRecord(value) ? value : {}) };
    headers.set("content-type", "application/json");
    const message = wordsOf(text) ?? `${status} ${response.statusText}`;
    const document = { error: { ...(isRecord(told) ? told : {}), message } };
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

/** The first bytes of a body, and a stream of the whole body. */
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
  const decoder = new TextDecoder();
  let words = "";
  const parser = createParser({
    maxBufferSize: mostWhole,
    onEvent({ data }) {
      if (data.includes('"refusal"') && words.length < 2_000) words += refusalOf(parsedJson(data));
    },
  });
  return new TransformStream({
    transform(bytes, controller) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      controller.enqueue(bytes);
    },
    flush() {
      if (words === "") return;
      const who = `${capitalized(serverName(asked))}, model "${asked.modelId}"`;
      const message = `${who}: the model refused to answer${quoted(wordsOf(words))}`;
      tell({ cause: "refused", message });
    },
  });
}

function refusalOf(event: unknown): string {
  const choices = isRecord(event) ? event["choices"] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = isRecord(choice) ? choice["delta"] : undefined;
  const refusal = isRecord(delta) ? delta["refusal"] : undefined;
  return typeof refusal === "string" ? refusal : "";
}

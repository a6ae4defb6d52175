/**
 * The runtime takes what has arrived of an answer of the responses API for the whole if its stream breaks off
 * (docs/internals/runtime-notes.md#broken-answers-of-the-responses-api). So the stream is made to break.
 */
import { createParser } from "eventsource-parser";
import { isRecord, parsedJson, urlOf } from "../text/guards.ts";

/** How a response may end. Of an incomplete one, the runtime passes on these reasons, and no other. */
const knownReasons: readonly unknown[] = ["max_output_tokens", "content_filter"];

/** The last event holds the whole answer, of which there are 4 MB (docs/limits.md), and its text may be in it twice. */
const maxEventCharacters = 8_500_000;

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
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxEventCharacters,
    onEvent({ data }) {
      if (sign === "whole") return;
      const told = signOf(data);
      sign = told ?? sign;
      const event = told === "broken" ? parsedJson(data) : undefined;
      if (isRecord(event))
        onError(isRecord(event["response"]) ? event["response"]["error"] : event);
    },
    onError({ type }) {
      if (type !== "max-buffer-size-exceeded") return;
      isTooLong = true;
      sign ??= "broken";
    },
  });
  const feed = (text: string): void => {
    // From then on, the parser takes no more.
    if (!isTooLong) parser.feed(text);
  };
  const decoder = new TextDecoder();
  let first = "";
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      const text = decoder.decode(bytes, { stream: true });
      first ||= /\S/.exec(text)?.[0] ?? "";
      feed(text);
      controller.enqueue(bytes);
    },
    flush() {
      // The last event may lack the empty line behind it.
      feed("\n\n");
      // An answer in one piece, without its type: no line of a stream of events begins with a brace.
      if (sign === "whole" || first === "{") return;
      throw new Error(sign === "broken" ? brokeOff : withoutEnd);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(watch), { status, statusText, headers });
}

function signOf(data: string): Sign | undefined {
  // The parser bounds only what it keeps, and not an event that arrives at once.
  if (data.length > maxEventCharacters) return "broken";
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

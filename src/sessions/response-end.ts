/**
 * Whether an answer of the responses API is whole. The runtime takes the parts that have arrived for the answer if
 * the stream reports an error, or ends, after at least one of them was complete
 * (docs/runtime-notes.md#broken-answers-of-the-responses-api). Such a stream is made to break here, which the runtime
 * does understand.
 */
import { isRecord } from "../document/guards.ts";

/** How a response may end. Of an incomplete one, the runtime passes on these reasons, and no other. */
const knownReasons: readonly unknown[] = ["max_output_tokens", "content_filter"];

/** An event holds the whole answer, of which there is no more than this (docs/limits.md). */
const maxEventCharacters = 32_000_000;

/** The same response; its body breaks where it should have ended, if what has arrived is not a whole answer. */
export function untilItsEnd(url: string, response: Response): Response {
  const isResponse = URL.canParse(url) && /\/responses\/?$/.test(new URL(url).pathname);
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  if (!isResponse || !response.ok || isJson || response.body === null) return response;
  const end = new ResponseEnd();
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      end.read(bytes);
      controller.enqueue(bytes);
    },
    flush() {
      if (!end.isWhole()) throw new Error("The model server broke off its answer.");
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(watch), { status, statusText, headers });
}

/** Reads server-sent events in pieces, each character once. */
class ResponseEnd {
  readonly #decoder = new TextDecoder();
  #line: string[] = [];
  /** Of the event: the lines that begin with `data:`. */
  #data: string[] = [];
  #characters = 0;
  #whole = false;

  read(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    const [first = "", ...further] = text.split(/\r\n|\r|\n/);
    this.#add(first);
    for (const piece of further) {
      this.#endLine();
      this.#add(piece);
    }
  }

  isWhole(): boolean {
    this.#endLine();
    this.#endEvent();
    return this.#whole;
  }

  #add(piece: string): void {
    this.#characters += piece.length;
    if (this.#characters <= maxEventCharacters) this.#line.push(piece);
  }

  #endLine(): void {
    const line = this.#line.join("");
    this.#line = [];
    if (line === "") this.#endEvent();
    else if (line.startsWith("data:")) this.#data.push(line.slice("data:".length));
  }

  #endEvent(): void {
    if (this.#data.length > 0 && isEnd(this.#data.join("\n"))) this.#whole = true;
    this.#data = [];
    this.#characters = 0;
  }
}

function isEnd(data: string): boolean {
  // Deltas come by the thousand: most need no parsing.
  if (!data.includes("response.completed") && !data.includes("response.incomplete")) return false;
  const event = parsed(data);
  const response = isRecord(event) ? event["response"] : undefined;
  if (!isRecord(event) || !isRecord(response)) return false;
  const { type } = event;
  const { status = "completed", incomplete_details: details } = response;
  if (type === "response.completed") return status === "completed";
  return (
    type === "response.incomplete" && isRecord(details) && knownReasons.includes(details["reason"])
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

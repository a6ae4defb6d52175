/**
 * Whether an answer of the responses API is whole. The runtime takes the parts that have arrived for the answer if
 * the stream reports an error, or ends, after at least one of them was complete
 * (docs/internals/runtime-notes.md#broken-answers-of-the-responses-api). Such a stream is made to break here, which the runtime
 * does understand.
 */
import { isRecord, parsedJson } from "../document/guards.ts";

/** How a response may end. Of an incomplete one, the runtime passes on these reasons, and no other. */
const knownReasons: readonly unknown[] = ["max_output_tokens", "content_filter"];

/** The last event holds the whole answer, of which there are 4 MB (docs/limits.md), and its text may be in it twice. */
const maxEventCharacters = 8_500_000;

/** What is parsed of an event: it, its `response`, and the `incomplete_details` of that. */
const deepest = 3;
const longestText = 100;
const maxOutlineCharacters = 64_000;

/** What has been seen of the end: the later of these counts more. */
const signs = ["nothing", "part", "broken", "whole"] as const;
type Sign = (typeof signs)[number];

const brokeOff = "The model server broke off its answer";
const messages = {
  nothing: `${brokeOff}.`,
  part: `${brokeOff}: it ended without \`response.completed\`. If the server never sends it, use its API of chat completions: set \`provider-wire-api\` (in the library, \`wireApi\`) to \`completions\`.`,
  broken: `${brokeOff}.`,
};

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
      const sign = end.sign();
      if (sign !== "whole") throw new Error(messages[sign]);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(watch), { status, statusText, headers });
}

/** Reads server-sent events in pieces, each character once. */
class ResponseEnd {
  readonly #decoder = new TextDecoder();
  #line: string[] = [];
  #isEmptyLine = true;
  /** The last line ended in a carriage return: a line feed that follows belongs to it. */
  #afterReturn = false;
  /** Of the event: the lines that begin with `data:`. */
  #data: string[] = [];
  #characters = 0;
  #sign: Sign = "nothing";
  /** The beginning decides: no line of a stream of events begins with a brace. */
  #isJson: boolean | undefined;

  read(bytes: Uint8Array): void {
    const decoded = this.#decoder.decode(bytes, { stream: true });
    if (decoded === "") return;
    const beginning = this.#isJson === undefined ? /\S/.exec(decoded)?.[0] : undefined;
    if (beginning !== undefined) this.#isJson = beginning === "{";
    const text = this.#afterReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    this.#afterReturn = decoded.endsWith("\r");
    const [first = "", ...further] = text.split(/\r\n|\r|\n/);
    this.#add(first);
    for (const piece of further) {
      this.#endLine();
      this.#add(piece);
    }
  }

  /** After the last piece. */
  sign(): Sign {
    // An answer in one piece, without its type.
    if (this.#isJson === true) return "whole";
    this.#endLine();
    this.#endEvent();
    return this.#sign;
  }

  #add(piece: string): void {
    if (piece === "") return;
    this.#isEmptyLine = false;
    this.#characters += piece.length;
    if (this.#characters <= maxEventCharacters) this.#line.push(piece);
  }

  #endLine(): void {
    const line = this.#line.join("");
    this.#line = [];
    if (this.#isEmptyLine) this.#endEvent();
    else if (line.startsWith("data:")) this.#data.push(line.slice("data:".length));
    this.#isEmptyLine = true;
  }

  #endEvent(): void {
    const isTooLong = this.#characters > maxEventCharacters;
    const sign = isTooLong ? "broken" : signOf(this.#data.join("\n"));
    if (signs.indexOf(sign) > signs.indexOf(this.#sign)) this.#sign = sign;
    this.#data = [];
    this.#characters = 0;
  }
}

function signOf(data: string): Sign {
  // Deltas come by the thousand: most need no parsing.
  if (!/response\.(?:completed|done|incomplete|failed|output_item\.done)|"error"/.test(data)) {
    return "nothing";
  }
  const event = parsedJson(outlineOf(data));
  if (!isRecord(event)) return "nothing";
  const { type } = event;
  if (type === "response.output_item.done") return "part";
  if (type === "response.failed" || type === "error") return "broken";
  const response = event["response"];
  if (!isRecord(response)) return "nothing";
  const { status = "completed", incomplete_details: details } = response;
  if (type === "response.completed" || type === "response.done") {
    return status === "completed" ? "whole" : "broken";
  }
  if (type !== "response.incomplete") return "nothing";
  return isRecord(details) && knownReasons.includes(details["reason"]) ? "whole" : "broken";
}

/**
 * A text in JSON without what is in its lists or nested deeply, and without long texts. Parsing takes time for each
 * value: an answer of a few megabytes may take seconds, in which nothing else goes on.
 */
function outlineOf(text: string): string {
  let outline = "";
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === CLOSING_BRACE) depth -= 1;
    else if (code === CLOSING_BRACKET) depth -= deepest;
    const end = code === QUOTE ? endOfText(text, index) : index;
    if (depth <= deepest) {
      outline += end - index > longestText ? '""' : text.slice(index, end + 1);
      if (outline.length > maxOutlineCharacters) return "";
    }
    index = end;
    if (code === OPENING_BRACE) depth += 1;
    else if (code === OPENING_BRACKET) depth += deepest;
  }
  return outline;
}

/** Where the quotation mark is that closes a text. */
function endOfText(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index += 1;
    else if (code === QUOTE) return index;
  }
  return text.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

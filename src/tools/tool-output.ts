/** What tools print and return: redacted, bounded, and read for progress. */
import { StringDecoder } from "node:string_decoder";
import { isRecord, isText, parsedJson } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { withoutSequences } from "../text/harmless-text.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { redactedValue } from "../redaction/redactor.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import type { ToolProgress } from "./tool.ts";
import { truncate, truncateStart, truncateUnredacted } from "../text/truncate.ts";

/** Maximum of a result: bytes that a program prints, or UTF-16 units that an MCP server sends. */
export const longestResult = 10_000_000;
const keptTail = 2_000;
const longestLine = 1_000;
const linesPerSecond = 100;

export class ToolLog {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  readonly #onText: (text: string) => void;
  readonly #redacted: TextStream;
  #tail = "";
  #line = "";

  constructor(
    redact: () => TextStream,
    onLine: (line: string) => void,
    onText: (text: string) => void = () => {},
  ) {
    this.#redacted = redact();
    this.#onLine = onLine;
    this.#onText = onText;
  }

  push(piece: Buffer): void {
    this.#add(this.#redacted.push(this.#decoder.write(piece)));
  }

  end(): void {
    this.#add(this.#redacted.push(this.#decoder.end()));
    this.#add(this.#redacted.end());
    this.#pass(this.#line);
    this.#line = "";
  }

  get tail(): string {
    return tailOf(this.#tail);
  }

  #add(text: string): void {
    if (text === "") return;
    this.#onText(text);
    this.#tail = truncateStart(this.#tail + text, keptTail);
    // A carriage return begins a line again, as progress bars do.
    const lines = (this.#line + text).split(/\r\n|\n|\r/);
    this.#line = (lines.pop() ?? "").slice(0, longestLine + 1);
    for (const line of lines) this.#pass(line);
  }

  #pass(line: string): void {
    const plain = withoutSequences(line).trimEnd();
    if (plain.trim() === "") return;
    this.#onLine(truncate(plain, longestLine, "…"));
  }
}

export function tailOf(text: string): string {
  return withoutSequences(truncateStart(text, keptTail)).trim();
}

export function lineProgress(
  clock: Clock,
  onProgress: (progress: ToolProgress) => void,
): (line: string) => void {
  let second = -Infinity;
  let count = 0;
  return (line) => {
    const now = clock.now();
    if (now - second >= 1000) {
      second = now;
      count = 0;
    }
    count += 1;
    if (count <= linesPerSecond) onProgress(progressIn(line));
  };
}

function progressIn(line: string): ToolProgress {
  const value = line.trimStart().startsWith("{") ? parsedJson(line) : undefined;
  const { percent, message } = isRecord(value) ? value : { percent: undefined };
  if (typeof percent !== "number") return progressOf(line);
  return {
    percent: Math.min(100, Math.max(0, percent)),
    ...(isText(message) ? { message } : {}),
  };
}

/** JSON, or the text itself without its last line break. A number that JavaScript can't hold is a text. */
export async function resultOf(text: string, redact: () => TextStream): Promise<unknown> {
  const value = parsedJson(text);
  if (value === undefined || isInexact(value)) return text.replace(/\r?\n$/, "");
  // Parsing has revealed escaped characters.
  return redactedData(value, redact);
}

function isInexact(value: unknown): boolean {
  if (typeof value !== "number") return false;
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

const percentage =
  /^[[(]?\s*(\d{1,3}(?:\.\d+)?)\s?%(?!\w)[\])]?|(?<![\w.,])[[(]?(\d{1,3}(?:\.\d+)?)\s?%[\])]?$/;

export function progressOf(text: string): ToolProgress {
  const line = text.trim();
  const [whole = "", atBegin, atEnd] = percentage.exec(line) ?? [];
  const percent = Number(atBegin ?? atEnd ?? Number.NaN);
  if (!(percent <= 100)) return { message: text };
  const rest = atBegin === undefined ? line.slice(0, -whole.length) : line.slice(whole.length);
  const message = rest
    .trim()
    .replace(/^[:–—|-] |[:–—|-]$/, "")
    .trim();
  return message === "" ? { percent } : { percent, message };
}

/* The result of a tool may have ten megabytes: it is redacted in parts, and the event loop runs between them. */

/** UTF-16 units: a part takes a few milliseconds at most. */
const part = 32 * 1024;

/** More is redacted than shown, so that a secret at the end is found as a whole. */
const edge = 64 * 1024;

export function redactedBeginning(
  text: string,
  length: number,
  redact: (text: string) => string,
): string {
  return truncate(redact(truncateUnredacted(text, length + edge)), length, "…");
}

export async function redactedText(text: string, redact: () => TextStream): Promise<string> {
  const [redacted = ""] = await redactedTexts([text], redact);
  return redacted;
}

export async function redactedData(value: unknown, redact: () => TextStream): Promise<unknown> {
  const texts: string[] = [];
  redactedValue(value, (text) => {
    texts.push(text);
    return text;
  });
  const redacted = (await redactedTexts(texts, redact)).values();
  return redactedValue(value, () => redacted.next().value ?? "");
}

async function redactedTexts(
  texts: readonly string[],
  redact: () => TextStream,
): Promise<readonly string[]> {
  const yielder = new EventLoopYielder();
  const redacted: string[] = [];
  for (const text of texts) {
    const stream = redact();
    let passed = "";
    for (let from = 0; from < text.length; from += part) {
      passed += stream.push(text.slice(from, from + part));
      await yielder.yieldIfDue();
    }
    redacted.push(passed + stream.end());
  }
  return redacted;
}

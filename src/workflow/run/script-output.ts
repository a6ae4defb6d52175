/** The output of a script: complete in a file, its ends in memory, and piece by piece for who watches. */
import type { Clock } from "../../platform/clock.ts";
import { beginningOf, endOf } from "../../events/cut.ts";
import type { TextStream } from "../../redaction/text-stream.ts";
import { startTimer, type Release } from "../../platform/waiting.ts";
import { makeNewFile, type NewFile } from "../../platform/files.ts";
import type { OutputStream, ScriptOutputPiece } from "./executor.ts";

export interface OutputDelta {
  readonly stream: OutputStream;
  readonly text: string;
}

export interface OutputOptions {
  /** Made, and only for the current user to read. */
  readonly file: string;
  /** How many characters are kept in memory. */
  readonly characters: number;
  /** How many bytes are kept in the file. */
  readonly bytes: number;
  /** Called when there are more bytes. */
  readonly onTooMuch: () => void;
  /** Gets whole lines, and the beginning of one only if its end doesn't come within a second. */
  readonly onDelta: (delta: OutputDelta) => void;
  readonly clock: Clock;
  /** Redacts what is passed to `onDelta`. */
  readonly redact?: (() => TextStream) | undefined;
}

/** How long the beginning of a line is held back. */
const lineMs = 1_000;
/** In UTF-16 units. */
const longestLine = 16 * 1024;

export class ScriptOutput {
  readonly #options: OutputOptions;
  readonly #file: NewFile;
  #bytes = 0;
  readonly #all: EndsOfText;
  readonly #streams = new Map<OutputStream, OneStream>();

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#file = makeNewFile(options.file);
    this.#all = new EndsOfText(options.characters);
  }

  write({ stream, bytes, late = false }: ScriptOutputPiece): void {
    const { bytes: most, onTooMuch } = this.#options;
    const room = Math.max(0, most - this.#bytes);
    if (room > 0) this.#file.write(bytes.subarray(0, room));
    this.#bytes += bytes.length;
    if (late) return;
    this.#pass(this.#stream(stream), (one) => one.decoder.decode(bytes, { stream: true }));
    if (bytes.length > room) onTooMuch();
  }

  /** The script is over; late output still goes to the file. */
  end(): void {
    for (const one of this.#streams.values()) {
      this.#pass(one, ({ decoder }) => decoder.decode());
      one.waiting?.();
      this.#show(one, one.redacting?.end() ?? "", true);
    }
  }

  close(): void {
    this.#file.close();
  }

  /** Of both streams, in the order of their arrival. */
  get text(): string {
    return this.#all.text;
  }

  /** Also those that are not in `text`. */
  get length(): number {
    return this.#all.length;
  }

  textOf(stream: OutputStream): string {
    return this.#streams.get(stream)?.ends.text ?? "";
  }

  #pass(one: OneStream, decode: (one: OneStream) => string): void {
    const text = decode(one);
    if (text === "") return;
    this.#all.add(text);
    one.ends.add(text);
    this.#show(one, one.redacting === undefined ? text : one.redacting.push(text));
    // A line break has passed on what the timer was for.
    if (text.includes("\n")) one.waiting?.();
    else if (one.waiting !== undefined) return;
    one.waiting = startTimer(this.#options.clock, lineMs, () => {
      one.waiting = undefined;
      this.#show(one, "", true);
    });
  }

  /** `all`: the beginning of a line, too. */
  #show(one: OneStream, text: string, all = false): void {
    one.line += text;
    const isLong = one.line.length > longestLine;
    const end = all || isLong ? one.line.length : one.line.lastIndexOf("\n") + 1;
    if (end === 0) return;
    this.#options.onDelta({ stream: one.stream, text: one.line.slice(0, end) });
    one.line = one.line.slice(end);
  }

  #stream(stream: OutputStream): OneStream {
    const { characters, redact } = this.#options;
    let one = this.#streams.get(stream);
    one ??= {
      stream,
      decoder: new TextDecoder("utf-8", { ignoreBOM: true }),
      ends: new EndsOfText(characters),
      redacting: redact?.(),
      line: "",
      waiting: undefined,
    };
    this.#streams.set(stream, one);
    return one;
  }
}

interface OneStream {
  readonly stream: OutputStream;
  readonly decoder: InstanceType<typeof TextDecoder>;
  readonly ends: EndsOfText;
  readonly redacting: TextStream | undefined;
  /** What was not shown yet, redacted. */
  line: string;
  /** The timer that shows it. */
  waiting: Release | undefined;
}

/** How far a cut may be from where it was meant, so that it doesn't halve a secret. */
const longestToken = 4_096;

/** A text, or both ends of one that is too long. */
export class EndsOfText {
  readonly #most: number;
  readonly #half: number;
  #head = "";
  #tail = "";
  #length = 0;

  constructor(most: number) {
    this.#most = most;
    this.#half = Math.floor(most / 2);
  }

  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    this.#length += text.length;
    const room = this.#most - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text;
    if (this.#tail.length > 2 * this.#most) this.#tail = this.#tail.slice(-this.#most);
  }

  get text(): string {
    if (this.#length <= this.#most) return this.#head;
    const head = cut(beginningOf(this.#head, this.#half), this.#head.slice(0, this.#half));
    const last = this.#tail.slice(-this.#half);
    const tail = cut(endOf(this.#tail, this.#half), this.#half === 0 ? "" : last);
    const left = this.#length - head.length - tail.length;
    return `${head}\n[${left} characters left out]\n${tail}`;
  }
}

function cut(between: string, anywhere: string): string {
  return anywhere.length - between.length > longestToken ? anywhere : between;
}

/** The output of a script: complete in a file, its ends in memory, and piece by piece for who watches. */
import type { Clock } from "../../platform/clock.ts";
import { truncateUnredacted, truncateStartUnredacted } from "../../text/truncate.ts";
import type { TextStream } from "../../redaction/secret-search.ts";
import { startTimer, type Release } from "../../platform/waiting.ts";
import { makeNewFile, type NewFile } from "../../platform/files.ts";

export interface OutputOptions {
  /** Made, and only for the current user to read. */
  readonly file: string;
  /** How many are kept in memory. */
  readonly characters: number;
  /** How many are kept in the file. */
  readonly bytes: number;
  readonly onTooMuch: () => void;
  /** Gets whole lines, and the beginning of one only if its end doesn't come within a second. */
  readonly onText: (text: string) => void;
  readonly clock: Clock;
  /** Redacts what is passed to `onText`. */
  readonly redacting: TextStream | undefined;
}

/** How long the beginning of a line is held back. */
const lineMs = 1_000;
const longestLine = 16 * 1024;

export class ScriptOutput {
  readonly #options: OutputOptions;
  readonly #file: NewFile;
  readonly #ends: EndsOfText;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #bytes = 0;
  /** Redacted output that was not shown yet. */
  #line = "";
  /** Stops the timer that shows it. */
  #waiting: Release | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#file = makeNewFile(options.file);
    this.#ends = new EndsOfText(options.characters);
  }

  write(bytes: Uint8Array): void {
    const { bytes: most, onTooMuch } = this.#options;
    const room = Math.max(0, most - this.#bytes);
    if (room > 0) this.#file.write(bytes.subarray(0, room));
    this.#bytes += bytes.length;
    this.#pass(this.#decoder.decode(bytes, { stream: true }));
    if (bytes.length > room) onTooMuch();
  }

  end(): void {
    this.#pass(this.#decoder.decode());
    this.#waiting?.();
    this.#show(this.#options.redacting?.end() ?? "", true);
    this.#file.close();
  }

  get text(): string {
    return this.#ends.text;
  }

  /** Also of what is not in `text`. */
  get length(): number {
    return this.#ends.length;
  }

  #pass(text: string): void {
    if (text === "") return;
    const { redacting, clock } = this.#options;
    this.#ends.add(text);
    this.#show(redacting === undefined ? text : redacting.push(text));
    // A line break has passed on what the timer was for.
    if (text.includes("\n")) this.#waiting?.();
    else if (this.#waiting !== undefined) return;
    this.#waiting = startTimer(clock, lineMs, () => {
      this.#waiting = undefined;
      this.#show("", true);
    });
  }

  #show(text: string, all = false): void {
    this.#line += text;
    const isLong = this.#line.length > longestLine;
    const end = all || isLong ? this.#line.length : this.#line.lastIndexOf("\n") + 1;
    if (end === 0) return;
    this.#options.onText(this.#line.slice(0, end));
    this.#line = this.#line.slice(end);
  }
}

/** How far a cut may be from where it was meant, so that it doesn't halve a secret. */
const longestToken = 4_096;

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
    const head = cut(truncateUnredacted(this.#head, this.#half), this.#head.slice(0, this.#half));
    const last = this.#tail.slice(-this.#half);
    const tail = cut(truncateStartUnredacted(this.#tail, this.#half), this.#half === 0 ? "" : last);
    const left = this.#length - head.length - tail.length;
    return `${head}\n[${left} characters left out]\n${tail}`;
  }
}

function cut(between: string, anywhere: string): string {
  return anywhere.length - between.length > longestToken ? anywhere : between;
}

/**
 * The file of a feed: the older part of its lines. It is made with the first of them, for its user only.
 *
 * Invariant: what `write` has returned a place for can be read until `remove`. A full disk or a folder that is
 * gone is a result, never an exception.
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirectoryNow } from "../platform/files.ts";
import { openToReadNow } from "../platform/reading.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface Place {
  readonly offset: number;
  readonly bytes: number;
}

export class FeedFile {
  readonly #path: string;
  readonly #onProblem: (problem: string) => void;
  /** Open for writing; `ended`: only opened to read. */
  #file: number | "none" | "ended" = "none";
  #end = 0;

  /** `onProblem` is called each time that something can't be written. */
  constructor(path: string, onProblem: (problem: string) => void = () => undefined) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  /** Undefined if it can't be written. Then the next one may be written in its place. */
  write(text: string): Place | undefined {
    if (this.#file === "ended") return undefined;
    try {
      const file = this.#opened();
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length;)
        written += writeSync(file, bytes, written, bytes.length - written, this.#end + written);
      const place = { offset: this.#end, bytes: bytes.length };
      this.#end += bytes.length;
      return place;
    } catch (error) {
      this.#onProblem(errorMessage(error));
      return undefined;
    }
  }

  /** Undefined if it can't be read, or not all of it. */
  read({ offset, bytes }: Place): string | undefined {
    try {
      if (typeof this.#file === "number") return readPart(this.#file, offset, bytes);
      const file = openToReadNow(this.#path, "refused");
      try {
        return readPart(file, offset, bytes);
      } finally {
        closeSync(file);
      }
    } catch {
      return undefined;
    }
  }

  /** Nothing more is written. */
  end(): void {
    if (this.#file === "ended") return;
    if (typeof this.#file === "number") closeSync(this.#file);
    this.#file = "ended";
  }

  remove(): void {
    try {
      this.end();
      if (this.#end > 0) rmSync(this.#path, { force: true });
    } catch {
      // Its folder is removed with all that it holds.
    }
  }

  #opened(): number {
    if (typeof this.#file === "number") return this.#file;
    makeDirectoryNow(dirname(this.#path));
    return (this.#file = openSync(this.#path, "wx+", 0o600));
  }
}

function readPart(file: number, offset: number, bytes: number): string | undefined {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let read = 0; read < bytes;) {
    const more = readSync(file, buffer, read, bytes - read, offset + read);
    if (more === 0) return undefined;
    read += more;
  }
  return buffer.toString("utf8");
}

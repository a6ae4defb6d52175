/**
 * A file that a run writes about itself, in a place where an agent may be able to write too.
 *
 * Invariants: every byte goes to the file that was opened at the beginning, never through what was put in its
 * place; `close` finds out whether the file at that path still is that one and holds what was written, and
 * nothing else.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeDirectoryNow } from "./files.ts";

const { O_RDWR, O_CREAT, O_APPEND } = constants;

export class OwnFile {
  readonly #what: string;
  readonly #path: string;
  readonly #file: number;
  readonly #isNew: boolean;
  #hash = createHash("sha256");
  /** What was there before is still there. */
  #toEmpty: boolean;

  /**
   * Makes the file and the folders above it; one that is there is replaced by the first write, or with `keep`
   * continued. Throws if that is not possible: better to know before a run than after it. `what` it is, for messages:
   * "journal".
   */
  constructor(what: string, path: string, { keep = false }: { readonly keep?: boolean } = {}) {
    this.#what = what;
    this.#path = resolve(path);
    makeDirectoryNow(dirname(this.#path));
    const found = this.#atPath();
    // A writer may wait for a pipe or a socket for ever. That a folder is no file, the system says itself.
    if (found?.isFIFO() === true || found?.isSocket() === true)
      throw new Error("it is not a regular file");
    this.#isNew = found === undefined;
    this.#file = openSync(this.#path, O_RDWR | O_CREAT | O_APPEND, 0o666);
    this.#toEmpty = !keep;
    if (keep) this.#hash.update(this.read());
  }

  /** What the file holds; only of one that was kept. */
  read(): Uint8Array {
    const bytes = new Uint8Array(fstatSync(this.#file).size);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(this.#file, bytes, length, bytes.length - length, length);
      if (count <= 0) break;
      length += count;
    }
    return bytes.subarray(0, length);
  }

  /** Keeps the first `length` bytes; only of a file that was kept. */
  truncate(length: number): void {
    ftruncateSync(this.#file, length);
    this.#hash = createHash("sha256").update(this.read());
  }

  /** Closes it; if nothing was written, everything is as it was before, but for folders that were made. */
  abandon(): void {
    const isUnused = this.#isNew && fstatSync(this.#file).size === 0;
    if (isUnused && this.#isOurs(this.#atPath())) unlinkSync(this.#path);
    closeSync(this.#file);
  }

  /** May write less than it is given. */
  write(bytes: Uint8Array, offset: number): number {
    if (this.#toEmpty && fstatSync(this.#file).isFile()) ftruncateSync(this.#file);
    this.#toEmpty = false;
    const count = writeSync(this.#file, bytes, offset);
    this.#hash.update(bytes.subarray(offset, offset + count));
    return count;
  }

  /**
   * The whole content in parts, of a file that nothing was written to before. One that was deleted is not made again:
   * its folder may be a link by now.
   */
  writeAll(parts: Iterable<string>): void {
    for (const part of parts) {
      const bytes = new TextEncoder().encode(part);
      for (let offset = 0; offset < bytes.length;) {
        const count = this.write(bytes, offset);
        if (count <= 0) throw new Error("nothing was written");
        offset += count;
      }
    }
  }

  /** Rejects if the file was deleted, replaced or changed by another process. */
  async close(): Promise<void> {
    try {
      const problem = await this.#problem();
      if (problem === undefined) return;
      throw new Error(
        `The ${this.#what} ${this.#path} ${problem} during the run. Don't rely on its contents.`,
      );
    } finally {
      closeSync(this.#file);
    }
  }

  async #problem(): Promise<string | undefined> {
    const now = this.#atPath();
    if (now === undefined) return "was deleted";
    if (!this.#isOurs(now)) return "was replaced";
    // A device keeps nothing.
    if (!now.isFile()) return undefined;
    const found = createHash("sha256");
    await pipeline(createReadStream("", { fd: this.#file, start: 0, autoClose: false }), found);
    return found.digest("hex") === this.#hash.digest("hex") ? undefined : "was changed";
  }

  #atPath(): Stats | undefined {
    return statSync(this.#path, { throwIfNoEntry: false });
  }

  #isOurs(there: Stats | undefined): boolean {
    const ours = fstatSync(this.#file);
    return ours.dev === there?.dev && ours.ino === there.ino;
  }
}

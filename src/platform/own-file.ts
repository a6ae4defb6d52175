/**
 * A file that a run writes about itself, where an agent may write too. Every byte goes to the file that was opened first;
 * `close` finds out whether it is still there and holds what was written.
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeDirectoryNow } from "./files.ts";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { isRunning } from "./processes.ts";
import { errorCode } from "./system-error.ts";

const { O_RDWR, O_CREAT, O_APPEND } = fs.constants;

export class OwnFile {
  readonly #what: string;
  readonly #path: string;
  readonly #file: number;
  readonly #isNew: boolean;
  #hash = createHash("sha256");
  #toEmpty: boolean;

  /** Replaced by the first write, unless `keep` continues it. Throws if it can't be opened. `what`: "journal". */
  constructor(what: string, path: string, { keep = false }: { readonly keep?: boolean } = {}) {
    this.#what = what;
    this.#path = resolve(path);
    makeDirectoryNow(dirname(this.#path));
    const found = this.#atPath();
    // A writer may wait for a pipe or a socket for ever. That a folder is no file, the system says itself.
    if (found?.isFIFO() === true || found?.isSocket() === true)
      throw new Error("it is not a regular file");
    this.#isNew = found === undefined;
    this.#file = fs.openSync(this.#path, O_RDWR | O_CREAT | O_APPEND, 0o666);
    this.#toEmpty = !keep;
    if (keep) this.#hash.update(this.read());
  }

  read(): Uint8Array {
    const bytes = new Uint8Array(fs.fstatSync(this.#file).size);
    let length = 0;
    while (length < bytes.length) {
      const count = fs.readSync(this.#file, bytes, length, bytes.length - length, length);
      if (count <= 0) break;
      length += count;
    }
    return bytes.subarray(0, length);
  }

  truncate(length: number): void {
    fs.ftruncateSync(this.#file, length);
    this.#hash = createHash("sha256").update(this.read());
  }

  /** Closes it; if nothing was written, everything is as it was before, but for folders that were made. */
  abandon(): void {
    const isUnused = this.#isNew && fs.fstatSync(this.#file).size === 0;
    if (isUnused && this.#isOurs(this.#atPath())) fs.unlinkSync(this.#path);
    fs.closeSync(this.#file);
  }

  write(bytes: Uint8Array, offset: number): number {
    if (this.#toEmpty && fs.fstatSync(this.#file).isFile()) fs.ftruncateSync(this.#file);
    this.#toEmpty = false;
    const count = fs.writeSync(this.#file, bytes, offset);
    this.#hash.update(bytes.subarray(offset, offset + count));
    return count;
  }

  /** One that was deleted is not made again: its folder may be a link by now. */
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
      fs.closeSync(this.#file);
    }
  }

  async #problem(): Promise<string | undefined> {
    const now = this.#atPath();
    if (now === undefined) return "was deleted";
    if (!this.#isOurs(now)) return "was replaced";
    // A device keeps nothing.
    if (!now.isFile()) return undefined;
    const found = createHash("sha256");
    await pipeline(fs.createReadStream("", { fd: this.#file, start: 0, autoClose: false }), found);
    return found.digest("hex") === this.#hash.digest("hex") ? undefined : "was changed";
  }

  #atPath(): fs.Stats | undefined {
    return fs.statSync(this.#path, { throwIfNoEntry: false });
  }

  #isOurs(there: fs.Stats | undefined): boolean {
    const ours = fs.fstatSync(this.#file);
    return ours.dev === there?.dev && ours.ino === there.ino;
  }
}

/** Returns undefined if a running process holds the lock. A folder where no file can be made needs no lock. */
export function lockFile(path: string): (() => void) | undefined {
  for (const isLast of [false, true]) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") return () => {};
      if (isLast || isHeld(path)) return undefined;
      rmSync(path, { force: true });
    }
  }
  return undefined;
}

function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    // A file that has no number yet is just being written.
    return !(pid > 0) || isRunning(pid);
  } catch {
    return false;
  }
}

/** A folder that a run writes to while agents may too: a link that one of them put there leads us nowhere else. */
import { closeSync, constants, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectoryNow, realPathOf } from "../platform/files.ts";

const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

export class OutputFolder {
  readonly path: string;
  readonly #real: string;
  readonly #begun = new Set<string>();

  /** Throws if it can't be made. */
  constructor(path: string) {
    makeDirectoryNow(path);
    this.path = path;
    this.#real = realPathOf(path);
  }

  /** In place of what is there. */
  write(name: string, text: string): void {
    this.remove(name);
    this.#put(name, text, O_EXCL);
  }

  /** To what this run has written there. */
  append(name: string, text: string): void {
    const found = lstatSync(this.#in(name), { throwIfNoEntry: false });
    if (!this.#begun.has(name) || found?.isFile() !== true) return this.write(name, text);
    this.#put(name, text, O_APPEND);
  }

  remove(name: string): void {
    rmSync(this.#in(name), { force: true });
  }

  #put(name: string, text: string, how: number): void {
    // Windows has no O_NOFOLLOW.
    const file = openSync(this.#in(name), O_WRONLY | O_CREAT | (O_NOFOLLOW ?? 0) | how, 0o666);
    this.#begun.add(name);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  }

  #in(name: string): string {
    if (realPathOf(this.path) !== this.#real)
      throw new Error(`The folder ${this.path} was moved or replaced during the run.`);
    return join(this.path, name);
  }
}

import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inRealFolder, makeDirectoryNow, realPathOf } from "./files.ts";
import { truncate } from "../text/truncate.ts";

export const longestName = 120;
/** Makes a part of a file name for any system, which is no option of a command and not hidden. */
export function plainName(text: string, most = longestName): string {
  const name = text
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
    .replaceAll(/^[-.]+|(?<![-.])[-.]+$/g, "");
  return truncate(name, most) || "item";
}

const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** A folder that a run writes to while agents may too: a link that one of them put there leads us nowhere else. */
export class OutputFolder {
  readonly path: string;
  readonly #real: string;
  readonly #begun = new Set<string>();

  constructor(path: string, real?: string) {
    if (real === undefined) makeDirectoryNow(path);
    this.path = path;
    this.#real = real ?? realPathOf(path);
    inRealFolder(this.#real, () => {});
  }

  folder(name: string): OutputFolder {
    return new OutputFolder(join(this.path, name), join(this.#real, name));
  }

  create(name: string, text: string): void {
    this.#put(name, text, O_EXCL);
  }

  write(name: string, text: string): void {
    this.remove(name);
    this.create(name, text);
  }

  append(name: string, text: string): void {
    const found = this.#use((at) => lstatSync(join(at, name), { throwIfNoEntry: false }));
    if (!this.#begun.has(name) || found?.isFile() !== true) return this.write(name, text);
    this.#put(name, text, O_APPEND);
  }

  remove(name: string): void {
    this.#use((at) => rmSync(join(at, name), { force: true }));
  }

  /** Removes what earlier runs have left, folders included. */
  clear(isOurs: (name: string) => boolean): void {
    this.#use((at) => {
      for (const name of readdirSync(at).filter(isOurs))
        rmSync(join(at, name), { force: true, recursive: true });
    });
  }

  #put(name: string, text: string, how: number): void {
    // Windows has no O_NOFOLLOW.
    const flags = O_WRONLY | O_CREAT | (O_NOFOLLOW ?? 0) | how;
    const file = this.#use((at) => openSync(join(at, name), flags, 0o666));
    this.#begun.add(name);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  }

  #use<T>(use: (folder: string) => T): T {
    // A new folder would lack what was written before.
    if (lstatSync(this.#real, { throwIfNoEntry: false }) === undefined)
      throw new Error(`The folder ${this.path} was removed during the run.`);
    return inRealFolder(this.#real, use);
  }
}

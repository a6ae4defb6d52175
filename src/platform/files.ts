import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, parse, sep } from "node:path";
import type { FileHandle } from "node:fs/promises";
import { truncate } from "../text/truncate.ts";

export async function makeTemporaryDirectory(prefix: string): Promise<string> {
  return fs.promises.mkdtemp(join(tmpdir(), prefix));
}

export async function isDirectory(path: string): Promise<boolean> {
  return fs.promises.stat(path).then(
    (stat) => stat.isDirectory(),
    () => false,
  );
}

export function realPathOf(path: string): string {
  try {
    return fs.realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Avoids `recursive`: Node loops forever where a folder refuses children although it exists, as /proc does. */
export function makeDirectoryNow(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectoryNow(parent);
  try {
    fs.mkdirSync(path);
  } catch (error) {
    // Another process may have created it first.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  const found = fs.statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === false) throw new Error(`${path} is not a folder`);
  return found !== undefined;
}

const { O_DIRECTORY, O_NOFOLLOW, O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = fs.constants;
/** Linux: the file stands for the place of the folder, which need not be readable. */
const O_PATH = 0o10000000;

/**
 * Makes a folder where an agent may write, with those above it, and uses it. The path was resolved and judged before: it
 * throws where a part is a link by now. On Linux, `use` gets a path that stays in this folder, whatever replaces it.
 */
export function inRealFolder<T>(path: string, use: (folder: string) => T): T {
  const { root } = parse(path);
  const open: number[] = [];
  let at = root;
  try {
    for (const name of path.slice(root.length).split(sep)) {
      at = join(at, name);
      if (fs.lstatSync(at, { throwIfNoEntry: false }) === undefined) fs.mkdirSync(at);
      if (!fs.lstatSync(at).isDirectory())
        throw new Error(`The folder ${path} was moved or replaced during the run.`);
      if (process.platform !== "linux") continue;
      const file = fs.openSync(at, O_PATH | O_DIRECTORY | O_NOFOLLOW);
      open.push(file);
      at = `/proc/self/fd/${file}`;
    }
    return use(at);
  } finally {
    for (const file of open) fs.closeSync(file);
  }
}

export async function makeDirectory(path: string): Promise<void> {
  makeDirectoryNow(path);
}

export interface NewFile {
  write(bytes: Uint8Array): void;
  close(): void;
}

/** Makes a file that only the current user can read. Throws if something is there already. */
export function makeNewFile(path: string): NewFile {
  let file: number | undefined = fs.openSync(path, "wx", 0o600);
  return {
    write(bytes) {
      if (file === undefined) return;
      for (let at = 0; at < bytes.length;) at += fs.writeSync(file, bytes, at);
    },
    close() {
      if (file !== undefined) fs.closeSync(file);
      file = undefined;
    },
  };
}

export async function writeNewFile(path: string, text: string): Promise<void> {
  await fs.promises.writeFile(path, text, { flag: "wx", mode: 0o600 });
}

export function removeDirectoryNow(path: string): void {
  try {
    fs.rmSync(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // A process that is just dying may still write there.
  }
}

/** A writer that is just ending is waited for. */
export async function removeDirectory(path: string): Promise<void> {
  await fs.promises.rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/* Files are opened first and judged then, because a path can be replaced at any moment. */

/** Applies if the path itself is a symbolic link. Links in the folders above are followed. */
export type Links = "followed" | "refused";

/** A pipe without a writer is not waited for. Windows has neither of the two flags. */
function flagsFor(links: Links): number {
  const { O_RDONLY, O_NONBLOCK } = fs.constants;
  return O_RDONLY | O_NONBLOCK | (links === "refused" ? O_NOFOLLOW : 0);
}

export async function openToRead(path: string, links: Links): Promise<FileHandle> {
  return fs.promises.open(path, flagsFor(links));
}

export function openToReadNow(path: string, links: Links): number {
  return fs.openSync(path, flagsFor(links));
}

/** The bytes of a regular file. Undefined if it is none, or has more than `longest`. Throws if it can't be read. */
export function readSmallFile(
  path: string,
  longest: number,
  links: Links = "followed",
): Uint8Array | undefined {
  return readIf(path, links, (file) => isSmall(file, longest));
}

/** Opens a file by its real path, which was judged before. Undefined if a part of the path has become a link since. */
export async function openJudged(realPath: string): Promise<FileHandle | undefined> {
  const handle = await openToRead(realPath, "refused").catch(() => undefined);
  if (handle === undefined || isAt(handle.fd, realPath)) return handle;
  await handle.close();
  return undefined;
}

export function readJudged(realPath: string, longest: number): Uint8Array | undefined {
  return readIf(realPath, "refused", (file) => isAt(file, realPath) && isSmall(file, longest));
}

function readIf(
  path: string,
  links: Links,
  isWanted: (file: number) => boolean,
): Uint8Array | undefined {
  const file = openToReadNow(path, links);
  try {
    return isWanted(file) ? fs.readFileSync(file) : undefined;
  } finally {
    fs.closeSync(file);
  }
}

function isSmall(file: number, longest: number): boolean {
  const found = fs.fstatSync(file);
  return found.isFile() && found.size <= longest;
}

function isAt(file: number, realPath: string): boolean {
  const opened = fs.fstatSync(file);
  if (!opened.isFile()) return false;
  const where = openedPath(file);
  if (where !== undefined) return where === realPath;
  try {
    const { dev, ino } = fs.lstatSync(realPath);
    return fs.realpathSync(realPath) === realPath && dev === opened.dev && ino === opened.ino;
  } catch {
    return false;
  }
}

function openedPath(file: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const path = fs.readlinkSync(`/proc/self/fd/${file}`);
    return path.startsWith("/") ? path : undefined;
  } catch {
    return undefined;
  }
}

export const longestName = 120;
/** Makes a part of a file name for any system, which is no option of a command and not hidden. */
export function plainName(text: string, most = longestName): string {
  const name = text
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
    .replaceAll(/^[-.]+|(?<![-.])[-.]+$/g, "");
  return truncate(name, most) || "item";
}

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
    const found = this.#use((at) => fs.lstatSync(join(at, name), { throwIfNoEntry: false }));
    if (!this.#begun.has(name) || found?.isFile() !== true) return this.write(name, text);
    this.#put(name, text, O_APPEND);
  }

  remove(name: string): void {
    this.#use((at) => fs.rmSync(join(at, name), { force: true }));
  }

  /** Removes what earlier runs have left, folders included. */
  clear(isOurs: (name: string) => boolean): void {
    this.#use((at) => {
      for (const name of fs.readdirSync(at).filter(isOurs))
        fs.rmSync(join(at, name), { force: true, recursive: true });
    });
  }

  #put(name: string, text: string, how: number): void {
    // Windows has no O_NOFOLLOW.
    const flags = O_WRONLY | O_CREAT | (O_NOFOLLOW ?? 0) | how;
    const file = this.#use((at) => fs.openSync(join(at, name), flags, 0o666));
    this.#begun.add(name);
    try {
      fs.writeFileSync(file, text);
    } finally {
      fs.closeSync(file);
    }
  }

  #use<T>(use: (folder: string) => T): T {
    // A new folder would lack what was written before.
    if (fs.lstatSync(this.#real, { throwIfNoEntry: false }) === undefined)
      throw new Error(`The folder ${this.path} was removed during the run.`);
    return inRealFolder(this.#real, use);
  }
}

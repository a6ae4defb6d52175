import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, parse, sep } from "node:path";

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

const { O_DIRECTORY, O_NOFOLLOW } = fs.constants;
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

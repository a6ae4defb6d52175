/**
 * Which commit a folder is checked out at, read from git's own files. No git is run: the one that is found may be a
 * stranger's, and one that is not reads settings that name programs. A commit's files can't be in a folder `.git`, so
 * whoever made the checkout wrote these; every read is bounded all the same. Whatever is not understood is unknown.
 */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { errorCode } from "../platform/system-error.ts";
import { sha } from "../github/webhook-event.ts";

export interface Checkout {
  /** Absolute: the folder that has the `.git`. */
  readonly root: string;
  /** Undefined if it can't be known. */
  readonly commit: string | undefined;
}

/** The checkout that a folder is in; undefined if it is in none. */
export async function checkoutOf(folder: string): Promise<Checkout | undefined> {
  for (let root = resolve(folder); ; root = dirname(root)) {
    const found = await stat(join(root, ".git")).catch(missing);
    // What can't be looked at may be a checkout: an outer one is not asked in its place.
    if (found === "unknown") return { root, commit: undefined };
    if (found !== undefined) {
      return { root, commit: await headOf(root, found.isDirectory()).catch(() => undefined) };
    }
    if (root === dirname(root)) return undefined;
  }
}

function missing(error: unknown): undefined | "unknown" {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR" ? undefined : "unknown";
}

/** Git follows five symbolic references; so do we. */
const MAX_REFERENCES = 5;
const MAX_SMALL_FILE = 4096;
const MAX_PACKED_REFS = 64 * 1024 * 1024;

async function headOf(root: string, isFolder: boolean): Promise<string | undefined> {
  const dotGit = join(root, ".git");
  const own = isFolder ? dotGit : await linkedFolder(root, dotGit);
  if (own === undefined) return undefined;
  const commonName = (await firstLine(join(own, "commondir"))) ?? ".";
  const common = resolve(own, commonName);
  let name = "HEAD";
  for (let depth = 0; depth <= MAX_REFERENCES; depth += 1) {
    const value =
      (await firstLine(join(isOwn(name) ? own : common, name))) ??
      (name === "HEAD" ? undefined : await packed(join(common, "packed-refs"), name));
    if (value === undefined) return undefined;
    const [, target] = /^ref:\s*(\S+)$/.exec(value) ?? [];
    if (target === undefined) return sha(value);
    if (!isReference(target)) return undefined;
    name = target;
  }
  return undefined;
}

/** Of a work tree or a submodule: a file `gitdir: PATH`. */
async function linkedFolder(root: string, file: string): Promise<string | undefined> {
  const [, path] = /^gitdir:\s*(\S.*)$/.exec((await firstLine(file)) ?? "") ?? [];
  return path === undefined ? undefined : resolve(root, path);
}

/** The references of one worktree. All others are shared. */
function isOwn(name: string): boolean {
  return name === "HEAD" || /^refs\/(?:bisect|worktree|rewritten)\//.test(name);
}

/** Nothing that leads out of the folder; `refs/heads/.invalid` is what a reftable repository has in its HEAD. */
function isReference(name: string): boolean {
  return (
    name.startsWith("refs/") &&
    name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.includes("\0"))
  );
}

/** The whole of a file that has one line; undefined if it doesn't exist, isn't a file, or has more lines. */
async function firstLine(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  // Reading a pipe could wait forever.
  if (found === undefined || !found.isFile() || found.size > MAX_SMALL_FILE) return undefined;
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_SMALL_FILE + 1));
    const text = buffer.toString("utf8", 0, bytesRead).trimEnd();
    return bytesRead > MAX_SMALL_FILE || /[\r\n]/.test(text) ? undefined : text;
  } finally {
    await handle.close();
  }
}

async function packed(path: string, name: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile() || found.size > MAX_PACKED_REFS) return undefined;
  const input = createReadStream(path, { end: MAX_PACKED_REFS });
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const [value, reference] = line.split(" ");
      if (reference === name) return value;
    }
    return undefined;
  } finally {
    input.destroy();
  }
}

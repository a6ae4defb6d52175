/** Files are opened first and judged then, because a path can be replaced at any moment. */
import * as fs from "node:fs";
import type { FileHandle } from "node:fs/promises";

/** Applies if the path itself is a symbolic link. Links in the folders above are followed. */
export type Links = "followed" | "refused";

/** A pipe without a writer is not waited for. Windows has neither of the two flags. */
function flagsFor(links: Links): number {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = fs.constants;
  return O_RDONLY | O_NONBLOCK | (links === "refused" ? O_NOFOLLOW : 0);
}

export async function openToRead(path: string, links: Links): Promise<FileHandle> {
  return fs.promises.open(path, flagsFor(links));
}

export function openToReadNow(path: string, links: Links): number {
  return fs.openSync(path, flagsFor(links));
}

/** The bytes of a regular file. Undefined if it is none, or has more than `longest`. Throws if it can't be read. */
export function readSmallFile(path: string, longest: number): Uint8Array | undefined {
  return readIf(path, "followed", (file) => isSmall(file, longest));
}

/** By its real path, which was judged before: undefined if a part of it has become a link since. */
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

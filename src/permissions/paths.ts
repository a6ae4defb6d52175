import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { partsMatch, readGlob, type Part } from "../entry/glob.ts";
import { leaves } from "../platform/search-path.ts";

export interface PathContext {
  readonly workingDirectory: string;
  /** Behaves like `fs.realpathSync.native`: throws if the path does not exist. */
  readonly realpath: (path: string) => string;
  /** Whether there is anything of that name, be it a link that leads nowhere. */
  readonly isThere: (path: string) => boolean;
  /** The target of a symbolic link. Undefined for everything else. Does not throw. */
  readonly linkTarget: (path: string) => string | undefined;
}

/** A context for one judgement, which comes to the same paths many times: the system is asked about each once. */
export function askingOnce<Context extends PathContext>(context: Context): Context {
  const { realpath, isThere, linkTarget } = context;
  return {
    ...context,
    realpath: remembered(realpath),
    isThere: remembered(isThere),
    linkTarget: remembered(linkTarget),
  };
}

export function remembered<T>(ask: (path: string) => T): (path: string) => T {
  const known = new Map<string, { readonly answer: T }>();
  return (path) => {
    const before = known.get(path) ?? { answer: ask(path) };
    known.set(path, before);
    return before.answer;
  };
}

/** In bytes: no system takes longer ones. */
export const longestPath = 4_096;
/** The system walks from the root for each part, so that the time grows with the square of their number. */
export const mostParts = 128;

/**
 * From the first part that does not exist, it goes on as it is written. Undefined if that can't be resolved with
 * certainty. Two places when `link/..` means one thing to the system and another to a program that tidies it up first.
 */
export function realLocations(path: string, context: PathContext): readonly string[] | undefined {
  // eslint-disable-next-line no-control-regex
  if (path === "" || /[\u0000-\u001f]/.test(path)) return undefined;
  if (Buffer.byteLength(path) > longestPath) return undefined;
  const tidy = resolve(context.workingDirectory, path);
  const raw = isAbsolute(path) ? path : `${context.workingDirectory}${sep}${path}`;
  const tidied = realLocation(tidy, context);
  // Some programs take a backslash for a slash on every system.
  const walked = raw === tidy && !raw.includes("\\") ? tidied : walk(raw, /[\\/]/, context);
  return tidied === undefined || walked === undefined ? undefined : [...new Set([tidied, walked])];
}

export function realLocation(path: string, context: PathContext): string | undefined {
  return walk(path, sep === "/" ? "/" : /[\\/]/, context);
}

/** These paths mean something else in each process (`/proc/self/cwd`), and the runtime is another process. */
const ofProcess = /^\/(?:proc|dev\/(?:fd|std(?:in|out|err)))(?:\/|$)/;

const maxLinks = 40;

/** Follows the path as the operating system does: `..` is the parent of where we really are. */
function walk(path: string, separator: string | RegExp, context: PathContext): string | undefined {
  const { root } = parse(path);
  /** The parts that are still to be walked; the next one is at the end. */
  const parts = path.slice(root.length).split(separator).toReversed();
  let at = root;
  const missing: string[] = [];
  let links = 0;
  let walked = 0;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part === "" || part === ".") continue;
    walked += 1;
    if (walked > mostParts) return undefined;
    if (part === "..") {
      if (missing.pop() === undefined) at = dirname(at);
      continue;
    }
    if (missing.length > 0) {
      missing.push(part);
      continue;
    }
    const next = at.endsWith(sep) ? at + part : at + sep + part;
    if (ofProcess.test(next)) return undefined;
    const target = context.linkTarget(next);
    if (target !== undefined) {
      links += 1;
      if (links > maxLinks) return undefined;
      for (const name of target.split(separator).toReversed()) parts.push(name);
      if (isAbsolute(target)) at = parse(target).root;
    } else if (isThere(next, context)) at = next;
    else missing.push(part);
  }
  try {
    // In the system's own spelling of it: letters in another case, short names.
    return join(context.realpath(at), ...missing);
  } catch {
    // A loop, an inaccessible folder, or a link that just changed: the target is unknown.
    return undefined;
  }
}

function isThere(path: string, context: PathContext): boolean {
  try {
    return context.isThere(path);
  } catch {
    // Something exists that can't be accessed. The end of the walk decides.
    return true;
  }
}

export function isUnder(path: string, folder: string): boolean {
  return !leaves(relative(folder, path));
}

export function globMatches(glob: string, real: string, root: string, anyCase: boolean): boolean {
  const read = readGlob(glob);
  if (typeof read === "string") return false;
  return read.some(({ text, parts }) => {
    if (isAbsolute(text)) return partsMatch(parts, namesOf(real), anyCase);
    return isUnder(real, root) && partsMatch(parts, namesOf(relative(root, real)), anyCase);
  });
}

/**
 * `deep`: also whether it could cover something below. Errs on the side of yes: case does not matter, links, `..` and `~`
 * in the fixed beginning are followed, and without a wildcard at its end it means all that is below.
 */
export function globDenies(
  glob: string,
  real: string,
  deep: boolean,
  root: string,
  home: string,
  context: PathContext,
): boolean {
  if (globMatches(glob, real, root, true)) return true;
  const read = readGlob(glob);
  if (typeof read === "string") return true;
  const path = real.toLowerCase();
  return read.some(({ text, parts }) => {
    const [start, rest] = fixedStart(parts, isAbsolute(text), home);
    const open: readonly Part[] =
      parts.at(-1)?.kind === "text" ? [...rest, { kind: "folders" }] : rest;
    const starts = [resolve(root, start), ...(realLocations(start || ".", context) ?? [])];
    return starts.some((one) => {
      const place = one.toLowerCase();
      if (isUnder(path, place) && partsMatch(open, namesOf(relative(place, path)), true)) {
        return true;
      }
      return deep && (isUnder(place, path) || isUnder(path, place));
    });
  });
}

export function fixedStart(
  parts: readonly Part[],
  absolute: boolean,
  home: string,
): readonly [start: string, rest: readonly Part[]] {
  const names: string[] = [];
  for (const part of parts) {
    if (part.kind !== "text") break;
    names.push(part.text);
  }
  const rest = parts.slice(names.length);
  if (!absolute && names[0] === "~") return [join(home, ...names.slice(1)), rest];
  const start = names.join("/");
  return [absolute && !isAbsolute(start) ? `/${start}` : start, rest];
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== "");
}

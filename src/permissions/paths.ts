/** Where a path really leads, and whether the file rules of `permissions` allow it. Asks the file system, changes nothing. */
import picomatch from "picomatch";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";

export interface PathContext {
  /** Absolute. */
  readonly workingDirectory: string;
  /** As `fs.realpathSync.native`: throws for what does not exist. */
  readonly realpath: (path: string) => string;
  /** Whether there is anything of that name, be it a link that leads nowhere. */
  readonly isThere: (path: string) => boolean;
  /** What a symbolic link says; undefined for everything else. Does not throw. */
  readonly linkTarget: (path: string) => string | undefined;
}

/**
 * Where a path leads with every symbolic link resolved; a part that does not exist yet hangs below the
 * deepest one that does. Undefined when that can't be said for sure. Two places when `link/..` means one
 * thing to the operating system and another to a program that tidies the path up first: both must be fine.
 */
export function realLocations(path: string, context: PathContext): readonly string[] | undefined {
  // eslint-disable-next-line no-control-regex
  if (path === "" || /[\u0000-\u001f]/.test(path)) return undefined;
  const tidy = resolve(context.workingDirectory, path);
  const raw = isAbsolute(path) ? path : `${context.workingDirectory}${sep}${path}`;
  if (leadsToProcess(raw, context) || leadsToProcess(tidy, context)) return undefined;
  const tidied = realLocation(tidy, context);
  const walked = raw === tidy ? tidied : walk(raw, context);
  return tidied === undefined || walked === undefined ? undefined : [...new Set([tidied, walked])];
}

/** What these hold depends on who asks, and the runtime is another process than we: `/proc/self/cwd`. */
const ofProcess = /^\/(?:proc|dev\/(?:fd|std(?:in|out|err)))(?:\/|$)/;

const maxLinks = 40;

/** Whether the way passes such a place, link by link: the end of it would not tell any more. */
function leadsToProcess(path: string, context: PathContext): boolean {
  if (sep !== "/") return false;
  const parts = path.split("/");
  let at = "/";
  let links = 0;
  while (links <= maxLinks) {
    const part = parts.shift();
    if (part === undefined) return false;
    const next = part === ".." ? dirname(at) : join(at, part);
    if (ofProcess.test(next)) return true;
    const target = part === "" || part === "." ? undefined : context.linkTarget(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    links += 1;
    parts.unshift(...target.split("/"));
    if (isAbsolute(target)) at = "/";
  }
  return true;
}

/** Follows the path as the operating system does: `..` is the parent of where we really are. */
function walk(path: string, context: PathContext): string | undefined {
  let at: string | undefined = parse(path).root;
  for (const part of path.slice(at.length).split(/[\\/]/)) {
    if (part === "" || part === ".") continue;
    at = part === ".." ? dirname(at) : realLocation(join(at, part), context);
    if (at === undefined) return undefined;
  }
  return at;
}

/** Of an absolute path without `..`. */
export function realLocation(path: string, context: PathContext): string | undefined {
  let existing = path;
  let rest = "";
  for (;;) {
    try {
      return join(context.realpath(existing), rest);
    } catch (error) {
      // A loop, a folder that we may not enter, a link to what does not exist yet: who knows where it ends.
      if (!isMissing(error) || context.isThere(existing)) return undefined;
    }
    const parent = dirname(existing);
    if (parent === existing) return undefined;
    rest = join(existing.slice(parent.length).replace(/^[\\/]+/, ""), rest);
    existing = parent;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

export function isUnder(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Whether a glob of the entry matches a real path. Relative ones start at the working directory. */
export function globMatches(glob: string, real: string, root: string, anyCase: boolean): boolean {
  const options = { dot: true, nocase: anyCase, nonegate: true };
  if (isAbsolute(glob)) return picomatch(glob, options)(real);
  if (!isUnder(real, root)) return false;
  return picomatch(plain(glob), options)(slashes(relative(root, real)));
}

/**
 * Whether a denial covers a real path; if `deep`, also whether it could cover something below: a search
 * would then show what it keeps away. Errs on the side of yes: case does not matter, links, `..` and `~` in
 * the fixed beginning of the glob are followed, and without a wildcard at its end it means all that is below.
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
  const { base, glob: rest } = picomatch.scan(plain(glob), { nonegate: true });
  const named = base.replace(/^~(?=\/|$)/, () => home);
  const start = sep === "/" ? named.replace(/\\(.)/g, "$1") : named;
  const path = real.toLowerCase();
  const last = rest.slice(rest.lastIndexOf("/") + 1);
  const open = picomatch.scan(last).isGlob ? rest : `${rest}/**`;
  // The `_` makes `**` match the beginning itself.
  const matches = picomatch(`_/${open}`.replace("//", "/"), { dot: true, nocase: true });
  const starts = [resolve(root, start), ...(realLocations(start || ".", context) ?? [])];
  return starts.some((one) => {
    const place = one.toLowerCase();
    if (isUnder(path, place) && matches(`_/${slashes(relative(place, path))}`)) return true;
    return deep && (isUnder(place, path) || isUnder(path, place));
  });
}

/** `./src/**` and `src/` as people write them. */
function plain(glob: string): string {
  const short = glob.replace(/^(?:\.\/)+/, "");
  return short.endsWith("/") ? `${short}**` : short;
}

function slashes(path: string): string {
  return sep === "/" ? path : path.split(sep).join("/");
}

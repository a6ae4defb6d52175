/**
 * Makes what a sandbox grants from the rules of the file tools, so that both agree, except that programs may read `.git`.
 * Only what exists can be granted: the working directory is looked through once for files to hide or to fix.
 */
import { dirname, isAbsolute, join, sep } from "node:path";
import { partsMatch, readGlob, type Part } from "../entry/glob.ts";
import type { Permissions } from "../entry/model.ts";
import type { SandboxNetwork, SandboxProfile } from "../sandbox/mounts.ts";
import {
  askingOnce,
  fixedStart,
  globDenies,
  globMatches,
  isUnder,
  realLocation,
  remembered,
} from "./paths.ts";
import { placeReason, type PermissionContext } from "./policy.ts";
import { hostOf } from "./commands.ts";
import { mayReadPrivateFiles, ruleSet, type RuleSet } from "./rules.ts";

interface ProfileContext extends PermissionContext {
  /** The entries of a folder, without links: they lead where an agent may have pointed them. Empty if it can't be read. */
  readonly entries: (folder: string) => readonly FolderEntry[];
  /** Called after each folder, for large ones not to block the process. */
  readonly pause: () => Promise<void>;
}

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Folders of packages are only looked through for a denial that names them: they hold many files, none of the user's. */
const skipped = "node_modules";
/** Stands for any name that no pattern mentions. */
const anyName = "\u{10FFFD}";
/** The maximum of single files in a list. Programs can't write further ones. */
const mostFiles = 500;
const mostNames = 100_000;

export async function sandboxProfile(
  permissions: Permissions,
  files: ProfileContext,
): Promise<SandboxProfile> {
  const rules = ruleSet(permissions);
  const context = { ...askingOnce(files), entries: remembered(files.entries) };
  const root = realLocation(context.workingDirectory, context) ?? context.workingDirectory;
  const { everything, read, write } = rules;
  if (root === sep && !everything)
    throw new Error("the working directory is /: use another folder");
  const reads = await granted(everything ? [] : read.allow, root, context);
  const writes = await granted(everything ? [] : write.allow, root, context);
  const writable = [...(rules.writes ? [root] : []), ...writes.folders];
  const may = (operation: "read" | "write") => (path: string) =>
    placeReason(operation, rules, path, root, context, false) === undefined;
  const outside = [...reads.folders, ...writes.folders].filter((path) => !isUnder(path, root));
  const single = [...outside, ...reads.files, ...writes.files];
  const found = await search(rules, permissions, [root, ...outside], root, writable, context);
  return {
    files: everything ? "all" : "granted",
    readable: [
      root,
      ...reads.folders,
      ...reads.files.filter(may("read")),
      ...(context.readable ?? []),
    ],
    writable: [...writable, ...writes.files.filter(may("write")).filter(may("read"))],
    creatable: writes.places,
    fixed: [
      ...found.fixed,
      ...(context.kept ?? []).map((path) => realLocation(path, context) ?? path),
    ],
    hidden: [...found.hidden, ...elsewhere(rules.read.deny, root, found.looked, single, context)],
    repositories: found.repositories,
    network: network(rules),
  };
}

async function search(
  rules: RuleSet,
  permissions: Permissions,
  folders: readonly string[],
  root: string,
  writable: readonly string[],
  context: ProfileContext,
): Promise<Pick<SandboxProfile, "hidden" | "fixed" | "repositories"> & { looked: Set<string> }> {
  const repositories: { path: string; isWritable: boolean }[] = [];
  const hidden: string[] = [];
  const fixed: string[] = [];
  const namesPrivate = mayReadPrivateFiles(permissions) && !rules.everything;
  const isDenied = (operation: "read" | "write", path: string): boolean =>
    placeReason(operation, rules, path, root, context, false) !== undefined;
  /** Whether a folder is denied with all that is below it, unlike by `!secrets/*`. */
  const isDeep = (operation: "read" | "write", path: string): boolean =>
    [join(path, anyName), join(path, anyName, anyName)].every((one) => isDenied(operation, one));
  const denials = [...rules.read.deny, ...rules.write.deny];
  const namesPackages = denials.some((glob) => glob.toLowerCase().includes(skipped));
  const looked = new Set<string>();
  let names = 0;
  /** `within`: of a folder that is fixed with all that is in it. */
  const look = async (folder: string, mayRead: boolean, within = false): Promise<void> => {
    looked.add(folder);
    for (const { name, isFolder } of context.entries(folder)) {
      const path = join(folder, name);
      names += isUnder(path, root) ? 0 : 1;
      if (names > mostNames)
        throw new Error(
          `the permissions grant more than ${mostNames} files outside the working directory: name smaller folders`,
        );
      const mayWrite = writable.some((one) => isUnder(path, one));
      if (name === ".git") {
        const isNamed = rules.read.deny.some((glob) =>
          globDenies(glob, path, false, root, context.home ?? "", context),
        );
        if (!mayRead || isNamed) hidden.push(path);
        else if (rules.everything) continue;
        // Programs need it.
        else if (isFolder) repositories.push({ path, isWritable: mayWrite });
        else if (mayWrite) fixed.push(path);
      } else if (isDenied("read", path)) {
        if (isFolder && (namesPrivate || !isDeep("read", path))) await look(path, false, within);
        else hidden.push(path);
      } else {
        const isFixed = !within && mayWrite && isDenied("write", path);
        const isWhole = isFixed && (!isFolder || isDeep("write", path));
        if (isWhole) fixed.push(path);
        if (isFolder && (name !== skipped || namesPackages))
          await look(path, true, within || isWhole);
      }
    }
    await context.pause();
  };
  if (rules.everything && denials.length === 0) return { repositories, hidden, fixed, looked };
  for (const folder of new Set(folders)) {
    // `.env/**` may also be a file.
    const isFile = folder !== root && context.entries(folder).length === 0;
    if (isFile && isDenied("read", folder)) hidden.push(folder);
    else await look(folder, true);
  }
  return { repositories, hidden, fixed, looked };
}

/** `places`: where files may come to be that the patterns match. */
async function granted(globs: readonly string[], root: string, context: ProfileContext) {
  const folders: string[] = [];
  const files: string[] = [];
  const places: string[] = [];
  for (const glob of globs) {
    const alternatives = readGlob(glob);
    if (typeof alternatives === "string") continue;
    for (const { text, parts } of alternatives) {
      const [names, rest] = fixedStart(parts, isAbsolute(text), context.home ?? "");
      const start = isAbsolute(text) ? names : join(root, names);
      if (start === sep) {
        throw new Error(`the pattern ${JSON.stringify(glob)} begins at the root: name a folder`);
      }
      // Patterns are about where a path really leads.
      if (realLocation(start, context) !== start) continue;
      if (isWhole(rest)) folders.push(start);
      else if (rest.length === 0) {
        // A folder alone is its name, not what is in it.
        if (isThere(start, context) && !isThere(`${start}/.`, context)) files.push(start);
        places.push(dirname(start));
      } else {
        for (const file of await matches(glob, start, root, context)) files.push(file);
        places.push(start);
      }
    }
  }
  return { folders, files: files.slice(0, mostFiles), places };
}

/** `**`, and `**` with any name behind it. */
function isWhole(rest: readonly Part[]): boolean {
  return (
    rest[0]?.kind === "folders" &&
    rest
      .slice(1)
      .every((part) => part.kind === "pattern" && part.tokens.every(({ kind }) => kind === "any"))
  );
}

async function matches(
  glob: string,
  start: string,
  root: string,
  context: ProfileContext,
): Promise<string[]> {
  const found: string[] = [];
  const look = async (folder: string): Promise<void> => {
    for (const { name, isFolder } of context.entries(folder)) {
      if (found.length >= mostFiles) return;
      const path = join(folder, name);
      if (isFolder && name !== skipped && name !== ".git") await look(path);
      else if (!isFolder && globMatches(glob, path, root, false)) found.push(path);
    }
    await context.pause();
  };
  await look(start);
  return found;
}

/** A pattern hides all in which it could match, except what was `looked` through already and what holds something `granted`. */
function elsewhere(
  globs: readonly string[],
  root: string,
  looked: ReadonlySet<string>,
  granted: readonly string[],
  context: ProfileContext,
): string[] {
  return globs.flatMap((glob) => {
    const alternatives = readGlob(glob);
    if (typeof alternatives === "string") return [];
    return alternatives.flatMap(({ text, parts }) => {
      const [names, rest] = fixedStart(parts, isAbsolute(text), context.home ?? "");
      const start = isAbsolute(names) ? names : join(root, names);
      if (isUnder(start, root) || !isThere(start, context)) return [];
      // Nothing can be mounted on a link.
      const real = realLocation(start, context) ?? start;
      if (rest.length === 0 || isWhole(rest)) return [real];
      const [first] = rest;
      return context
        .entries(start)
        .filter(
          ({ name }) => first?.kind === "folders" || partsMatch(rest.slice(0, 1), [name], true),
        )
        .filter(({ name, isFolder }) => !looked.has(isFolder ? join(real, name) : real))
        .map(({ name }) => join(real, name))
        .filter((path) => !granted.some((one) => isUnder(one, path)));
    });
  });
}

function isThere(path: string, context: ProfileContext): boolean {
  try {
    return path === sep || context.isThere(path);
  } catch {
    return false;
  }
}

function network({ everything, url, hosts }: RuleSet): SandboxNetwork {
  if (everything && url.deny.length === 0 && hosts.deny.length === 0) return "all";
  const allowed = [...url.allow.flatMap(hostOf), ...hosts.allow];
  const denied = [...url.deny.flatMap(hostOf), ...hosts.deny];
  if (everything) return { allowed: ["*"], denied };
  return allowed.length === 0 ? "none" : { allowed, denied };
}

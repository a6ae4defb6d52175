/**
 * Finds repositories, and what a sandbox protects in them: credentials in their settings, and files that make git run
 * programs. No file is read through a link or from a pipe, because an agent may have made it.
 */
import * as fs from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { inRealFolder } from "./files.ts";

interface GitFolder {
  readonly settings: readonly string[];
  /** Never writable. */
  readonly fixed: readonly string[];
  readonly hidden: readonly string[];
  readonly folders: readonly string[];
}

export function gitFolder(path: string): GitFolder {
  const settings: string[] = [];
  const fixed: string[] = [];
  const hidden: string[] = [];
  const folders: string[] = [];
  const look = (folder: string): void => {
    if (!isFile(join(folder, "gitdir"))) folders.push(folder);
    for (const name of namesIn(folder)) {
      const inside = join(folder, name);
      if (!isFile(inside) && !isFolder(inside)) continue;
      if (/^config(?:\.worktree)?$/.test(name) && isFile(inside)) settings.push(inside);
      else if (name === "hooks" || name === "commondir") fixed.push(inside);
      else if (/credential/i.test(name)) hidden.push(inside);
    }
    for (const kind of ["modules", "worktrees"]) lookBelow(join(folder, kind));
  };
  /** The name of a submodule may have several parts. */
  const lookBelow = (folder: string): void => {
    for (const name of namesIn(folder)) {
      const inside = join(folder, name);
      if (!isFolder(inside)) continue;
      if (namesIn(inside).includes("HEAD")) look(inside);
      else lookBelow(inside);
    }
  };
  look(path);
  return { settings, fixed, hidden, folders };
}

/**
 * Only what exists can be mounted read-only, so missing hooks and files are made. With a `commondir`, a program could name
 * a folder with settings of its own. Ours has no effect, and stays, because other runs may rely on it.
 */
export function occupyGitFolder(path: string): void {
  for (const folder of gitFolder(path).folders) {
    try {
      inRealFolder(join(folder, "hooks"), () => {});
      inRealFolder(folder, (at) => fs.writeFileSync(join(at, "commondir"), ".\n", { flag: "wx" }));
    } catch {
      // It is there, or nobody can write here.
    }
  }
}

/** The repository of a worktree or a submodule must refer back to it, so that a file `.git` can't name any folder. */
export function outerGitFolders(checkout: string): string[] {
  for (let at = checkout; ; at = dirname(at)) {
    const path = join(at, ".git");
    if (isRepository(path)) return at === checkout ? [] : [path];
    const named = /^gitdir: (.+)$/m.exec(textOf(path))?.[1];
    if (named !== undefined) return linkedFolders(at, resolve(at, named));
    if (at === dirname(at)) return [];
  }
}

/** Other folders whose objects a checkout uses: the copy that a rehearsal works in uses those of the original. */
export function borrowedObjects(checkout: string): string[] {
  const folders = textOf(join(checkout, ".git/objects/info/alternates")).split("\n");
  return folders.filter((path) => isAbsolute(path) && isFolder(path));
}

export interface GitPlace {
  readonly root: string;
  readonly gitFolder: string;
  /** It has objects, branches and settings. Another one than `gitFolder` for a linked work tree. */
  readonly commonFolder: string;
}

/** Finds the repository of a folder as git does, without git. */
export function gitPlaceOf(folder: string): GitPlace | undefined {
  for (let root = folder; ; root = dirname(root)) {
    const path = join(root, ".git");
    const named = /^gitdir: (.+)$/m.exec(textOf(path))?.[1];
    const gitFolder = named === undefined ? path : resolve(root, named);
    const commonFolder = resolve(gitFolder, textOf(join(gitFolder, "commondir")).trim());
    if (isRepository(commonFolder)) return { root, gitFolder, commonFolder };
    if (root === dirname(root)) return undefined;
  }
}

function linkedFolders(checkout: string, folder: string): string[] {
  const common = textOf(join(folder, "commondir")).trim();
  if (common !== "" && resolve(textOf(join(folder, "gitdir")).trim()) === join(checkout, ".git")) {
    const repository = resolve(folder, common);
    return isRepository(repository) ? [folder, repository] : [];
  }
  const worktree = /^[ \t]*worktree = (.+)$/m.exec(textOf(join(folder, "config")))?.[1];
  const isOurs = worktree !== undefined && resolve(folder, worktree) === checkout;
  return isOurs && isRepository(folder) ? [folder] : [];
}

/** Either folder may be a link. */
function isRepository(path: string): boolean {
  return ["objects", "refs"].every((name) => isFolder(`${path}/${name}/.`));
}

/** Removes headers of requests, which actions/checkout fills with a token, and users and passwords of addresses. */
export function withoutCredentials(settings: string): string {
  return settings
    .replaceAll(/^[^\n\r]*\bextraheader\s*=(?:[^\n\\]|\\[^])*$/gim, "")
    .replaceAll(/(:\/\/)[^\s/@"']+@/g, "$1");
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function isFolder(path: string): boolean {
  return statusOf(path)?.isDirectory() === true;
}

function isFile(path: string): boolean {
  return statusOf(path)?.isFile() === true;
}

export function statusOf(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path);
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  try {
    return isFile(path) ? fs.readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}

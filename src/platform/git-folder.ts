/**
 * What a sandbox has to know of git's own folders. Programs inside need them, but not the credentials in their settings,
 * and what makes git run programs stays as it is: whoever uses git in this checkout later trusts it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** Paths that exist, absolute. */
export interface GitFolder {
  /** Files of settings. Shown without credentials, never writable. */
  readonly settings: readonly string[];
  /** Never writable. */
  readonly fixed: readonly string[];
  /** Not readable. */
  readonly hidden: readonly string[];
}

/** What is in a `.git`: its own settings and hooks, and those of its submodules and worktrees. */
export function gitFolder(path: string): GitFolder {
  const settings: string[] = [];
  const fixed: string[] = [];
  const hidden: string[] = [];
  const look = (folder: string): void => {
    for (const name of namesIn(folder)) {
      const inside = join(folder, name);
      if (/^config(?:\.worktree)?$/.test(name) && !isFolder(inside)) settings.push(inside);
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
  return { settings, fixed, hidden };
}

/** The settings are those of the common folder, which is the folder itself. */
const itself = ".\n";

/**
 * Only what is there can be fixed. So a `.git` without hooks gets an empty folder for them; and the file that would
 * send git to the settings of another folder is there until the function is called that this returns.
 */
export function occupyGitFolder(path: string): () => void {
  const common = join(path, "commondir");
  try {
    mkdirSync(join(path, "hooks"), { recursive: true });
    writeFileSync(common, itself, { flag: "wx" });
  } catch {
    // It is there, or nobody can write here.
    return () => {};
  }
  return () => {
    if (textOf(common) === itself) rmSync(common, { force: true });
  };
}

/**
 * The folders of git that a checkout uses and doesn't hold: `.git` of a folder above, or of the repository of a worktree
 * or of a submodule. Such a folder has to name the checkout as well, so that a file `.git` can't name just any.
 */
export function outerGitFolders(checkout: string): string[] {
  for (let at = checkout; ; at = dirname(at)) {
    const path = join(at, ".git");
    if (isRepository(path)) return at === checkout ? [] : [path];
    const named = /^gitdir: (.+)$/m.exec(textOf(path))?.[1];
    if (named !== undefined) return linkedFolders(at, resolve(at, named));
    if (at === dirname(at)) return [];
  }
}

/** Folders whose objects a checkout uses: a rehearsal's copy has those of its original. */
export function borrowedObjects(checkout: string): string[] {
  const folders = textOf(join(checkout, ".git/objects/info/alternates")).split("\n");
  return folders.filter((path) => isAbsolute(path) && isFolder(path));
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

function isRepository(path: string): boolean {
  return ["objects", "refs"].every((name) => isFolder(join(path, name)));
}

/** Without headers of requests, which actions/checkout fills with a token, and without users and passwords of addresses. */
export function withoutCredentials(settings: string): string {
  return settings
    .replaceAll(/^[^\n]*\bextraheader\s*=(?:[^\n\\]|\\[^])*$/gim, "")
    .replaceAll(/(:\/\/)[^\s/@"']+@/g, "$1");
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Empty for what can't be read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

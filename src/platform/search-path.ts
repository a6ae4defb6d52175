/**
 * Which program a name stands for. A folder of `PATH` that is relative, empty or in a checkout may hold whatever a
 * stranger's commit put there, so none of those is looked into; nor is a program taken that is a link into a checkout.
 */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, relative, resolve, sep } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** `path` without what is relative, empty or in the GitHub workspace: for what others start. */
export function safePath(path: string, environment: Environment): string {
  return foldersOf(path, workspaceOf(environment)).join(delimiter);
}

/** The folders in which we look for programs to start ourselves: not in the working directory either. */
export function searchFolders(environment: Environment): string[] {
  return foldersOf(variable(environment, "PATH") ?? "", checkouts(environment));
}

/** The absolute path of a program to start, found as `searchFolders` says; undefined if there is none. */
export function findProgram(name: string, environment: Environment): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  return searchFolders(environment)
    .map((folder) => join(folder, file))
    .find((path) => isProgram(path, environment));
}

/** True for an executable file that is in no checkout, links resolved. */
function isProgram(path: string, environment: Environment): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() && !isWithinAny(checkouts(environment), path);
  } catch {
    return false;
  }
}

/** True if a path is in the GitHub workspace, by its name or with its links resolved. */
export function isInWorkspace(path: string, environment: Environment): boolean {
  return isWithinAny(workspaceOf(environment), path);
}

/** On Windows names differ in case only (`Path`), and a copy of the environment is an ordinary object. */
export function variable(environment: Environment, name: string): string | undefined {
  if (process.platform !== "win32") return environment[name];
  const key = Object.keys(environment).find((key) => key.toUpperCase() === name);
  return key === undefined ? undefined : environment[key];
}

function foldersOf(path: string, excluded: readonly string[]): string[] {
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isWithinAny(excluded, folder));
}

function workspaceOf(environment: Environment): string[] {
  const workspace = environment["GITHUB_WORKSPACE"] ?? "";
  return workspace === "" ? [] : [resolve(workspace)];
}

/** A working directory that holds the home directory is no checkout: in a container it is often `/` or `/root`. */
function checkouts(environment: Environment): string[] {
  const workspace = workspaceOf(environment);
  const here = process.cwd();
  return isWithin(here, variable(environment, "HOME") || homedir())
    ? workspace
    : [...workspace, here];
}

function isWithinAny(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isWithin(folder, path));
}

/** True if a path is in a folder, by its name or by where links lead. */
export function isWithin(folder: string, path: string): boolean {
  const [realFolder, realPath] = [folder, path].map(real);
  return [
    [folder, path],
    [realFolder, realPath],
    [realFolder, path],
  ].some(([outer = "", inner = ""]) => !leaves(relative(outer, inner)));
}

/** Of a relative path: whether it leads out of the folder that it starts in. */
export function leaves(path: string): boolean {
  return path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** A path whose end is yet to be made leads where its parents lead. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = resolve(path, "..");
    return parent === path ? path : join(real(parent), relative(parent, path));
  }
}

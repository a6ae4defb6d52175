/** A folder of `PATH` that is relative, empty or in a checkout may hold whatever a stranger's commit put there. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, relative, resolve, sep } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

const standardPath = ["/usr/bin", "/bin"].join(delimiter);

/** In CI without the working directory, too. Never empty: that would stand for the working directory. */
export function safePath(path: string, environment: Environment, outside?: string): string {
  const excluded = isCi(environment) ? checkouts(environment) : workspaceOf(environment);
  if (outside !== undefined) excluded.push(outside);
  return foldersOf(path, excluded).join(delimiter) || standardPath;
}

export function isCi(environment: Environment): boolean {
  return !["", "0", "false"].includes((environment["CI"] ?? "").toLowerCase());
}

/** Only searched in absolute folders, unlike by the system, which may also search the folder of the process. */
export function resolveCommand(
  command: string,
  cwd: string,
  environment: Environment,
): string | undefined {
  if (!isBareName(command)) return resolve(cwd, command);
  const path = variable(environment, "PATH") || standardPath;
  return foldersOf(path, [])
    .flatMap((folder) => fileNames(command).map((name) => join(folder, name)))
    .find(isExecutable);
}

export function isBareName(command: string, system: NodeJS.Platform = process.platform): boolean {
  return !(system === "win32" ? /[\\/]|^[a-z]:/i : /\//).test(command);
}

/** On Windows, those that can be started without a shell: whatever `PATHEXT` says, `.cmd` and `.bat` are not. */
export function fileNames(name: string, system: NodeJS.Platform = process.platform): string[] {
  if (system !== "win32" || /\.(?:com|exe)$/i.test(name)) return [name];
  return [`${name}.com`, `${name}.exe`];
}

/** The folders in which we look for programs to start ourselves: not in the working directory either. */
export function searchFolders(environment: Environment): readonly string[] {
  return foldersOf(variable(environment, "PATH") ?? "", checkouts(environment));
}

export function findProgram(name: string, environment: Environment): string | undefined {
  const isExcluded = within(checkouts(environment));
  return searchFolders(environment)
    .flatMap((folder) => fileNames(name).map((file) => join(folder, file)))
    .find((path) => isExecutable(path) && !isExcluded(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function isInWorkspace(path: string, environment: Environment): boolean {
  return within(workspaceOf(environment))(path);
}

/** On Windows names differ in case only (`Path`), and a copy of the environment is an ordinary object. */
export function variable(environment: Environment, name: string): string | undefined {
  if (process.platform !== "win32") return environment[name];
  const key = Object.keys(environment).find((key) => key.toUpperCase() === name);
  return key === undefined ? undefined : environment[key];
}

/** The folders of a `PATH` are resolved once, because their links take most of the time of a look-up. */
const resolved = new Map<string, readonly string[]>();
const mostResolved = 100;

function foldersOf(path: string, excluded: readonly string[]): readonly string[] {
  const key = [path, ...excluded].join("\0");
  const known = resolved.get(key);
  if (known !== undefined) return known;
  const isExcluded = within(excluded);
  const folders = path.split(delimiter).filter((one) => isAbsolute(one) && !isExcluded(one));
  if (resolved.size === mostResolved) resolved.clear();
  resolved.set(key, folders);
  return folders;
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

export function isWithin(folder: string, path: string): boolean {
  return within([folder])(path);
}

/** Resolves the folders once, for many paths. */
function within(folders: readonly string[]): (path: string) => boolean {
  const known = folders.map((folder) => [folder, real(folder)] as const);
  return (path) => {
    if (known.length === 0) return false;
    const realPath = real(path);
    return known.some(([folder, realFolder]) =>
      [
        [folder, path],
        [realFolder, realPath],
        [realFolder, path],
      ].some(([outer = "", inner = ""]) => !leaves(relative(outer, inner))),
    );
  };
}

export function leaves(path: string): boolean {
  return path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** A path whose end is yet to be made leads where its parents lead. */
function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = resolve(path, "..");
    return parent === path ? path : join(real(parent), relative(parent, path));
  }
}

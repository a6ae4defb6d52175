import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { leaves } from "../platform/search-path.ts";
import { Stop } from "./stop.ts";

export type CheckedPath =
  | {
      readonly kind: "inside";
      /** Relative to the workspace, with `/`; `.` is the workspace itself. Absolute outside of it. */
      readonly path: string;
    }
  | { readonly kind: "outside"; readonly problem: string };

export async function insideWorkspace(
  workspace: string,
  name: string,
  value: string,
): Promise<CheckedPath> {
  const outside = (how: string): CheckedPath => ({
    kind: "outside",
    problem: `\`${name}\` is ${JSON.stringify(value)}, which ${how}. Paths are relative to the workspace and must not leave it.`,
  });
  if (value.includes("\0")) return outside("is not a path");
  const absolute = resolve(workspace, value);
  const path = relative(workspace, absolute);
  if (leaves(path)) return outside("leads out of the workspace");
  const real = await realTarget(absolute);
  if (real === undefined) return outside("contains a broken link");
  if (leaves(relative(await realpath(workspace), real))) {
    return outside("leads out of the workspace through a link");
  }
  return { kind: "inside", path: path === "" ? "." : path.replaceAll(sep, "/") };
}

/** Also below the runner's folder for temporary files, in which steps leave journals for each other. */
export async function insideRunner(
  { workspace, temporary }: { readonly workspace: string; readonly temporary: string },
  name: string,
  value: string,
): Promise<CheckedPath> {
  const checked = await insideWorkspace(workspace, name, value);
  if (checked.kind === "inside" || !isAbsolute(value)) return checked;
  const { kind } = await insideWorkspace(temporary, name, value);
  return kind === "inside" ? { kind, path: resolve(value) } : checked;
}

/** The journals in a folder, or the file itself. Returns a problem if there is none. */
export async function journalsAt(
  workspace: string,
  path: string,
): Promise<readonly string[] | string> {
  const is = await stat(resolve(workspace, path)).catch(() => undefined);
  if (is?.isDirectory() !== true) return is === undefined ? `${path} doesn't exist.` : [path];
  const children = await readdir(resolve(workspace, path), {
    withFileTypes: true,
    recursive: true,
  });
  const found = children
    .filter((child) => child.isFile() && child.name.endsWith(".jsonl"))
    .map((child) => join(path, relative(resolve(workspace, path), child.parentPath), child.name))
    .sort();
  return found.length === 0 ? `${path} contains no *.jsonl file.` : found;
}

/** By its name, wherever links lead. */
export function isBelow(folder: string, path: string): boolean {
  return !leaves(relative(folder, path));
}

/** Links resolved; a path that isn't there counts by its name. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const real = (await realTarget(path)) ?? path;
  return !leaves(relative(await realpath(folder), real));
}

/** Also if its last parts are yet to be made; undefined behind a dangling link. */
async function realTarget(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    // A broken link: writing to it creates its target.
    if ((await lstat(path).catch(() => undefined)) !== undefined) return undefined;
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const real = await realTarget(parent);
  return real === undefined ? undefined : join(real, relative(parent, path));
}

export function enter(workspace: string): void {
  try {
    process.chdir(workspace);
  } catch {
    throw new Stop("failure", [
      `The workspace ${workspace} doesn't exist. Run actions/checkout before this step.`,
    ]);
  }
}

/** A rehearsal may name the folder itself. */
export async function checkRehearsed(folder: string, workspace: string): Promise<void> {
  if (await isInside(workspace, folder)) return;
  throw new Stop("failure", [
    `The working directory of the rehearsal, ${folder}, is not in the workspace.`,
  ]);
}

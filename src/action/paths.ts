/** The paths among the inputs of a step: inside of the workspace, or where the runner keeps temporary files. */
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { plainName } from "../platform/files.ts";
import { leaves } from "../platform/search-path.ts";
import { asInput, AUTO } from "./inputs.ts";
import { Stop, temporaryFolder, type Setting } from "./setting.ts";

export interface Paths {
  /** The entry, the file with the prompt, or a rehearsal. Only a name for a prompt that is an input. */
  readonly entry: string;
  readonly workingDirectory: string | undefined;
  readonly userInputFile: string | undefined;
  readonly outputDir: string | undefined;
  readonly resume: string | undefined;
  /** The journal to deliver. */
  readonly journal: string | undefined;
  /** The journals to merge. */
  readonly journals: readonly string[];
}

/** `fallback`: stands for the entry where no single one runs. Throws a `Stop` with every problem. */
export async function checkPaths(
  { inputs, workspace, environment }: Pick<Setting, "inputs" | "workspace" | "environment">,
  fallback = "",
): Promise<Paths> {
  const temporary = temporaryFolder(environment);
  const problems: string[] = [];
  const inside = async (
    name: string,
    value: string | undefined,
    place: Place = { workspace, problems },
  ): Promise<string | undefined> =>
    value === undefined ? undefined : insideWorkspace(place, name, value);
  const runner = { workspace, problems, temporary };
  const journals = async (name: string, given: readonly string[]): Promise<readonly string[]> => {
    const found = new Set<string>();
    for (const one of given) {
      const path = await inside(name, one, runner);
      const files = path === undefined ? [] : await journalsAt(workspace, path);
      if (typeof files === "string") problems.push(`${asInput(name)}: ${files}`);
      else for (const file of files) found.add(file);
    }
    return [...found];
  };
  const journal = async (name: string, given: string | undefined): Promise<string | undefined> => {
    const [first, ...others] = await journals(name, given === undefined ? [] : [given]);
    if (others.length > 0)
      problems.push(`${asInput(name)} names ${others.length + 1} journals. It must name one.`);
    return first;
  };
  const { central, prompt, promptFile, resume, mode } = inputs;
  const isFile = central === undefined && prompt === undefined;
  const name = promptFile === undefined ? "entry" : "prompt-file";
  const own = `agent-jobs/${plainName(environment["GITHUB_ACTION"] || "step")}`;
  const outputDir = mode === "deliver" ? undefined : (inputs.outputDir ?? join(temporary, own));
  const paths = {
    entry: isFile ? ((await inside(name, inputs.entry || fallback)) ?? "") : inputs.entry,
    workingDirectory: await inside("working-directory", inputs.workingDirectory),
    userInputFile: await inside("user-input-file", inputs.userInputFile),
    outputDir: await inside("output-dir", outputDir, runner),
    resume: await journal("resume", resume === AUTO ? undefined : resume),
    journal: await journal("journal", inputs.journal),
    journals: await journals("journals", inputs.journals),
  };
  if (problems.length > 0) throw new Stop("failure", problems);
  return paths;
}

export interface Place {
  readonly workspace: string;
  /** The runner's folder for temporary files, in which steps leave journals for each other, if it may be named, too. */
  readonly temporary?: string;
  readonly problems: string[];
}

/** The path relative to the workspace, with `/`, or absolute in `temporary`. Undefined: there is a problem. */
export async function insideWorkspace(
  { workspace, temporary, problems }: Place,
  name: string,
  value: string,
): Promise<string | undefined> {
  const how = await howOutside(workspace, value);
  if (how === undefined)
    return relative(workspace, resolve(workspace, value)).replaceAll(sep, "/") || ".";
  if (
    temporary !== undefined &&
    isAbsolute(value) &&
    (await howOutside(temporary, value)) === undefined
  )
    return resolve(value);
  problems.push(
    `\`${name}\` is ${JSON.stringify(value)}, which ${how}. Paths are relative to the workspace and must not leave it.`,
  );
  return undefined;
}

async function howOutside(folder: string, value: string): Promise<string | undefined> {
  if (value.includes("\0")) return "is not a path";
  const absolute = resolve(folder, value);
  if (!isBelow(folder, absolute)) return "leads out of the workspace";
  const real = await realTarget(absolute);
  if (real === undefined) return "contains a broken link";
  return isBelow(await realpath(folder), real)
    ? undefined
    : "leads out of the workspace through a link";
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
  return isBelow(await realpath(folder), (await realTarget(path)) ?? path);
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

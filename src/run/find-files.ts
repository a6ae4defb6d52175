import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { isAmong, readGlob } from "../entry/glob.ts";
import type { Environment } from "../platform/environment.ts";
import { GitRepository } from "../git/repository.ts";
import { readSmallFile } from "../platform/files.ts";
import { UsageError } from "./options.ts";

const rehearsal = /\.rehearsal\.(?:ya?ml|json)$/;
const named = "*.rehearsal.yml, *.rehearsal.yaml and *.rehearsal.json";

/** A file that is named is always taken; folders and globs have the rehearsals that git doesn't ignore. */
export async function findRehearsals(
  given: readonly string[],
  directory: string,
  environment: Environment,
): Promise<string[]> {
  const found = new Set<string>();
  const problems: string[] = [];
  for (const one of given.length === 0 ? ["."] : given) {
    const files = await filesOf(one, directory, environment);
    if (typeof files === "string") problems.push(files);
    else for (const file of files) found.add(file);
  }
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return [...found];
}

async function filesOf(
  given: string,
  directory: string,
  environment: Environment,
): Promise<readonly string[] | string> {
  const is = await stat(resolve(directory, given)).catch(() => undefined);
  if (is?.isDirectory() === true) {
    const files = await rehearsalsIn(resolve(directory, given), environment);
    const where = given === "." ? "here" : `in ${given}`;
    return files.length === 0
      ? `There are no rehearsals ${where}: no files ${named} that git doesn't ignore.`
      : files.map((file) => join(given, file));
  }
  // A missing file is reported where it is read.
  if (is !== undefined || !/[*?[{]/.test(given)) return [given];
  const glob = given.replaceAll("\\", "/");
  const read = readGlob(glob);
  if (typeof read === "string") return `Invalid glob ${JSON.stringify(given)}: ${read}.`;
  const literal = /^(?:[^*?[{]*\/)?/.exec(glob)?.[0] ?? "";
  const folder = resolve(directory, literal);
  const all = await rehearsalsIn(folder, environment);
  const files = all.filter((path) => isAmong([glob.slice(literal.length)], path));
  return files.length === 0
    ? `No rehearsal matches ${given}. A rehearsal is one of ${named}.`
    : files.map((file) => join(relative(directory, folder), file));
}

/** Those that git tracks or doesn't ignore. If the folder is in no repository, or is ignored itself: all. */
async function rehearsalsIn(folder: string, environment: Environment): Promise<string[]> {
  const listed = async (): Promise<readonly string[] | undefined> => {
    const repository = GitRepository.at(folder, { environment });
    return (await repository?.isIgnored()) === false ? repository?.files() : undefined;
  };
  const names = (await listed().catch(() => undefined)) ?? (await filesIn(folder));
  const found = names.filter((name) => rehearsal.test(name) && existsSync(join(folder, name)));
  return found.toSorted();
}

const unsearched = new Set(["node_modules", ".git"]);

/** Breadth first, so that what is near is found before the bounds are met. Relative to the folder, with `/`. */
async function filesIn(
  folder: string,
  maxDepth = Infinity,
  maxFolders = Infinity,
): Promise<string[]> {
  const files: string[] = [];
  const folders = [{ path: "", depth: 0 }];
  for (const { path, depth } of folders) {
    const children = await readdir(join(folder, path), { withFileTypes: true }).catch(() => []);
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === "" ? child.name : `${path}/${child.name}`;
      if (child.isFile()) files.push(name);
      else if (!child.isDirectory() || unsearched.has(child.name)) continue;
      else if (depth < maxDepth && folders.length < maxFolders)
        folders.push({ path: name, depth: depth + 1 });
    }
  }
  return files;
}

const MAX_DEPTH = 4;
const MAX_FOLDERS = 300;
const MAX_FILES = 300;
const MAX_BYTES = 1_000_000;
const entryName = /(?:^|\/)[\p{L}\p{N} ._@+-]*\.(?:json|ya?ml|(?:wf|prompt)\.md)$/u;

/** Looks for a short while: a repository can be large. Sorted; relative to the workspace, with `/`. */
export async function findEntries(workspace: string, maxDepth = MAX_DEPTH): Promise<string[]> {
  const entries: string[] = [];
  const files = await filesIn(workspace, maxDepth, MAX_FOLDERS);
  const isCandidate = (name: string): boolean => entryName.test(name) && !rehearsal.test(name);
  for (const name of files.filter(isCandidate).slice(0, MAX_FILES))
    // A workflow and a prompt are entries by their names.
    if (name.endsWith(".md") || (await looksLikeEntry(join(workspace, name)))) entries.push(name);
  return entries.toSorted();
}

/** Recognized by the three fields that each entry has, valid or not. */
async function looksLikeEntry(path: string): Promise<boolean> {
  try {
    const text = new TextDecoder().decode(readSmallFile(path, MAX_BYTES));
    return ["models", "tasks", "jobs"].every((field) =>
      new RegExp(`(?:^|[{,])\\s*["']?${field}["']?\\s*:`, "m").test(text),
    );
  } catch {
    return false;
  }
}

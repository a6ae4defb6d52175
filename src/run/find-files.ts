import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { isAmong, readGlob } from "../entry/glob.ts";
import type { Environment } from "../platform/environment.ts";
import { GitRepository } from "../git/repository.ts";
import { readSmallFile } from "../platform/files.ts";
import { UsageError } from "./options.ts";

function isRehearsalName(path: string): boolean {
  return /\.rehearsal\.(?:ya?ml|json)$/.test(path);
}

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
  const isMeant = (path: string): boolean => isAmong([glob.slice(literal.length)], path);
  const files = (await rehearsalsIn(folder, environment)).filter(isMeant);
  return files.length === 0
    ? `No rehearsal matches ${given}. A rehearsal is one of ${named}.`
    : files.map((file) => join(relative(directory, folder), file));
}

async function rehearsalsIn(folder: string, environment: Environment): Promise<string[]> {
  const names = (await listedByGit(folder, environment)) ?? (await listed(folder));
  return names.filter((name) => isRehearsalName(name)).toSorted();
}

/** Lists files that git tracks or doesn't ignore. Undefined if the folder is in no repository, or is ignored itself. */
async function listedByGit(
  folder: string,
  environment: Environment,
): Promise<string[] | undefined> {
  try {
    const repository = GitRepository.at(folder, { environment });
    if (repository === undefined || (await repository.isIgnored())) return undefined;
    const names = (await repository.files()).filter((name) => isRehearsalName(name));
    return names.filter((name) => existsSync(join(folder, name)));
  } catch {
    return undefined;
  }
}

const unsearched = new Set(["node_modules", ".git"]);

async function listed(folder: string): Promise<string[]> {
  const names: string[] = [];
  const visit = async (inside: string): Promise<void> => {
    const children = await readdir(join(folder, inside), { withFileTypes: true }).catch(() => []);
    for (const child of children) {
      const name = inside === "" ? child.name : `${inside}/${child.name}`;
      if (child.isFile()) names.push(name);
      else if (child.isDirectory() && !unsearched.has(child.name)) await visit(name);
    }
  };
  await visit("");
  return names;
}

const MAX_DEPTH = 4;
const MAX_FOLDERS = 300;
const MAX_FILES = 300;
const MAX_BYTES = 1_000_000;

/** Looks for a short while: a repository can be large. Sorted; relative to the workspace, with `/`. */
export async function findEntries(workspace: string, maxDepth = MAX_DEPTH): Promise<string[]> {
  const entries: string[] = [];
  // Breadth first, so that what is near is found before the bounds are met.
  const folders = [{ path: "", depth: 0 }];
  let files = 0;
  for (const { path, depth } of folders) {
    const children = await readdir(join(workspace, path), { withFileTypes: true }).catch(() => []);
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === "" ? child.name : `${path}/${child.name}`;
      if (child.isDirectory() && !unsearched.has(child.name)) {
        if (depth < maxDepth && folders.length < MAX_FOLDERS)
          folders.push({ path: name, depth: depth + 1 });
      }
      const isNamed = /^[\p{L}\p{N} ._@+-]*\.(?:json|ya?ml|(?:wf|prompt)\.md)$/u.test(child.name);
      if (!child.isFile() || !isNamed || isRehearsalName(name) || files >= MAX_FILES) continue;
      files += 1;
      // A workflow and a prompt are entries by their names.
      if (name.endsWith(".md") || (await looksLikeEntry(join(workspace, name)))) entries.push(name);
    }
  }
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

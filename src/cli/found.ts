/** Entries that are named instead of their files: those of `.github/agent-jobs`, from any folder of the repository. */
import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { formatOfFile } from "../document/read-document.ts";
import { findEntries } from "../run/entry-files.ts";
import { guessText, UsageError } from "../run/options.ts";
import { gitRoot, isPromptFile, isWorkflowFile } from "../run/workflow-files.ts";

const FOLDER = ".github/agent-jobs";
const endings = [".yml", ".yaml", ".json", ".wf.md", ".prompt.md"];

export interface FoundEntry {
  readonly file: string;
  /** The root of the repository, if the entry was found by its name. Relative to the current directory. */
  readonly root?: string;
}

export async function findEntry(given: string): Promise<FoundEntry> {
  const isPath =
    /[\\/]|^\.+$/.test(given) ||
    formatOfFile(given) !== undefined ||
    isWorkflowFile(given) ||
    isPromptFile(given);
  if (isPath || isThere(given, "isFile")) return { file: given };
  const { root, folder } = placeOfEntries();
  const found = endings
    .map((ending) => join(folder, given + ending))
    .filter((file) => isThere(file, "isFile"));
  const [file, ...others] = found;
  if (others.length > 0)
    throw new UsageError(`Several entries are named ${given}: ${found.join(", ")}. Name the file.`);
  if (file !== undefined) return { file, root };
  const known = (await entriesOfRepository()).map((one) => nameOf(one));
  throw new UsageError(
    `There is no entry ${JSON.stringify(given)}${guessText(given, known)}. Looked for a file ${given} here, and for ${endings.map((ending) => given + ending).join(", ")} in ${folder}.`,
  );
}

/** The only one of the repository, or undefined if it has none. Throws a `UsageError` if it has several. */
export async function onlyEntry(): Promise<string | undefined> {
  const entries = await entriesOfRepository();
  if (entries.length <= 1) return entries[0];
  const names = entries.map((file) => nameOf(file)).join(", ");
  throw new UsageError(
    `${placeOfEntries().folder} has several entries: ${names}. Name one of them.`,
  );
}

export async function entriesOfRepository(): Promise<string[]> {
  const { folder } = placeOfEntries();
  return (await findEntries(folder, 0)).map((name) => join(folder, name));
}

/** Entries, valid or not, with their rehearsals and evals. Other JSON, such as a baseline, is not among them. */
export async function filesOfRepository(): Promise<string[]> {
  const { folder } = placeOfEntries();
  const entries = await entriesOfRepository();
  const names = isThere(folder, "isDirectory") ? readdirSync(folder) : [];
  const others = names
    .filter((name) => /\.ya?ml$|\.(?:rehearsal|eval)\.json$/.test(name))
    .map((name) => join(folder, name));
  return [...new Set([...entries, ...others])].toSorted();
}

/** The error of a command without anything to work on. */
export function noneFound(what: string): UsageError {
  return new UsageError(`Name ${what}: there is none in ${placeOfEntries().folder}.`);
}

/** The folder of the entries, if the repository has one, and its root. Relative to the current directory. */
export function placeOfEntries(): { readonly folder: string; readonly root: string } {
  const here = process.cwd();
  const root = relative(here, gitRoot(here) ?? here) || ".";
  return { root, folder: join(root, FOLDER) };
}

function isThere(path: string, is: "isFile" | "isDirectory"): boolean {
  return statSync(path, { throwIfNoEntry: false })?.[is]() === true;
}

function nameOf(file: string): string {
  const name = file.split(/[\\/]/).at(-1) ?? file;
  const ending = endings.find((one) => name.endsWith(one)) ?? "";
  return name.slice(0, name.length - ending.length);
}

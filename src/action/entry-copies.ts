/** The files that decide what an entry runs: which they are, and copies of them, read from a commit through GitHub's API. */
import { statSync } from "node:fs";
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { documentLimits } from "../document/read-document.ts";
import { loadEntry } from "../entry/prepare.ts";
import { promptText, variablePattern } from "../entry/prompt.ts";
import { leafWorks } from "../entry/work.ts";
import { checkoutOf } from "../github/origin.ts";
import type { CommitFiles } from "../github/commit-files.ts";
import { NotFoundError, type GithubApi } from "../github/github-api.ts";
import { readSmallFile } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Params } from "../run/options.ts";
import { filesAround, isWorkflowFile, promptsAround } from "../run/workflow-files.ts";
import { loadWorkflow } from "../workflow/read/load-workflow.ts";
import type { Environment } from "./inputs.ts";
import { isBelow } from "./paths.ts";
import { Stop } from "./setting.ts";

interface Copying {
  readonly folder: string;
  readonly files: CommitFiles;
  /** The parameters, if the entry is a workflow. */
  readonly params: Params;
  readonly say: (line: string) => void;
}

interface NamedFile {
  /** In the folder of the copies. */
  readonly path: string;
  /** In the repository. */
  readonly name: string;
}

/** More than this is a mistake, and GitHub answers no more than a thousand requests in an hour. */
const MAX_REACHED = 100;

async function copyFile(copying: Copying, file: NamedFile): Promise<string> {
  return copy(copying, file).catch((error) => refuse(copying, file, error));
}

async function copy({ folder, files, say }: Copying, { path, name }: NamedFile): Promise<string> {
  const target = join(folder, path);
  const content = await files.read(name);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  say(`Read from ${files.called}, ${files.commit}: ${name}.`);
  return target;
}

function refuse({ files }: Copying, { path, name }: NamedFile, error: unknown): never {
  const { called, commit, help } = files;
  throw new Stop("failure", [
    `${path} can't be read from ${called} (commit ${commit}${name === path ? "" : `, there ${name}`}): ${errorMessage(error)}. ${help}`,
  ]);
}

/** With every file that it names. Nothing of the workspace is asked about these: what they are called follows from the entry's name in the repository. */
export async function copyEntry(copying: Copying, entry: NamedFile): Promise<string> {
  const { folder, files, params, say } = copying;
  const entryFile = await copyFile(copying, entry);
  const root = resolve(entryFile, ...entry.name.split("/").map(() => ".."));
  // Bounds what a workflow may reach, as in the repository.
  await mkdir(join(root, ".git"));
  const known = new Set<string>();
  for (;;) {
    const missing = reachedFiles(entryFile, params).missing.filter((one) => !known.has(one));
    if (missing.length === 0) return entryFile;
    for (const file of missing) {
      known.add(file);
      const name = relative(root, file).replaceAll(sep, "/");
      const path = relative(folder, file).replaceAll(sep, "/");
      if (!isBelow(root, file)) {
        throw new Stop("failure", [`${entry.path} names a file outside of its repository.`]);
      }
      if (known.size > MAX_REACHED) {
        throw new Stop("failure", [
          `${entry.path} names more than ${MAX_REACHED} files, which are too many to be read from ${files.called} (commit ${files.commit}).`,
        ]);
      }
      try {
        await copy(copying, { path, name });
      } catch (error) {
        // A value `file:` may name one that the run makes, and all others are reported where they are named.
        if (!(error instanceof NotFoundError)) refuse(copying, { path, name }, error);
        say(`Not at ${files.called}, ${files.commit}: ${name}.`);
      }
    }
  }
}

/**
 * A path of the workspace relative to the repository's root: a checkout may be in a folder (`path:` of actions/checkout).
 * Throws a `Stop` if that checkout is of another repository, whose files have other names.
 */
export async function nameInRepository(
  { workspace, environment }: { readonly workspace: string; readonly environment: Environment },
  api: GithubApi,
  path: string,
): Promise<string> {
  const { GITHUB_REPOSITORY: here = "", GITHUB_SHA } = environment;
  const absolute = resolve(workspace, path);
  const real = await realpath(absolute).catch(() => absolute);
  const { remotes = [], commit } = (await checkoutOf(dirname(real), environment)) ?? {};
  if (remotes.length > 0 && !remotes.includes(here.toLowerCase())) {
    // GitHub finds the commits of forks in the repository, too.
    const asked = api.get("GET /repos/{owner}/{repo}/commits/{ref}", { ref: commit });
    const why = await asked.then(() => undefined, errorMessage);
    if (why !== undefined)
      throw new Stop("failure", [
        `${path} is in a checkout of another repository, ${remotes[0]}, and is not used (${here} does not have its commit: ${why}). Only a checkout of the commit of the event is trusted, and ${here} has other files at that commit, ${GITHUB_SHA}. To use an entry of ${remotes[0]}, write \`entry: ${remotes[0]}/PATH@SHA\` with its full commit SHA: it is read through GitHub's API and needs no checkout. Or name a file of ${here}.`,
      ]);
  }
  const checkout = await checkoutOf(dirname(absolute), environment);
  if (checkout === undefined || !isBelow(workspace, checkout.root)) return path;
  return relative(checkout.root, absolute).replaceAll(sep, "/");
}

/** Ignores problems of files, which the run reports. `params` are those of an entry that is a workflow. */
export function reachedFiles(
  entryFile: string,
  params: Params = {},
): { readonly found: readonly string[]; readonly missing: readonly string[] } {
  const reached = new Map<string, boolean>();
  const seen = (path: string, isThere: boolean): void => void reached.set(path, isThere);
  if (isWorkflowFile(entryFile)) {
    follow(entryFile, Object.values(params), seen);
  } else {
    for (const [file, values] of workflowsOf(entryFile, seen)) {
      const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
      seen(file, isThere);
      if (isThere) follow(file, values, seen);
    }
  }
  const paths = [...reached];
  return {
    found: paths.flatMap(([path, isThere]) => (isThere ? [path] : [])),
    missing: paths.flatMap(([path, isThere]) => (isThere ? [] : [path])),
  };
}

function follow(
  file: string,
  params: readonly string[],
  seen: (path: string, isThere: boolean) => void,
): void {
  const text = contentOf(file);
  if (text === undefined) return;
  const { id, files } = filesAround(file, { seen });
  const loaded = loadWorkflow(text, file, { id, files });
  if (loaded.kind === "rejected") return;
  const { workflow } = loaded;
  const read = (value: string | undefined, from: string): void => {
    if (value?.startsWith("file:") === true) files.read(value.slice("file:".length), from);
  };
  for (const value of params) read(value, workflow.main);
  for (const one of Object.values(workflow.files)) {
    for (const { default: value } of one.parameters) read(value, one.id);
  }
}

/** With the values of the parameters of each in all jobs. Prompts are seen on the way. */
function workflowsOf(
  entryFile: string,
  seen: (path: string, isThere: boolean) => void,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const text = contentOf(entryFile);
  if (text === undefined) return found;
  const loaded = loadEntry(text, entryFile, { readPrompt: promptsAround(entryFile, seen) });
  if (loaded.kind === "rejected") return found;
  const leaves = Object.values(loaded.entry.jobs).flatMap(({ work }) => leafWorks(work));
  for (const leaf of leaves) {
    if (leaf.kind !== "Flow") continue;
    const file = resolve(dirname(entryFile), leaf.file);
    const values = found.get(file) ?? [];
    found.set(file, values);
    for (const prompt of Object.values(leaf.params ?? {})) {
      const value = withoutVariables(promptText(prompt));
      if (value !== undefined) values.push(value);
    }
  }
  return found;
}

/** Undefined if the text is only known when the job runs. */
function withoutVariables(text: string): string | undefined {
  const isKnown = [...text.matchAll(variablePattern)].every(([, name]) => name === undefined);
  return isKnown ? text.replace(variablePattern, () => "$") : undefined;
}

function contentOf(file: string): Uint8Array | undefined {
  try {
    return readSmallFile(file, documentLimits.bytes);
  } catch {
    return undefined;
  }
}

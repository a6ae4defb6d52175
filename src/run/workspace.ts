import { mkdir, realpath, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory, removeDirectory } from "../platform/files.ts";
import { runGit } from "../git/git.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import type { Workspace } from "../rehearsal/format/surroundings.ts";
import type { Environment } from "../platform/environment.ts";
import { UsageError } from "./options.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface WorkFolder {
  /** Absolute, without links. */
  readonly path: string;
  remove(): Promise<void>;
}

export async function makeWorkspace(
  { files = {}, git = false, commits = [] }: Workspace,
  environment: Environment,
): Promise<WorkFolder> {
  return inRunFolder(async (path) => {
    try {
      await makeDirectory(path);
      await write(path, files);
      if (git || commits.length > 0)
        await makeRepository(path, { files, git, commits }, environment);
    } catch (error) {
      const why = errorMessage(error);
      throw new UsageError(`Can't create the workspace of the rehearsal: ${why}`);
    }
  });
}

/** A folder of the run that `fill` makes and fills; nothing is left if it throws. */
export async function inRunFolder(fill: (path: string) => Promise<void>): Promise<WorkFolder> {
  const folder = await realpath((await makeRunFolder("workspace-")).path);
  const path = join(folder, "workspace");
  const remove = (): Promise<void> => removeDirectory(folder);
  try {
    await fill(path);
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function write(
  folder: string,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  // First, so that a file can become a folder and a folder a file.
  for (const [name, content] of Object.entries(files)) {
    if (content === null) await removeFile(folder, name);
  }
  for (const [name, content] of Object.entries(files)) {
    if (content === null) continue;
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

/** With the folders that are empty then: git does not keep them either. */
async function removeFile(folder: string, name: string): Promise<void> {
  await rm(join(folder, name)).catch(() => {
    throw new Error(`there is no file ${name} to remove`);
  });
  for (let parent = dirname(name); parent !== "."; parent = dirname(parent)) {
    const removed = await rmdir(join(folder, parent)).then(
      () => true,
      () => false,
    );
    if (!removed) return;
  }
}

/** The branch of the first commit. */
const MAIN = "main";
const FIRST_MESSAGE = "The workspace of the rehearsal";
const FIRST_DATE = Date.UTC(2026, 0, 1);

/** Always the same commits for the same files, whatever git's settings on this machine. */
async function makeRepository(
  path: string,
  { files, git: wanted, commits }: Required<Omit<Workspace, "include">>,
  environment: Environment,
): Promise<void> {
  const branches = new Set<string>();
  let made = 0;
  const git = async (...args: readonly string[]): Promise<void> => {
    // A minute later each, so that a log has an order.
    const date = new Date(FIRST_DATE + made * 60_000).toISOString();
    const variables = {
      GIT_AUTHOR_NAME: "rehearsal",
      GIT_AUTHOR_EMAIL: "rehearsal@example.com",
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: "rehearsal",
      GIT_COMMITTER_EMAIL: "rehearsal@example.com",
      GIT_COMMITTER_DATE: date,
      GIT_LITERAL_PATHSPECS: "1",
    };
    await runGit(args, { cwd: path, environment, variables });
  };
  const commit = async (message: string, branch: string): Promise<void> => {
    const options = ["--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=whitespace"];
    await git("commit", ...options, `--message=${message}`);
    made += 1;
    branches.add(branch);
  };
  await git("init", "--quiet", `--initial-branch=${MAIN}`);
  const [first] = commits;
  const { branch: firstBranch = MAIN } = first ?? {};
  // A branch of its own needs something to branch off from.
  if (Object.keys(files).length > 0 || firstBranch !== MAIN || (wanted && first === undefined)) {
    await git("add", "--all");
    await commit(FIRST_MESSAGE, MAIN);
  }
  let current = MAIN;
  for (const [index, { message, branch = current, files: changed }] of commits.entries()) {
    try {
      const create = branches.has(branch) ? [] : ["--create"];
      if (branch !== current) await git("switch", "--quiet", ...create, branch);
      await write(path, changed);
      const paths = Object.keys(changed);
      // By name, so that what is ignored is committed too where a commit names it.
      if (paths.length > 0) await git("add", "--all", "--force", "--", ...paths);
      await commit(message, branch);
    } catch (error) {
      const why = errorMessage(error);
      throw new Error(`workspace.commits[${index}]: ${why}`, { cause: error });
    }
    current = branch;
  }
}

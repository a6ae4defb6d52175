/** The folder that a rehearsal makes for itself: its files and commits. It is removed after the run. */
import { mkdir, realpath, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory, removeDirectory } from "../platform/files.ts";
import { runGit } from "../platform/git.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import type { Workspace } from "../rehearsal/format/script.ts";
import type { Environment } from "../platform/environment.ts";
import { UsageError } from "./options.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface WorkFolder {
  /** Absolute, without links. */
  readonly path: string;
  remove(): Promise<void>;
}

/** Throws a `UsageError` if the files can't be written or git fails; then it is removed, too. */
export async function makeWorkspace(
  workspace: Workspace,
  environment: Environment,
): Promise<WorkFolder> {
  return inRunFolder(async (path) => {
    try {
      await makeDirectory(path);
      await write(path, workspace.files);
      const repository = new Repository(path, environment);
      if (workspace.git || workspace.commits.length > 0) await repository.make(workspace);
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
class Repository {
  readonly #path: string;
  readonly #environment: Environment;
  readonly #branches = new Set<string>();
  #commits = 0;

  constructor(path: string, environment: Environment) {
    this.#path = path;
    this.#environment = environment;
  }

  async make({ files, git: wanted, commits }: Workspace): Promise<void> {
    await this.#git("init", "--quiet", `--initial-branch=${MAIN}`);
    const [first] = commits;
    const { branch: firstBranch = MAIN } = first ?? {};
    // A branch of its own needs something to branch off from.
    if (Object.keys(files).length > 0 || firstBranch !== MAIN || (wanted && first === undefined)) {
      await this.#git("add", "--all");
      await this.#commit(FIRST_MESSAGE);
      this.#branches.add(MAIN);
    }
    let current = MAIN;
    for (const [index, { message, branch = current, files: changed }] of commits.entries()) {
      try {
        if (branch !== current) await this.#switchTo(branch);
        await write(this.#path, changed);
        const paths = Object.keys(changed);
        // By name, so that what is ignored is committed too where a commit names it.
        if (paths.length > 0) await this.#git("add", "--all", "--force", "--", ...paths);
        await this.#commit(message);
      } catch (error) {
        const why = errorMessage(error);
        throw new Error(`workspace.commits[${index}]: ${why}`, { cause: error });
      }
      this.#branches.add(branch);
      current = branch;
    }
  }

  async #switchTo(branch: string): Promise<void> {
    const isNew = !this.#branches.has(branch);
    await this.#git("switch", "--quiet", ...(isNew ? ["--create"] : []), branch);
  }

  async #commit(message: string): Promise<void> {
    const options = ["--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=whitespace"];
    await this.#git("commit", ...options, `--message=${message}`);
    this.#commits += 1;
  }

  async #git(...args: readonly string[]): Promise<void> {
    // A minute later each, so that a log has an order.
    const date = new Date(FIRST_DATE + this.#commits * 60_000).toISOString();
    const variables = {
      GIT_AUTHOR_NAME: "rehearsal",
      GIT_AUTHOR_EMAIL: "rehearsal@example.com",
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: "rehearsal",
      GIT_COMMITTER_EMAIL: "rehearsal@example.com",
      GIT_COMMITTER_DATE: date,
      GIT_LITERAL_PATHSPECS: "1",
    };
    await runGit(args, { cwd: this.#path, environment: this.#environment, variables });
  }
}

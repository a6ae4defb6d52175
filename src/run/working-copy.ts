/** The folder that a rehearsal works in: the working directory itself, a workspace that its script describes, or a copy. */
import { constants, type Stats } from "node:fs";
import {
  appendFile,
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rm,
  rmdir,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { runGit } from "../git/git.ts";
import { GitRepository } from "../git/repository.ts";
import type { Environment } from "../platform/environment.ts";
import { makeDirectory, removeDirectory } from "../platform/files.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import { leaves } from "../platform/search-path.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Workspace } from "../rehearsal/format/surroundings.ts";
import { UsageError } from "./options.ts";

export interface WorkFolder {
  /** Absolute, without links. */
  readonly path: string;
  remove(): Promise<void>;
}

/** Throws a `UsageError` if it can't be made; then nothing is left of it. `inPlace`: the option that does without a copy. */
export async function workFolder(
  script: Script | undefined,
  folder: string,
  {
    environment,
    inPlace,
    makes,
    copies,
  }: {
    readonly environment: Environment;
    readonly inPlace: string;
    /** Its workspace, if it has one. */
    readonly makes: boolean;
    /** The folder, which tools may change. */
    readonly copies: boolean;
  },
): Promise<WorkFolder> {
  if (makes && script?.workspace !== undefined) return makeWorkspace(script.workspace, environment);
  if (copies && script !== undefined)
    return copyWorkingDirectory(folder, environment, inPlace, script.include);
  return { path: folder, remove: () => Promise.resolve() };
}

async function makeWorkspace(
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
async function inRunFolder(fill: (path: string) => Promise<void>): Promise<WorkFolder> {
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

const MOST_BYTES = 200 * 1024 * 1024;
const AT_ONCE = 16;

/** `include`: paths in the folder, ignored or not. */
async function copyWorkingDirectory(
  folder: string,
  environment: Environment,
  inPlace: string,
  include: readonly string[] = [],
): Promise<WorkFolder> {
  const source = await realpath(folder);
  const root = (await repositoryOf(source, environment))?.root ?? source;
  const inside = relative(root, source);
  const made = await inRunFolder(async (path) => {
    try {
      const copy = new Copy(root, path, environment);
      await copy.add(root, "walked");
      await makeDirectory(join(path, inside));
      for (const name of include) await copy.include(join(source, name));
    } catch (error) {
      const why = errorMessage(error);
      throw new UsageError(
        `Can't copy ${root} for the rehearsal: ${why}. Use ${inPlace} to work in the folder itself, or add a workspace to the rehearsal.`,
      );
    }
  });
  return { ...made, path: join(made.path, inside) };
}

/** Undefined if the folder is in no work tree, or is ignored there: then it is a folder like any other. */
async function repositoryOf(
  folder: string,
  environment: Environment,
): Promise<GitRepository | undefined> {
  const repository = GitRepository.at(folder, { environment });
  if (repository === undefined || repository.root === folder) return repository;
  return (await repository.isIgnored()) ? undefined : repository;
}

/** How a path was found: git lists it, a folder without git has it, or the rehearsal names it or a folder above. */
type Found = "listed" | "walked" | "included";

/**
 * A copy of a working directory, for a rehearsal whose tools may change it. Nothing in it leads back: a repository has
 * refs, index and settings of its own, and only reads the objects of the original.
 */
class Copy {
  readonly #environment: Environment;
  /** Folders without links, and their copies; the last one that holds a path counts. */
  readonly #places: (readonly [folder: string, copy: string])[];
  #bytes = 0;

  constructor(root: string, target: string, environment: Environment) {
    this.#places = [[root, target]];
    this.#environment = environment;
  }

  /** Ignored or not, with everything in it except `.git` folders. Its size is not limited: the author asked for it. */
  async include(path: string): Promise<void> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined)
      throw new Error(`workspace.include names ${path}, which does not exist`);
    if (!(await hasRealParent(path)))
      throw new Error(`workspace.include names ${path}, which is behind a link`);
    const target = this.#counterpart(path);
    await mkdir(dirname(target), { recursive: true });
    // A link to a folder becomes a folder, so that nothing written there reaches the original.
    if ((await lstatOf(target))?.isSymbolicLink() === true) await rm(target);
    this.#places.push([real, target]);
    await this.add(real, "included");
  }

  /** Leaves out pipes, and files that are gone by now. */
  async add(path: string, how: Found): Promise<void> {
    const found = await lstatOf(path);
    const target = this.#counterpart(path);
    if (found?.isDirectory() === true) return this.#folder(path, how);
    if (how === "included" && (await lstatOf(target)) !== undefined) return;
    if (found?.isSymbolicLink() === true) await symlink(await this.#linkTarget(path), target);
    else if (found?.isFile() === true) {
      if (how !== "included") this.#count(found.size);
      await copyWritable(path, target, found);
    }
  }

  /** Copies a repository as one if the folder is its root. */
  async #folder(folder: string, how: Found): Promise<void> {
    await mkdir(this.#counterpart(folder), { recursive: true });
    const mayBeRoot = how !== "included" && (await lstatOf(join(folder, ".git"))) !== undefined;
    const repository = mayBeRoot ? await repositoryOf(folder, this.#environment) : undefined;
    if (repository?.root === folder) {
      await each(await repository.files(), async (name) => {
        // A repository in this one has a slash at its end.
        const path = join(folder, name.replace(/\/$/, ""));
        // Where a folder has become a link, what was below it is not there any more.
        if (!(await hasRealParent(path))) return;
        await mkdir(dirname(this.#counterpart(path)), { recursive: true });
        await this.add(path, "listed");
      });
      await this.#gitFolder(repository);
    } else if (how !== "listed") {
      const left = how === "included" ? [".git"] : [".git", "node_modules"];
      const names = (await readdir(folder)).filter((name) => !left.includes(name.toLowerCase()));
      await each(names, (name) => this.add(join(folder, name), how));
    }
  }

  /** A link inside the folder points to its counterpart in the copy. Any other keeps its target. */
  async #linkTarget(path: string): Promise<string> {
    const written = await readlink(path);
    const meant = resolve(dirname(path), written);
    const real = await realpath(meant).catch(() => meant);
    const inside = [meant, real].find((one) => this.#placeOf(one) !== undefined);
    if (inside === undefined) return meant;
    const isBeside = this.#placeOf(meant) === this.#placeOf(path);
    if (inside === meant && isBeside && !isAbsolute(written)) return written;
    return relative(dirname(this.#counterpart(path)), this.#counterpart(inside)) || ".";
  }

  async #gitFolder({ root, place }: GitRepository): Promise<void> {
    const { gitFolder, commonFolder } = place;
    const target = join(this.#counterpart(root), ".git");
    await mkdir(join(target, "objects", "info"), { recursive: true });
    // The metadata of a linked work tree itself comes second.
    if (commonFolder !== gitFolder)
      await this.#metadata(commonFolder, target, (name) => sharedMetadata.has(name));
    await this.#metadata(gitFolder, target, (name) => !leftBehind.has(name));
    await mkdir(join(target, "refs"), { recursive: true });
    const objects = await realpath(join(commonFolder, "objects"));
    await writeFile(join(target, "objects", "info", "alternates"), `${objects}\n`);
    // Last, so that it overrides other settings; no process may outlive the copy.
    const workTree = this.#counterpart(root).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
    const own = `\n[core]\n\tbare = false\n\tworktree = "${workTree}"\n\tfsmonitor = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n`;
    await appendFile(join(target, "config"), own);
    const ofTree = join(target, "config.worktree");
    if ((await lstatOf(ofTree)) !== undefined) await appendFile(ofTree, own);
  }

  async #metadata(from: string, to: string, isWanted: (name: string) => boolean): Promise<void> {
    await mkdir(to, { recursive: true });
    await each((await readdir(from)).filter(isWanted), async (name) => {
      const [source, target] = [join(from, name), join(to, name)];
      const found = await lstat(source);
      if (found.isDirectory()) return this.#metadata(source, target, () => true);
      if (!found.isFile() || name.endsWith(".lock")) return;
      this.#count(found.size);
      await copyWritable(source, target, found);
    });
  }

  #counterpart(path: string): string {
    const place = this.#placeOf(path);
    if (place === undefined) throw new Error(`${path} is outside of it`);
    const [folder, copy] = place;
    return join(copy, relative(folder, path));
  }

  #placeOf(path: string): readonly [folder: string, copy: string] | undefined {
    return this.#places.findLast(([folder]) => !leaves(relative(folder, path)));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MOST_BYTES) throw new Error("it has over 200 MB");
  }
}

/** Hooks, and what is of other repositories and work trees. Objects are read where they are. */
const leftBehind = new Set("objects hooks modules worktrees lfs annex gitdir commondir".split(" "));
/** The files that a linked work tree shares with its main one. */
const sharedMetadata = new Set("config packed-refs refs reftable logs info shallow".split(" "));

/** Its owner may change and remove a copy, also one of a checkout that can't be written. */
async function copyWritable(path: string, target: string, { mode }: Stats): Promise<void> {
  await copyFile(path, target, constants.COPYFILE_FICLONE);
  if ((mode & 0o200) === 0) await chmod(target, mode | 0o200);
}

function lstatOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined);
}

/** No folder above it is a link. Git may know it by another case than the disk. */
async function hasRealParent(path: string): Promise<boolean> {
  const parent = dirname(path);
  const real = await realpath(parent).catch(() => undefined);
  return real?.toLowerCase() === parent.toLowerCase();
}

/** After a failure nothing goes on: it would make folders in a copy that has been removed. */
async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const ends = await Promise.allSettled(items.slice(from, from + AT_ONCE).map(act));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }
}

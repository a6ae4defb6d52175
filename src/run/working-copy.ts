/**
 * A copy of a working directory, for a rehearsal whose tools may change it. Owns what is copied: what git tracks and
 * what is not ignored; without git everything but `node_modules`; and what the rehearsal includes.
 *
 * Nothing in the copy leads back: a repository has refs, index and settings of its own, reads the objects of the
 * original and writes its own, and links into the original lead into the copy. (Git renews the time of an object
 * that it would have to write again, also there; nothing else of the original is touched.)
 */
import { constants } from "node:fs";
import {
  appendFile,
  copyFile,
  cp,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { makeDirectory } from "../platform/files.ts";
import { runGit } from "../platform/git.ts";
import type { Environment } from "../platform/environment.ts";
import { UsageError } from "./options.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { inRunFolder, makeWorkspace, type WorkFolder } from "./workspace.ts";
import { errorMessage } from "../platform/system-error.ts";
import { leaves } from "../platform/search-path.ts";

const MOST_BYTES = 200 * 1024 * 1024;
const AT_ONCE = 16;

/**
 * Where a rehearsal works: in its own workspace, in a copy of the folder, or in the folder itself. Throws a `UsageError`
 * if it can't be made; then nothing is left of it. `inPlace`: the option that does without a copy, as the user writes it.
 */
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
      await copy.make();
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

interface Repository {
  readonly root: string;
  /** Two for a linked work tree. */
  readonly gitFolder: string;
  readonly commonFolder: string;
}

/** Undefined if the folder is in no work tree, or is ignored there: then it is a folder like any other. */
async function repositoryOf(
  folder: string,
  environment: Environment,
): Promise<Repository | undefined> {
  const options = { cwd: folder, environment };
  try {
    const asked = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
    const [root = "", gitFolder = "", commonFolder = ""] = (
      await runGit(["rev-parse", "--path-format=absolute", ...asked], options)
    ).split("\n");
    const repository = { root: await realpath(root), gitFolder, commonFolder };
    if (repository.root === folder) return repository;
    const ignored = await runGit(["check-ignore", "--quiet", "."], options).then(
      () => true,
      () => false,
    );
    return ignored ? undefined : repository;
  } catch {
    return undefined;
  }
}

class Copy {
  readonly #root: string;
  /** Where the copy of a folder is; the last one that contains a path counts. */
  readonly #places: (readonly [folder: string, copy: string])[];
  readonly #environment: Environment;
  /** Folders of the source that are known to be folders, not links to some. */
  readonly #folders = new Map<string, Promise<boolean>>();
  #bytes = 0;

  constructor(root: string, target: string, environment: Environment) {
    this.#root = root;
    this.#places = [[root, target]];
    this.#environment = environment;
  }

  async make(): Promise<void> {
    await mkdir(this.#counterpart(this.#root));
    await this.#tree(this.#root);
  }

  /**
   * Adds a file, or a folder with everything in it except `.git` folders. Its size is not limited: the author asked for
   * it, and cloned files take no space.
   */
  async include(path: string): Promise<void> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined)
      throw new Error(`workspace.include names ${path}, which does not exist`);
    if (!(await this.#isFolder(dirname(path))))
      throw new Error(`workspace.include names ${path}, which is behind a link`);
    const target = this.#counterpart(path);
    await mkdir(dirname(target), { recursive: true });
    // A link to a folder becomes a folder, so that nothing written there reaches the original.
    if ((await lstat(target).catch(() => undefined))?.isSymbolicLink() === true) await rm(target);
    this.#places.push([real, target]);
    await this.#whole(real);
  }

  async #whole(path: string): Promise<void> {
    const found = await lstat(path);
    const target = this.#counterpart(path);
    if (found.isDirectory()) {
      await mkdir(target, { recursive: true });
      const names = (await readdir(path)).filter((name) => name.toLowerCase() !== ".git");
      await this.#each(names, (name) => this.#whole(join(path, name)));
    } else if (await this.#isThere(target)) return;
    else if (found.isSymbolicLink()) await symlink(await this.#linkTarget(path), target);
    else if (found.isFile()) await copyFile(path, target, constants.COPYFILE_FICLONE);
  }

  /** A folder: as a repository if it is the root of one. */
  async #tree(folder: string): Promise<void> {
    const repository = (await this.#isThere(join(folder, ".git")))
      ? await repositoryOf(folder, this.#environment)
      : undefined;
    if (repository?.root === folder) await this.#repository(repository);
    else await this.#plain(folder);
  }

  async #plain(folder: string): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true });
    await this.#each(entries, async (entry) => {
      const path = join(folder, entry.name);
      if (entry.name.toLowerCase() === ".git") return;
      if (!entry.isDirectory()) await this.#entry(path);
      else if (entry.name !== "node_modules") {
        await mkdir(this.#counterpart(path), { recursive: true });
        await this.#tree(path);
      }
    });
  }

  async #repository({ root, gitFolder, commonFolder }: Repository): Promise<void> {
    const excludes = await this.#userExcludes(root);
    const listed = await runGit(
      [
        "-c",
        `core.excludesFile=${excludes}`,
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
      ],
      { cwd: root, environment: this.#environment },
    );
    // A path in conflict is listed more than once, a repository in this one with a slash at its end.
    const names = new Set(listed.split("\0").map((name) => name.replace(/\/$/, "")));
    names.delete("");
    await this.#each([...names], async (name) => {
      const path = join(root, name);
      if (!(await this.#isFolder(dirname(path)))) return;
      await mkdir(dirname(this.#counterpart(path)), { recursive: true });
      await this.#entry(path);
    });
    await this.#gitFolder(root, gitFolder, commonFolder);
  }

  /** A file, a link, or a repository within the repository. What is gone by now is left out, as is a pipe. */
  async #entry(path: string): Promise<void> {
    const found = await lstat(path).catch(() => undefined);
    const target = this.#counterpart(path);
    if (found === undefined) return;
    if (found.isDirectory()) {
      await mkdir(target, { recursive: true });
      if (await this.#isThere(join(path, ".git"))) await this.#tree(path);
    } else if (found.isSymbolicLink()) {
      await symlink(await this.#linkTarget(path), target);
    } else if (found.isFile()) {
      this.#count(found.size);
      await copyFile(path, target, constants.COPYFILE_FICLONE);
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

  async #gitFolder(root: string, gitFolder: string, commonFolder: string): Promise<void> {
    const target = join(this.#counterpart(root), ".git");
    await mkdir(join(target, "objects", "info"), { recursive: true });
    // What a linked work tree has of its own comes second.
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
    if (await this.#isThere(join(target, "config.worktree"))) {
      await appendFile(join(target, "config.worktree"), own);
    }
  }

  async #metadata(from: string, to: string, isWanted: (name: string) => boolean): Promise<void> {
    for (const name of (await readdir(from)).filter(isWanted)) {
      await cp(join(from, name), join(to, name), {
        recursive: true,
        filter: async (source) => {
          const found = await lstat(source);
          if (found.isFile()) this.#count(found.size);
          return found.isDirectory() || (found.isFile() && !source.endsWith(".lock"));
        },
      });
    }
  }

  /** What the user ignores everywhere. Their other settings have no effect here. */
  async #userExcludes(cwd: string): Promise<string> {
    const home = this.#environment["HOME"] ?? homedir();
    const config = this.#environment["XDG_CONFIG_HOME"] ?? join(home, ".config");
    const variables = {
      HOME: home,
      XDG_CONFIG_HOME: config,
      GIT_CONFIG_GLOBAL: this.#environment["GIT_CONFIG_GLOBAL"],
    };
    const asked = ["config", "--global", "--type=path", "--get", "core.excludesFile"];
    const named = await runGit(asked, { cwd, environment: this.#environment, variables }).catch(
      () => "",
    );
    return named.trim() === "" ? join(config, "git", "ignore") : named.trim();
  }

  #counterpart(path: string): string {
    const [folder, copy] = this.#placeOf(path) ?? this.#places[0] ?? [this.#root, this.#root];
    return join(copy, relative(folder, path));
  }

  #placeOf(path: string): readonly [folder: string, copy: string] | undefined {
    return this.#places.findLast(([folder]) => !leaves(relative(folder, path)));
  }

  /** Where a folder has become a link, what was below it is not there any more. */
  #isFolder(path: string): Promise<boolean> {
    if (path === this.#root) return Promise.resolve(true);
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const found = this.#isFolder(dirname(path)).then(
      async (above) =>
        above && ((await lstat(path).catch(() => undefined))?.isDirectory() ?? false),
    );
    this.#folders.set(path, found);
    return found;
  }

  async #isThere(path: string): Promise<boolean> {
    return lstat(path).then(
      () => true,
      () => false,
    );
  }

  /** After a failure nothing goes on: it would make folders in a copy that has been removed. */
  async #each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
    for (let from = 0; from < items.length; from += AT_ONCE) {
      const ends = await Promise.allSettled(items.slice(from, from + AT_ONCE).map(act));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= MOST_BYTES) return;
    throw new Error("it has over 200 MB");
  }
}

/** Hooks, and what is of other repositories and work trees. Objects are read where they are. */
const leftBehind = new Set("objects hooks modules worktrees lfs annex gitdir commondir".split(" "));
/** What a linked work tree has of its main one. */
const sharedMetadata = new Set("config packed-refs refs reftable logs info shallow".split(" "));

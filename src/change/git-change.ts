/** A change as the git of a checkout knows it. What a shallow checkout can't know is said, never guessed. */
import { copyFile, readFile, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../document/guards.ts";
import type { Environment } from "../platform/environment.ts";
import { makeTemporaryDirectory, removeDirectory } from "../platform/files.ts";
import { runGit } from "../platform/git.ts";
import { errorMessage } from "../platform/system-error.ts";
import { ChangeUnknown, type Change, type ChangedFile, type FileStatus } from "./change.ts";

export interface ChangeRange {
  /** Any name of a commit. Default: the first parent of the head, or the empty tree where it has none. */
  readonly base?: string;
  readonly head?: string;
  /** Whether what both have in common is the base (a branch), or the base itself (a push). Default: true. */
  readonly fromMergeBase?: boolean;
  /** Whether the working tree belongs to the change, files that git doesn't know yet included. Default: false. */
  readonly uncommitted?: boolean;
}

export interface Repository {
  readonly folder: string;
  readonly environment: Environment;
}

export async function changeFromGit(repository: Repository, range: ChangeRange): Promise<Change> {
  const git = createGit(repository);
  await git("rev-parse", "--git-dir").catch((error: unknown) => {
    throw new ChangeUnknown(
      `The change is unknown: ${repository.folder} is not in a git repository (${errorMessage(error)})`,
    );
  });
  const head = await commitNamed(git, range.head ?? "HEAD", "head");
  const base = await baseOf(git, range, head);
  if (range.uncommitted !== true) return { base, head, ...(await compared(git, [base, head])) };
  const parts = await withUntracked(repository, git, (withIndex) => compared(withIndex, [base]));
  return { base, head, uncommitted: true, ...parts };
}

export type Git = (...args: readonly string[]) => Promise<string>;

export function createGit({ folder: cwd, environment }: Repository, index?: string): Git {
  const variables = defined({ GIT_INDEX_FILE: index });
  return (...args) => runGit(args, { cwd, environment, variables });
}

async function commitNamed(git: Git, name: string, what: string): Promise<string> {
  const found = await git(
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${name}^{commit}`,
  )
    .then((text) => text.trim())
    .catch(() => "");
  if (found !== "") return found;
  const isShallow = await shallowCommits(git).then((commits) => commits.size > 0);
  throw new ChangeUnknown(
    `The change is unknown: its ${what} ${JSON.stringify(name)} is no commit of this checkout. ${
      isShallow ? fetchMore : "Fetch it, or name a branch, tag or commit that is here"
    }`,
  );
}

const fetchMore =
  "The checkout is shallow: set fetch-depth: 0 on actions/checkout, or run git fetch --unshallow";

async function baseOf(git: Git, range: ChangeRange, head: string): Promise<string> {
  const cut = await shallowCommits(git);
  if (range.base === undefined) {
    if (cut.has(head)) {
      throw new ChangeUnknown(
        `The change is unknown: the parent of ${head} is not in this checkout. Set fetch-depth: 2 (or 0) on actions/checkout, or name a base`,
      );
    }
    const [, parent] = (await git("rev-list", "--parents", "--max-count=1", head))
      .trim()
      .split(" ");
    // Its name depends on how the repository names objects. Git knows this file on Windows, too.
    return parent ?? (await git("hash-object", "-t", "tree", "/dev/null")).trim();
  }
  const base = await commitNamed(git, range.base, "base");
  if (range.fromMergeBase === false) return base;
  const [found] = (await git("merge-base", base, head).catch(() => "")).trim().split("\n");
  // Where history is cut between both, an older commit may pass for the merge base.
  const between = cut.size === 0 ? [] : (await git("rev-list", `${base}...${head}`)).split("\n");
  if (between.some((commit) => cut.has(commit)) || (found === "" && cut.size > 0)) {
    throw new ChangeUnknown(
      `The change is unknown: the checkout has too little history to find where ${base} and ${head} part. ${fetchMore}`,
    );
  }
  if (found === undefined || found === "") {
    throw new ChangeUnknown(
      `The change is unknown: ${base} and ${head} have no commit in common. Name another base`,
    );
  }
  return found;
}

/** The commits of a shallow checkout whose parents it doesn't have. */
async function shallowCommits(git: Git): Promise<ReadonlySet<string>> {
  const path = await git("rev-parse", "--path-format=absolute", "--git-path", "shallow");
  const text = await readFile(path.trim(), "utf8").catch(() => "");
  return new Set(text.split("\n").filter((line) => line !== ""));
}

/** Calls with an index of its own, in which files that git doesn't know yet are to be added. */
export async function withUntracked<T>(
  repository: Repository,
  git: Git,
  use: (git: Git) => Promise<T>,
): Promise<T> {
  const folder = await makeTemporaryDirectory("agent-jobs-index-");
  try {
    const index = join(folder, "index");
    const own = (await git("rev-parse", "--path-format=absolute", "--git-path", "index")).trim();
    // A repository in which nothing was ever added has none.
    const found = await stat(own).catch(() => undefined);
    if (found !== undefined) {
      await copyFile(own, index);
      // As old as the original: git reads a file of the same size again only if the index is no younger than it.
      const seconds = Math.floor(found.mtimeMs / 1000);
      await utimes(index, seconds, seconds);
    }
    const withIndex = createGit(repository, index);
    await withIndex("add", "--intent-to-add", "--all", "--", ":/");
    return await use(withIndex);
  } finally {
    await removeDirectory(folder);
  }
}

/** No setting of the repository changes what is printed, or names a program to print it. */
const asAlways = [
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--no-relative",
  "--find-renames",
  "--submodule=short",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

async function compared(
  git: Git,
  commits: readonly string[],
): Promise<Pick<Change, "files" | "diff">> {
  const listed = await git("diff", ...asAlways, "--raw", "--numstat", "-z", ...commits, "--");
  const diff = await git("diff", ...asAlways, "--patch", ...commits, "--");
  return { files: readListed(listed), diff };
}

const statuses: Readonly<Record<string, FileStatus>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "type-changed",
  U: "unmerged",
};

/** First the records of `--raw`, `:MODE MODE SHA SHA STATUS NUL PATH NUL [PATH NUL]`, then those of `--numstat`. */
function readListed(text: string): ChangedFile[] {
  const parts = text.split("\0");
  const found = new Map<string, Omit<ChangedFile, "additions" | "deletions">>();
  const counts = new Map<string, readonly [number | null, number | null]>();
  const next = (): string => parts.shift() ?? "";
  while (parts.length > 1) {
    const record = next();
    if (record.startsWith(":")) {
      const [oldMode = "", newMode, , , letter = ""] = record.slice(1).split(" ");
      const status = statuses[letter.charAt(0)] ?? "modified";
      const moved = status === "renamed" || status === "copied";
      const previousPath = moved ? next() : undefined;
      const path = next();
      const isSubmodule = [oldMode, newMode].includes("160000") ? true : undefined;
      found.set(path, { path, status, ...defined({ previousPath, isSubmodule }) });
      continue;
    }
    const [added = "", deleted = "", ...rest] = record.split("\t");
    // A name may contain tabs, too.
    const name = rest.join("\t");
    const path = name === "" ? (next(), next()) : name;
    counts.set(path, [countOf(added), countOf(deleted)]);
  }
  return [...found.values()].map((file) => {
    const [additions, deletions] = counts.get(file.path) ?? [null, null];
    return { ...file, additions, deletions };
  });
}

function countOf(text: string): number | null {
  return text === "-" ? null : Number(text);
}

/** The files that findings are about, and what has changed in the working tree: as git knows them. */
import { lstat } from "node:fs/promises";
import { join, sep } from "node:path";
import { realPathOf } from "../platform/files.ts";
import { readJudged } from "../platform/reading.ts";
import type { Change } from "./change.ts";
import { createGit, withUntracked, type Git, type Repository } from "./git-change.ts";

const longestFile = 5_000_000;
/** Of what has changed. An agent can make any number of files. */
const longestTree = 20_000_000;

export interface WorkingFile {
  /** With slashes, relative to the root of the repository. */
  readonly path: string;
  /** As git writes it: `100644`, `100755`, `120000` of a link, `160000` of a submodule. */
  readonly mode: string;
  /** Undefined if the file is deleted, is no regular file, or has more than 5 MB, or if those before it have 20 MB. */
  readonly content: Uint8Array | undefined;
  readonly isDeleted: boolean;
}

export interface WorkingTree {
  /** Of the repository, absolute and real. */
  readonly root: string;
  /** The commit that is checked out. */
  readonly base: string;
  readonly files: readonly WorkingFile[];
}

export interface TextFile {
  /** In the tree that the agent sees, without line ends. */
  readonly lines: readonly string[];
  /** In the head of the change. Absent: there is no change, or the file isn't in its head. */
  readonly head?: readonly string[];
}

export class SourceTree {
  readonly #repository: Repository;
  readonly #change: Pick<Change, "head" | "uncommitted" | "readHead"> | undefined;
  readonly #git: Git;
  #place: Promise<Place> | undefined;

  constructor(
    repository: Repository,
    change: Pick<Change, "head" | "uncommitted" | "readHead"> | undefined,
  ) {
    this.#repository = repository;
    this.#change = change;
    this.#git = createGit(repository);
  }

  /** Undefined if there is no such text file. `path`: checked, with slashes; of the repository, or of the folder. */
  async read(path: string): Promise<(TextFile & { readonly path: string }) | undefined> {
    const place = await (this.#place ??= this.#find());
    for (const one of place.prefix === "" ? [path] : [path, place.prefix + path]) {
      const file = await this.#read(one, place);
      if (file !== undefined) return { ...file, path: one };
    }
    return undefined;
  }

  async #read(path: string, place: Place): Promise<TextFile | undefined> {
    if (place.kind === "working tree") {
      const lines = linesOf(this.#working(path, place));
      return lines && { lines };
    }
    const head = linesOf(await this.#head(path));
    const ofHead = head && { head };
    if (place.kind === "merge") {
      const lines = linesOf(await this.#blob("HEAD", path));
      return lines && { lines, ...ofHead };
    }
    // The checkout is the head: what isn't there yet can still be found by a reader of the log.
    const lines = head ?? (place.isCheckedOut ? linesOf(this.#working(path, place)) : undefined);
    return lines && { lines, ...ofHead };
  }

  async #find(): Promise<Place> {
    const [root, prefix] = await Promise.all([
      this.#git("rev-parse", "--show-toplevel").then(trimmed, () => this.#repository.folder),
      this.#git("rev-parse", "--show-prefix").then(trimmed, () => ""),
    ]);
    const found = { root, prefix };
    const { head, uncommitted, readHead } = this.#change ?? {};
    if (head === undefined || uncommitted === true) return { ...found, kind: "working tree" };
    const isHere = await this.#git("cat-file", "-e", `${head}^{commit}`).then(
      () => true,
      () => false,
    );
    if (!isHere && readHead === undefined) return { ...found, kind: "working tree" };
    const commit = await this.#git("cat-file", "commit", "HEAD").catch(() => "");
    const [header = ""] = commit.split("\n\n", 1);
    const parents = [...header.matchAll(/^parent (\w+)$/gm)];
    if (parents.length > 1 && parents.some(([, parent]) => parent === head))
      return { ...found, kind: "merge" };
    const checkedOut = await this.#git("rev-parse", "HEAD").then(trimmed, () => "");
    return { ...found, kind: "head", isCheckedOut: checkedOut === head };
  }

  async #head(path: string): Promise<Uint8Array | undefined> {
    const { head = "HEAD", readHead } = this.#change ?? {};
    return (await this.#blob(head, path)) ?? (await readHead?.(path));
  }

  async #blob(commit: string, path: string): Promise<Uint8Array | undefined> {
    const text = await this.#git("cat-file", "blob", `${commit}:${path}`).catch(() => undefined);
    return text === undefined ? undefined : Buffer.from(text);
  }

  /** Nothing outside of the repository, whatever the path leads to. */
  #working(path: string, { root }: Place): Uint8Array | undefined {
    try {
      return readJudged(join(realPathOf(root), path), longestFile);
    } catch {
      return undefined;
    }
  }

  /** With files that git doesn't know yet. `own`: what the run itself writes, absolute and real. Rejects outside of a repository. */
  async changed(own: readonly string[]): Promise<WorkingTree> {
    const place = await (this.#place ??= this.#find());
    const base = trimmed(await this.#git("rev-parse", "--verify", "HEAD^{commit}"));
    const listed = await withUntracked(this.#repository, this.#git, (git) =>
      git("diff", "--raw", "--no-renames", "--no-relative", "-z", base, "--"),
    );
    const parts = listed.split("\0");
    const root = realPathOf(place.root);
    const isOwn = (path: string): boolean =>
      own.some((one) => one === join(root, path) || join(root, path).startsWith(one + sep));
    const files: WorkingFile[] = [];
    let left = longestTree;
    for (let index = 0; index + 1 < parts.length; index += 2) {
      const [, mode = ""] = (parts[index] ?? "").split(" ");
      const path = parts[index + 1] ?? "";
      if (isOwn(path)) continue;
      const there = await lstat(join(place.root, path)).catch(() => undefined);
      // A folder, or something behind a link, may be where it was.
      const isDeleted = there === undefined || mode === "000000";
      const isRead = !isDeleted && there.isFile() && left > 0;
      const content = isRead ? this.#working(path, place) : undefined;
      left -= content?.length ?? 0;
      files.push({ path, mode, content, isDeleted });
    }
    return { root, base, files };
  }
}

type Place = {
  readonly root: string;
  /** Of the folder, below the root; with a slash at its end. */
  readonly prefix: string;
} & (
  | { readonly kind: "working tree" }
  /** The head, whatever is checked out. */
  | { readonly kind: "head"; readonly isCheckedOut: boolean }
  /** A merge of the head with its base, as GitHub makes it for a pull request. */
  | { readonly kind: "merge" }
);

function linesOf(bytes: Uint8Array | undefined): readonly string[] | undefined {
  if (bytes === undefined || bytes.length > longestFile || bytes.includes(0)) return undefined;
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function trimmed(text: string): string {
  return text.trim();
}

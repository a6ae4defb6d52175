/** Reads the files that findings are about, and what has changed in the working tree, from git. */
import { join, sep } from "node:path";
import { GitRepository, type GitView } from "./repository.ts";
import { entriesOf, GitUnknown } from "./git.ts";
import { isGarbled, leftOutNote, notUtf8, stageWorkingTree } from "./working-tree.ts";
import { realPathOf, readJudged } from "../platform/files.ts";
import type { Change, Repository } from "./change.ts";

const longestFile = 5_000_000;
/** Limits all changed files together, because an agent can make any number of them. */
const longestTree = 20_000_000;

export interface WorkingFile {
  /** With slashes, relative to the root of the repository. */
  readonly path: string;
  /** Git's notation: `100644`, `100755`, `120000` of a link, `160000` of a submodule. */
  readonly mode: string;
  /** The bytes that git would store. Undefined if the file is deleted, isn't a regular file, or has more than 5 MB, or if those before it have 20 MB. */
  readonly content: Uint8Array | undefined;
  readonly isDeleted: boolean;
}

export interface WorkingTree {
  readonly root: string;
  readonly base: string;
  readonly files: readonly WorkingFile[];
  /** Sentences that say which changes are not among the files, and why. */
  readonly notes: readonly string[];
  /** The paths of files that Git LFS stores: their content is a pointer to an object that only this machine has. */
  readonly largeFiles: readonly string[];
}

export interface TextFile {
  /** In the tree that the agent sees, without line ends. */
  readonly lines: readonly string[];
  /** In the head of the change. Absent: there is no change, or the file isn't in its head. */
  readonly head?: readonly string[];
}

export class SourceTree {
  readonly #folder: string;
  readonly #repository: GitRepository | undefined;
  readonly #change: Pick<Change, "head" | "uncommitted" | "readHead"> | undefined;
  readonly #remote = new Map<string, Promise<Uint8Array | undefined>>();
  /** The changes that a rehearsal began with. */
  #before: readonly string[] = [];
  #place: Promise<Place> | undefined;

  /** Made before an agent works: the repository is the one that is there now. */
  constructor(
    { folder, ...options }: Repository,
    change: Pick<Change, "head" | "uncommitted" | "readHead"> | undefined,
    /** The repository before an agent worked. */
    repository = GitRepository.at(folder, options),
  ) {
    this.#folder = folder;
    this.#repository = repository;
    this.#change = change;
  }

  /** Reads the settings of the repository, as `changed` needs them, before an agent works. */
  async prepare(rehearses = false): Promise<void> {
    await this.#repository?.settings().catch(() => undefined);
    // An author rehearses an entry before committing it: these changes are not those of the tasks.
    if (rehearses)
      await this.#repository
        ?.withView(async (view) => void (this.#before = (await listChanges(view)).listed))
        .catch(() => undefined);
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
      const lines = linesOf(await this.#blob(place.commit, path));
      return lines && { lines, ...ofHead };
    }
    // The checkout is the head: what isn't there yet can still be found by a reader of the log.
    const lines = head ?? (place.isCheckedOut ? linesOf(this.#working(path, place)) : undefined);
    return lines && { lines, ...ofHead };
  }

  async #find(): Promise<Place> {
    const repository = this.#repository;
    if (repository === undefined) return { root: this.#folder, prefix: "", kind: "working tree" };
    const { root, prefix } = repository;
    const found = { root, prefix };
    const { head, uncommitted, readHead } = this.#change ?? {};
    if (head === undefined || uncommitted === true) return { ...found, kind: "working tree" };
    return repository.withView(async (view) => {
      const isHere = (await view.commit(head)) !== undefined;
      if (!isHere && readHead === undefined) return { ...found, kind: "working tree" };
      const checkedOut = await view.commit("HEAD");
      const parents =
        checkedOut === undefined
          ? []
          : (await view.git(["rev-list", "--parents", "--max-count=1", checkedOut]))
              .trim()
              .split(" ")
              .slice(1);
      if (checkedOut !== undefined && parents.length > 1 && parents.includes(head))
        return { ...found, kind: "merge", commit: checkedOut };
      return { ...found, kind: "head", isCheckedOut: checkedOut === head };
    });
  }

  async #head(path: string): Promise<Uint8Array | undefined> {
    const { head = "HEAD", readHead } = this.#change ?? {};
    const here = await this.#blob(head, path);
    if (here !== undefined || readHead === undefined) return here;
    const remote = this.#remote.get(path) ?? readHead(path);
    this.#remote.set(path, remote);
    return remote;
  }

  async #blob(commit: string, path: string): Promise<Uint8Array | undefined> {
    return this.#repository
      ?.withView((view) => view.blob(`${commit}:${path}`))
      .catch(() => undefined);
  }

  /** Reads only files of the repository, wherever the path leads. */
  #working(path: string, { root }: Place): Uint8Array | undefined {
    try {
      return readJudged(join(realPathOf(root), path), longestFile);
    } catch {
      return undefined;
    }
  }

  /** With files that git doesn't know yet. `own`: what the run itself writes, absolute and real. Rejects outside of a repository. */
  async changed(own: readonly string[]): Promise<WorkingTree> {
    const repository = this.#repository;
    if (repository === undefined)
      throw new GitUnknown(`${this.#folder} was not in a git repository when the run started`);
    const { root } = repository;
    const isOwn = (path: string): boolean =>
      own.some((one) => one === join(root, path) || join(root, path).startsWith(one + sep));
    return repository.withView(async (view) => {
      const { base, listed, ...staged } = await listChanges(view);
      const before = new Set(this.#before);
      const garbled: string[] = [];
      const changed = listed.filter((one) => !before.has(one));
      const files = await withContents(view, changed, (path) => {
        if (isGarbled(path)) garbled.push(path);
        return !isGarbled(path) && !isOwn(path);
      });
      const notes =
        garbled.length === 0 ? staged.notes : [...staged.notes, leftOutNote(garbled, notUtf8)];
      return { root, base, ...staged, files, notes };
    });
  }
}

/** `listed`: for each file, its new mode and id, and its path. */
async function listChanges(view: GitView) {
  const base = await view.commit("HEAD");
  if (base === undefined) throw new GitUnknown(`${view.repository.root} has no commit`);
  const { tree, ...staged } = await stageWorkingTree(view);
  const list = ["diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
  const parts = entriesOf(await view.git([...list, "--ignore-submodules=none", base, tree]));
  const listed: string[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = "", , id = ""] = (parts[at] ?? "").split(" ");
    listed.push(`${mode} ${id} ${parts[at + 1] ?? ""}`);
  }
  return { base, listed, ...staged };
}

async function withContents(
  view: GitView,
  listed: readonly string[],
  isWanted: (path: string) => boolean,
): Promise<WorkingFile[]> {
  const entries: Omit<WorkingFile, "content">[] = [];
  const ids = new Map<string, string>();
  for (const one of listed) {
    const [mode = "", id = ""] = one.split(" ", 2);
    const path = one.slice(mode.length + id.length + 2);
    if (!isWanted(path)) continue;
    const isDeleted = mode === "000000";
    if (mode === "100644" || mode === "100755") ids.set(path, id);
    entries.push({ path, mode, isDeleted });
  }
  const contents = await view.blobs([...new Set(ids.values())], longestFile, longestTree);
  return entries.map((entry) => ({ ...entry, content: contents.get(ids.get(entry.path) ?? "") }));
}

type Place = {
  readonly root: string;
  /** The path of the folder below the root, with a slash at its end. */
  readonly prefix: string;
} & (
  | { readonly kind: "working tree" }
  | { readonly kind: "head"; readonly isCheckedOut: boolean }
  /** A merge of the head with its base, as GitHub makes it for a pull request. */
  | { readonly kind: "merge"; readonly commit: string }
);

function linesOf(bytes: Uint8Array | undefined): readonly string[] | undefined {
  if (bytes === undefined || bytes.length > longestFile || bytes.includes(0)) return undefined;
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/**
 * The working tree as a tree object, as `git add --all` would store it, made in a view: nothing of the repository changes.
 * Filters run in a sandbox that has neither the network nor the checkout, and only those that were set up at the start.
 */
import { accessSync, constants, lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { GitRepository, isBehindLink, type GitView } from "./repository.ts";
import { entriesOf, GitUnknown, type Filter } from "./git.ts";
import { firstOf } from "../text/numbers.ts";
import { openJudged, readJudged } from "../platform/files.ts";
import { isPrivate } from "../platform/private-files.ts";
import { errorMessage } from "../platform/system-error.ts";

const longestFile = 100_000_000;
const namesInNote = 10;
/** Limits the calls that search for files which git can't convert. */
const mostFailures = 40;

export interface StagedTree {
  readonly tree: string;
  readonly notes: readonly string[];
  /** The paths of those that may have changed. */
  readonly leftOut: readonly { readonly path: string; readonly status: "added" | "modified" }[];
  /** Files that Git LFS stores: the tree has pointers to objects that are only here. */
  readonly largeFiles: readonly string[];
}

/** Rejects with a `GitUnknown` if a filter would have to run and there is no sandbox. */
export async function stageWorkingTree(view: GitView): Promise<StagedTree> {
  const staging = new Staging(view);
  return staging.run();
}

interface Filtered {
  readonly filter: Filter;
  /** Written like in a `.gitattributes` file: `text`, `-text`, `eol=lf`. */
  readonly attributes: string[];
}

class Staging {
  readonly #view: GitView;
  readonly #root: string;
  readonly #notes: string[] = [];
  readonly #leftOut: StagedTree["leftOut"][number][] = [];
  #untracked: ReadonlySet<string> = new Set();
  readonly #unconverted: string[] = [];
  #failures = 0;
  #enter: string | undefined;

  constructor(view: GitView) {
    this.#view = view;
    this.#root = view.repository.root;
  }

  async run(): Promise<StagedTree> {
    const { root, place } = this.#view.repository;
    const { excludesFile, attributesFile } = this.#view.settings;
    const files = [excludesFile, attributesFile].filter((path) => path !== undefined);
    const readable = [root, place.gitFolder, place.commonFolder, ...files];
    this.#enter = await this.#view.sandbox("tree", readable);
    const submodules = await this.#readIndex();
    const changed = await this.#changed();
    const filtered = await this.#filtered(changed.present);
    if (this.#enter === undefined) await this.#refuse(filtered);
    const plain = changed.present.filter((path) => !filtered.has(path));
    await this.#stage(plain);
    this.#leaveOut(this.#unconverted, "git can't convert them");
    await this.#git(["update-index", "--force-remove", "-z", "--stdin"], changed.gone);
    await this.#convert(filtered);
    for (const path of submodules) await this.#lookInto(path);
    const tree = (await this.#git(["write-tree", "--missing-ok"])).trim();
    const largeFiles = [...filtered].flatMap(([path, { filter }]) =>
      filter.name === "lfs" ? [path] : [],
    );
    return { tree, notes: this.#notes, leftOut: this.#leftOut, largeFiles };
  }

  /** With the working tree, in a sandbox if there is one. `paths`: for standard input; without any, nothing is done. */
  async #git(args: readonly string[], paths?: readonly string[]): Promise<string> {
    if (paths?.length === 0) return "";
    const input = paths?.map((path) => `${path}\0`).join("");
    return this.#view.git(args, { workTree: true, enter: this.#enter, input });
  }

  /** The submodules. Marks that would hide changes are removed, except of files that a sparse checkout lacks. */
  async #readIndex(): Promise<readonly string[]> {
    const submodules: string[] = [];
    const marked: string[] = [];
    for (const entry of entriesOf(await this.#git(["ls-files", "-v", "--stage", "-z"]))) {
      const [, tag = "", mode, path = ""] = /^(\S) (\d+) [^\t]*\t(.*)$/s.exec(entry) ?? [];
      if (mode === "160000") submodules.push(path);
      const isSkipped = tag.toUpperCase() === "S";
      const isAssumed = tag !== tag.toUpperCase();
      // Git reads no such name from its input.
      if (isGarbled(path)) continue;
      if (isAssumed || (isSkipped && this.#statusOf(path) !== undefined)) marked.push(path);
    }
    const unmark = (name: string): readonly string[] => ["update-index", name, "-z", "--stdin"];
    await this.#git(unmark("--no-assume-unchanged"), marked);
    await this.#git(unmark("--no-skip-worktree"), marked);
    return submodules;
  }

  /** Finds files that may differ from the index, by their time or size, and files that git doesn't track. */
  async #changed(): Promise<{ readonly present: readonly string[]; readonly gone: string[] }> {
    const differs = await this.#git([
      "diff-files",
      "--name-only",
      "--ignore-submodules=dirty",
      "-z",
    ]);
    const untracked = await this.#git(["ls-files", "--others", "--exclude-standard", "-z"]);
    const [present, gone, nested, unreadable, named, secret]: string[][] = [[], [], [], [], [], []];
    this.#untracked = new Set(entriesOf(untracked));
    for (const path of new Set(entriesOf(differs + untracked))) {
      const found = this.#statusOf(path);
      if (isGarbled(path)) named?.push(path);
      else if (this.#untracked.has(path) && isPrivate(path)) secret?.push(path);
      else if (path.endsWith("/")) nested?.push(path.slice(0, -1));
      else if (found === undefined) gone?.push(path);
      else if (found.isFile() && !isReadable(join(this.#root, path), found)) unreadable?.push(path);
      else present?.push(path);
    }
    this.#leaveOut(named ?? [], notUtf8);
    this.#leaveOut(secret ?? [], "a private file that git doesn't track");
    this.#leaveOut(nested ?? [], "a git repository of its own");
    this.#leaveOut(unreadable ?? [], "not readable, or larger than 100 MB");
    return { present: present ?? [], gone: gone ?? [] };
  }

  /** One file that git can't convert must not fail the others, so it is found by bisection, up to a number of failures. */
  async #stage(paths: readonly string[]): Promise<void> {
    try {
      await this.#git(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], paths);
    } catch {
      const middle = Math.floor(paths.length / 2);
      this.#failures += 1;
      if (middle === 0 || this.#failures > mostFailures) this.#unconverted.push(...paths);
      else
        for (const half of [paths.slice(0, middle), paths.slice(middle)]) await this.#stage(half);
    }
  }

  #leaveOut(paths: readonly string[], why: string): void {
    for (const path of paths) {
      const isNew = this.#untracked.has(path) || this.#untracked.has(`${path}/`);
      this.#leftOut.push({ path, status: isNew ? "added" : "modified" });
    }
    if (paths.length > 0) this.#notes.push(leftOutNote(paths, why));
  }

  /** Undefined if git would have nothing there. */
  #statusOf(path: string): Stats | undefined {
    if (isBehindLink(this.#root, path)) return undefined;
    const found = lstatSync(join(this.#root, path), { throwIfNoEntry: false });
    const isKnown = found?.isFile() || found?.isSymbolicLink() || found?.isDirectory();
    return isKnown === true ? found : undefined;
  }

  async #filtered(paths: readonly string[]): Promise<ReadonlyMap<string, Filtered>> {
    const { filters } = this.#view.settings;
    const filtered = new Map<string, Filtered>();
    if (filters.length === 0) return filtered;
    const names = ["filter", "text", "crlf", "eol", "ident", "working-tree-encoding"];
    const parts = entriesOf(await this.#git(["check-attr", "-z", "--stdin", ...names], paths));
    for (let at = 0; at < parts.length; at += 3) {
      const [path = "", name = "", value = ""] = parts.slice(at, at + 3);
      const filter = name === "filter" && filters.find((one) => one.name === value);
      if (filter && this.#statusOf(path)?.isFile() === true)
        filtered.set(path, { filter, attributes: [] });
      const written = value === "set" ? name : value === "unset" ? `-${name}` : `${name}=${value}`;
      if (value !== "unspecified") filtered.get(path)?.attributes.push(written);
    }
    return filtered;
  }

  async #convert(filtered: ReadonlyMap<string, Filtered>): Promise<void> {
    if (filtered.size === 0) return;
    const view = this.#view;
    const converted = view.folderFor("converted");
    const enter = await view.sandbox("filter", [view.gitFolder], converted);
    if (enter === undefined) return;
    const failed = new Map<Filter, string[]>();
    for (const [path, { filter, attributes }] of filtered) {
      // The sandbox lacks the files that give attributes.
      view.setAttributes([`* ${attributes.join(" ")}`]);
      try {
        const id = await this.#hash(path, filter, enter, converted);
        const mode = (this.#statusOf(path)?.mode ?? 0) & 0o100 ? "100755" : "100644";
        await view.git([
          "update-index",
          "--add",
          "--replace",
          "--cacheinfo",
          `${mode},${id},${path}`,
        ]);
      } catch {
        failed.set(filter, [...(failed.get(filter) ?? []), path]);
      }
    }
    for (const [{ name }, paths] of failed) this.#leaveOut(paths, `the filter "${name}" failed`);
  }

  /** Git rereads files modified in the same second as the index, so unchanged files can be among them. Nobody can set a ctime. */
  async #refuse(filtered: ReadonlyMap<string, Filtered>): Promise<void> {
    if (filtered.size === 0) return;
    const stored = new Map<string, string>();
    const listed = await this.#git(["ls-files", "--debug", "-z"]);
    const time = String.raw`time: (\d+:\d+)\n`;
    const entry = new RegExp(
      String.raw`([^\0]+)\0  c${time}  m${time}.*\tino: (\d+)\n.*\n  size: (\d+).*\n`,
      "g",
    );
    for (const [, path = "", ...values] of listed.matchAll(entry))
      stored.set(path, values.join(" "));
    const timeOf = (ns: bigint): string => `${ns / 1_000_000_000n}:${ns % 1_000_000_000n}`;
    const changed = [...filtered].filter(([path]) => {
      const { ctimeNs, mtimeNs, ino, size } = lstatSync(join(this.#root, path), { bigint: true });
      // Git keeps the last 32 bits of an inode.
      const now = [timeOf(ctimeNs), timeOf(mtimeNs), ino & 0xffff_ffffn, size];
      return stored.get(path) !== now.join(" ");
    });
    const [first] = changed;
    if (first === undefined) return;
    throw new GitUnknown(
      `Can't convert ${namesOf(changed.map(([path]) => path))}: the filter "${first[1].filter.name}" only runs in a sandbox, and there is none. Install bubblewrap on Linux, or remove \`sandbox: off\``,
    );
  }

  /**
   * A filter that fails is an error, even if it isn't required, because git would store the file unconverted. Git writes
   * the converted object to a separate folder, which the filter can also write to. We read it there, and store it in the
   * view.
   */
  async #hash(path: string, filter: Filter, enter: string, objects: string): Promise<string> {
    const file = await openJudged(join(this.#root, path));
    if (file === undefined) throw new Error("the file is gone");
    try {
      const filters = [
        ...filter.settings,
        [`filter.${filter.name}.required`, "true"],
        ["lfs.storage", join(objects, "lfs")],
      ] as const;
      const store = ["hash-object", "-w", "--stdin"];
      const call = { enter, input: file.fd, filters, objects };
      const id = (await this.#view.git([...store, `--path=${path}`], call)).trim();
      const stored = readJudged(join(objects, id.slice(0, 2), id.slice(2)), 2 * longestFile);
      if (stored === undefined) throw new Error("the converted object can't be read");
      const blob = inflateSync(stored, { maxOutputLength: 2 * longestFile });
      const input = blob.subarray(blob.indexOf(0) + 1);
      return (await this.#view.git([...store, "--no-filters"], { input })).trim();
    } finally {
      await file.close();
    }
  }

  /** A submodule is compared by its commit. A note says that there are other changes in it. */
  async #lookInto(path: string): Promise<void> {
    const { options } = this.#view.repository;
    const folder = join(this.#root, path);
    const submodule = isBehindLink(this.#root, path)
      ? undefined
      : GitRepository.at(folder, options);
    if (submodule?.root !== folder) return;
    const state = await submodule
      .withView(async (view) => {
        const staged = await stageWorkingTree(view);
        const head = await view.commit("HEAD");
        const tree = head && (await view.git(["rev-parse", `${head}^{tree}`])).trim();
        return staged.tree === tree && staged.notes.length === 0
          ? undefined
          : "uncommitted changes";
      })
      .catch((error: unknown) => `changes that can't be known (${errorMessage(error)})`);
    if (state !== undefined)
      this.#notes.push(`The submodule ${namesOf([path])} has ${state}, which are not shown.`);
  }
}

function isReadable(path: string, { size }: Stats): boolean {
  try {
    accessSync(path, constants.R_OK);
    return size <= longestFile;
  } catch {
    return false;
  }
}

/** The names that git prints are read as UTF-8. */
export function isGarbled(path: string): boolean {
  return path.includes("\uFFFD");
}

export const notUtf8 = "the name isn't valid UTF-8";

export function leftOutNote(paths: readonly string[], why: string): string {
  return `Left out: ${namesOf(paths)} (${why}).`;
}

export function namesOf(paths: readonly string[]): string {
  return firstOf(
    paths.map((path) => JSON.stringify(path)),
    namesInNote,
  );
}

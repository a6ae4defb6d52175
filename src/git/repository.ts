/**
 * Questions to git about a checkout in which an agent may have written. Git never reads the settings of that repository:
 * each call gets a git folder of our own (a view), which borrows only objects, branches and the index. No setting there
 * names a program, so git starts none. A view without a working tree has no attributes, no `.gitmodules` and no filters
 * either. The repository is the one that was there when the object was made: another one in its place is refused.
 */
import * as fs from "node:fs";
import { devNull } from "node:os";
import { dirname, join, relative } from "node:path";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { realPathOf, removeDirectory, readSmallFile } from "../platform/files.ts";
import { gitPlaceOf, statusOf, type GitPlace } from "../platform/git-folder.ts";
import {
  entriesOf,
  gitUnknown,
  GitUnknown,
  readSettings,
  type Filter,
  type Settings,
  gitVariables,
  startGit,
} from "./git.ts";
import type { StartOptions } from "../platform/programs.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import { programSandbox, sandboxSupport } from "../sandbox/sandbox.ts";

export interface RepositoryOptions {
  readonly environment: Environment;
  /** Whether the user has turned sandboxes off. Default: there is one where the machine has one. */
  readonly sandbox?: "off" | undefined;
}

interface CallOptions extends Pick<StartOptions, "input"> {
  readonly workTree?: boolean;
  readonly cwd?: string;
  /** Settings that name programs. Only in a sandbox without the checkout. */
  readonly filters?: Filter["settings"];
  /** Where git stores objects. Default: in the view. */
  readonly objects?: string;
  readonly enter?: string | undefined;
}

const longestIndex = 1_000_000_000;

const emptyTrees: Readonly<Record<string, string>> = {
  sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  sha256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
};

export class GitRepository {
  readonly root: string;
  /** The folder that was asked about: absolute and real. */
  readonly folder: string;
  readonly place: GitPlace;
  readonly options: RepositoryOptions;
  readonly #identity: readonly Identity[];
  #settings: Promise<Settings> | undefined;

  private constructor(place: GitPlace, folder: string, options: RepositoryOptions) {
    this.root = place.root;
    this.folder = folder;
    this.place = place;
    this.options = options;
    this.#identity = identityOf(place);
  }

  static at(folder: string, options: RepositoryOptions): GitRepository | undefined {
    const real = realPathOf(folder);
    const place = gitPlaceOf(real);
    return place && new GitRepository(place, real, options);
  }

  /** The folder below the root, with a slash at its end. Empty: it is the root. */
  get prefix(): string {
    const below = relative(this.root, this.folder).replaceAll("\\", "/");
    return below === "" ? "" : `${below}/`;
  }

  /** Reads the settings of now. Later changes of them have no effect. */
  async settings(): Promise<Settings> {
    return (this.#settings ??= readSettings(this.place, this.options.environment));
  }

  /** The view ends with `use`. Rejects if there is another repository now than when this object was made. */
  async withView<T>(use: (view: GitView) => Promise<T>): Promise<T> {
    const now = identityOf(this.place);
    if (!this.#identity.every((one, index) => isSame(one, now[index])))
      throw new GitUnknown(
        `${this.place.gitFolder} is no longer the repository that was there at the start of the run`,
      );
    const settings = await this.settings();
    const folder = realPathOf((await makeRunFolder("git-")).path);
    try {
      try {
        fillView(join(folder, "git"), this.place, settings);
      } catch (error) {
        throw gitUnknown(`The git repository ${this.place.gitFolder} can't be read`, error);
      }
      return await use(new GitView(this, folder, settings));
    } finally {
      await removeDirectory(folder);
    }
  }

  async git(args: readonly string[], options: CallOptions = {}): Promise<string> {
    return this.withView((view) => view.git(args, options));
  }

  /** The files in the folder that git tracks or doesn't ignore, or with other options of `git ls-files`. */
  async files(
    options: readonly string[] = ["--cached", "--others", "--exclude-standard", "--deduplicate"],
  ): Promise<readonly string[]> {
    const asked = ["ls-files", "-z", ...options];
    return entriesOf(await this.git(asked, { workTree: true, cwd: this.folder }));
  }

  async isIgnored(): Promise<boolean> {
    const asked = ["check-ignore", "--quiet", "."];
    return this.git(asked, { workTree: true, cwd: this.folder }).then(
      () => true,
      () => false,
    );
  }
}

export class GitView {
  readonly repository: GitRepository;
  readonly settings: Settings;
  readonly emptyTree: string;
  readonly #folder: string;

  constructor(repository: GitRepository, folder: string, settings: Settings) {
    this.repository = repository;
    this.settings = settings;
    this.emptyTree = emptyTrees[settings.objectFormat] ?? "";
    this.#folder = folder;
  }

  get gitFolder(): string {
    return join(this.#folder, "git");
  }

  async git(args: readonly string[], options: CallOptions = {}): Promise<string> {
    return (await this.bytes(args, options)).toString();
  }

  async bytes(args: readonly string[], options: CallOptions = {}): Promise<Buffer> {
    const { workTree = false, filters = [], objects, enter, input, cwd } = options;
    const { root } = this.repository;
    const { environment } = this.repository.options;
    const { PATH = "", ...others } = childEnvironment(environment);
    const settings: (readonly [string, string])[] = [
      ["core.quotepath", "false"],
      ["core.safecrlf", "false"],
      ["core.loosecompression", "0"],
      ["core.hookspath", devNull],
      ["core.fsmonitor", "false"],
      ["core.untrackedcache", "false"],
      ["core.commitgraph", "false"],
      ["core.excludesfile", this.settings.excludesFile ?? ""],
      ["core.attributesfile", (workTree && this.settings.attributesFile) || ""],
      ...this.settings.plain,
      ...filters,
    ];
    const env = {
      // Windows can't start a process without some of them.
      ...(process.platform === "win32" ? others : {}),
      PATH,
      ...gitVariables,
      LC_ALL: "C",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_DIR: this.gitFolder,
      GIT_OBJECT_DIRECTORY: objects,
      ...(workTree ? { GIT_WORK_TREE: root } : { GIT_ATTR_SOURCE: this.emptyTree }),
      ...configVariables(settings),
    };
    const call = { cwd: cwd ?? (workTree ? root : this.gitFolder), env, input };
    return startGit(args, call, environment, enter).catch((error: unknown) => {
      throw gitUnknown(`\`git ${args[0]}\` failed for ${root}`, error);
    });
  }

  async commit(name: string): Promise<string | undefined> {
    const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    const found = await this.git(asked).catch(() => "");
    return found.trim() || undefined;
  }

  /** The commits of a shallow checkout whose parents it doesn't have. */
  shallowCommits(): ReadonlySet<string> {
    const path = join(this.gitFolder, "shallow");
    const text = fs.existsSync(path) ? fs.readFileSync(path, "utf8") : "";
    return new Set(text.split("\n").filter((line) => line !== ""));
  }

  /** Replaces the attributes of `.git/info/attributes`. Each character stands for a byte. */
  setAttributes(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}\n`).join("");
    fs.writeFileSync(join(this.gitFolder, "info/attributes"), text, "latin1");
  }

  async blob(id: string): Promise<Buffer> {
    return this.bytes(["cat-file", "blob", id]);
  }

  /** Returns blobs of at most `longest` bytes by id, until they have `total` bytes together. */
  async blobs(
    ids: readonly string[],
    longest: number,
    total: number,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    const batch = (option: string, some: readonly string[]): Promise<Buffer> =>
      this.bytes(["cat-file", `${option}=%(objectsize)`], {
        input: some.map((id) => `${id}\n`).join(""),
      });
    if (ids.length === 0) return found;
    const sizes = (await batch("--batch-check", ids)).toString().split("\n").map(Number);
    let left = total;
    const wanted = ids.filter((_, index) => {
      const { [index]: size = Number.NaN } = sizes;
      if (!(size <= longest) || left <= 0) return false;
      left -= size;
      return true;
    });
    const bytes = await batch("--batch", wanted);
    let at = 0;
    for (const id of wanted) {
      const start = bytes.indexOf(10, at) + 1;
      const end = start + Number(bytes.subarray(at, start));
      found.set(id, bytes.subarray(start, end));
      at = end + 1;
    }
    return found;
  }

  /** A folder outside the view, for output of sandboxed programs. */
  folderFor(name: string): string {
    const path = join(this.#folder, name);
    fs.mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /**
   * A file that starts git in a sandbox that has no network, writes only to one folder, and sees of the machine only
   * programs and `readable`. Undefined: this machine has no sandbox, or it is off.
   */
  async sandbox(
    name: string,
    readable: readonly string[],
    writable = this.gitFolder,
  ): Promise<string | undefined> {
    const { environment, sandbox } = this.repository.options;
    if (sandbox === "off") return undefined;
    const support = await sandboxSupport(environment);
    if (support.kind === "none") return undefined;
    const made = await programSandbox({
      bubblewrap: support.path,
      environment,
      folder: join(this.#folder, name),
      profile: {
        files: "granted",
        readable,
        writable: [writable],
        creatable: [],
        fixed: [],
        hidden: [],
        repositories: [],
        network: "none",
      },
    });
    return made.enter;
  }
}

function configVariables(
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  const all = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...Object.fromEntries(all), GIT_CONFIG_COUNT: String(settings.length) };
}

/** Branches are links, so that they are those of now. The index is a copy, which may be changed. */
function fillView(view: string, { gitFolder, commonFolder }: GitPlace, settings: Settings): void {
  for (const name of ["objects/info", "info", "refs"])
    fs.mkdirSync(join(view, name), { recursive: true, mode: 0o700 });
  const { objectFormat, refStorage } = settings;
  if (!/^sha(?:1|256)$/.test(objectFormat) || !/^(?:files|reftable)$/.test(refStorage ?? "files"))
    throw new Error("its format is unknown");
  const extensions = [
    ...(objectFormat === "sha1" ? [] : [`objectformat = ${objectFormat}`]),
    ...(refStorage === undefined ? [] : [`refstorage = ${refStorage}`]),
  ];
  const config = ["[core]", "repositoryformatversion = 1", "bare = true", "[extensions]"];
  fs.writeFileSync(join(view, "config"), `${[...config, ...extensions].join("\n")}\n`);
  const objects = realPathOf(join(commonFolder, "objects"));
  if (statusOf(join(objects, "info/alternates"))?.isSymbolicLink() === true)
    throw new Error(`${join(objects, "info/alternates")} is a link`);
  fs.writeFileSync(join(view, "objects/info/alternates"), `${objects}\n`);
  const refs = fs.readdirSync(join(commonFolder, "refs")).map((name) => `refs/${name}`);
  for (const name of [...refs, "logs", "reftable"])
    link(join(commonFolder, name), join(view, name));
  const shared = fs.readdirSync(gitFolder).filter((name) => name.startsWith("sharedindex."));
  for (const name of ["HEAD", "index", "info/sparse-checkout", ...shared])
    copy(join(gitFolder, name), join(view, name));
  for (const name of ["packed-refs", "shallow", "info/exclude", "info/attributes"])
    copy(join(commonFolder, name), join(view, name));
}

function link(target: string, path: string): void {
  if (fs.existsSync(target)) fs.symlinkSync(realPathOf(target), path, "junction");
}

/** It keeps its time: git reads a file of the same size again only if the index is no younger than the file. */
function copy(from: string, to: string): void {
  const found = statusOf(from);
  if (found?.isSymbolicLink() === true) throw new Error(`${from} is a link`);
  const bytes = found?.isFile() === true ? readSmallFile(from, longestIndex) : undefined;
  if (bytes === undefined) return;
  fs.writeFileSync(to, bytes);
  const seconds = Math.floor((found?.mtimeMs ?? 0) / 1000);
  fs.utimesSync(to, seconds, seconds);
}

interface Identity {
  readonly path: string;
  readonly found: fs.Stats | undefined;
}

function identityOf({ gitFolder, commonFolder }: GitPlace): Identity[] {
  return [gitFolder, commonFolder, join(commonFolder, "objects")].map((path) => ({
    path: realPathOf(path),
    found: fs.statSync(path, { throwIfNoEntry: false }),
  }));
}

/** A new folder can reuse the inode of a deleted one, so birth times are compared, too. Some file systems report the ctime instead. */
function isSame({ path, found }: Identity, now: Identity | undefined): boolean {
  const later = now?.found;
  const isBorn = found?.birthtimeMs === later?.birthtimeMs || later?.birthtimeMs === later?.ctimeMs;
  return path === now?.path && found?.dev === later?.dev && found?.ino === later?.ino && isBorn;
}

/** Whether a folder above a path is a link, so that git has nothing at the path. */
export function isBehindLink(root: string, path: string): boolean {
  const parent = join(root, dirname(path));
  // Git may know a folder by another case than the disk.
  return parent !== root && realPathOf(parent).toLowerCase() !== parent.toLowerCase();
}

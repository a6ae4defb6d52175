/**
 * Instructions that a repository has for agents, such as AGENTS.md. They are read before the run, from a commit that the
 * change can't have touched: the base of the change, or what is checked out if there is none. Never from the work tree,
 * where there is git.
 */
import { createHash } from "node:crypto";
import { join, posix } from "node:path";
import type { PreparedEntry, Work } from "../entry/model.ts";
import { leadsOutside } from "../entry/check-tools.ts";
import { reachedTasks } from "../entry/reached.ts";
import type { ChangedFile, PlannedInstructions } from "../events/plan.ts";
import type { Change } from "../git/change.ts";
import { entriesOf } from "../git/git.ts";
import { GitRepository, type GitView, type RepositoryOptions } from "../git/repository.ts";
import { realPathOf, readJudged } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { plural } from "../text/numbers.ts";
import { wholeCharacters } from "../text/truncate.ts";
import { UsageError } from "./options.ts";

/** The source of instructions if an event decides what is checked out. */
export interface InstructionSource {
  /** Default: the base of the change, or else what is checked out. */
  readonly commit: string | undefined;
  /** Reads a file of a commit that the checkout lacks. Undefined: there is no such file. */
  readonly read: (path: string, commit: string) => Promise<Uint8Array | undefined>;
}

export interface Instructions {
  readonly planned: PlannedInstructions;
  /** For the system prompt of a task. */
  readonly of: (taskId: string) => string | undefined;
}

interface Wanted extends RepositoryOptions {
  readonly entry: PreparedEntry;
  readonly work: Work<number> | undefined;
  readonly change: Change | undefined;
  readonly folder: string;
  /** A rehearsal may make up the commits of its change. */
  readonly rehearses: boolean;
  readonly source: (() => Promise<InstructionSource>) | undefined;
  readonly warn: (text: string) => void;
}

/** The files that tasks of the job name, by task. Tasks without any are absent. */
export function namedInstructions(
  entry: PreparedEntry,
  work: Work<number> | undefined,
): ReadonlyMap<string, readonly string[]> {
  const tasks = work === undefined ? [] : reachedTasks(entry, work);
  return new Map(
    tasks.flatMap((task): [string, readonly string[]][] => {
      const { instructions = [] } = entry.tasks[task] ?? {};
      return instructions.length === 0 ? [] : [[task, instructions.map(normal)]];
    }),
  );
}

/** Undefined: no task names any. Throws a `UsageError` if they can't be read: a job doesn't run without the rules it names. */
export async function instructionsOfJob(wanted: Wanted): Promise<Instructions | undefined> {
  const named = namedInstructions(wanted.entry, wanted.work);
  const names = [...new Set([...named.values()].flat())];
  if (names.length === 0) return undefined;
  const paths = pathsOf(names, wanted.change?.files ?? []);
  try {
    return asInstructions(named, await readAll(wanted, paths), wanted.warn);
  } catch (error) {
    throw new UsageError(`Can't read \`instructions\`: ${errorMessage(error)}.`);
  }
}

function normal(path: string): string {
  return posix.normalize(path.replaceAll("\\", "/"));
}

/** The root first, then the folders that the change touches, the nearest to its files last. */
function pathsOf(names: readonly string[], files: readonly ChangedFile[]): readonly string[] {
  const touched = files.flatMap(({ path, previousPath = path }) => [path, previousPath]);
  const folders = touched.flatMap((path) => {
    const parts = path.split("/").slice(0, -1);
    return leadsOutside(parts) ? [] : parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  });
  const depth = (folder: string): number => folder.split("/").length;
  const sorted = [...new Set(folders)].toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  const nested = sorted.flatMap((folder) =>
    names.filter((name) => !name.includes("/")).map((name) => `${folder}/${name}`),
  );
  return [...new Set([...names, ...nested])];
}

interface Found {
  readonly commit: string | undefined;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The number of paths that were not looked up. */
  readonly left?: number;
}

async function readAll(wanted: Wanted, paths: readonly string[]): Promise<Found> {
  const { folder, change, rehearses, source, ...options } = wanted;
  const { commit: trusted, read } = (rehearses ? undefined : await source?.()) ?? {};
  const named = trusted ?? change?.base;
  const remote = async (commit: string): Promise<Found | undefined> =>
    read && readRemote(paths, commit, (path) => read(path, commit));
  const repository = GitRepository.at(folder, options);
  if (repository === undefined) {
    const asked = named === undefined ? undefined : await remote(named);
    return asked ?? { commit: undefined, files: filesIn(folder, paths) };
  }
  return repository.withView(async (view) => {
    const here = named === undefined ? undefined : await view.commit(named);
    const commit = here ?? (named === undefined || rehearses ? await view.commit("HEAD") : named);
    if (commit === undefined) return { commit, files: new Map() };
    if (here === undefined && named === commit)
      // Git has the empty tree as the base of a first commit.
      return (await remote(commit)) ?? { commit, files: new Map() };
    return filesAt(view, commit, paths).catch(async (error: unknown) => {
      const asked = await remote(commit);
      if (asked === undefined) throw error;
      return asked;
    });
  });
}

/** Longer lists of arguments may be refused by the system. */
const PATHS_AT_ONCE = 200;

async function filesAt(view: GitView, commit: string, paths: readonly string[]): Promise<Found> {
  const there = new Set<string>();
  for (let at = 0; at < paths.length; at += PATHS_AT_ONCE) {
    const some = paths.slice(at, at + PATHS_AT_ONCE);
    const list = ["ls-tree", "-z", "--full-tree", commit, "--", ...some];
    for (const entry of entriesOf(await view.git(list))) {
      const [, type, path] = /^\d+ (\w+) \w+\t([^]*)$/.exec(entry) ?? [];
      if (type === "blob" && path !== undefined) there.add(path);
    }
  }
  const files = new Map<string, Uint8Array>();
  for (const path of paths.filter((one) => there.has(one))) {
    // A link counts as the file of this commit that it leads to.
    const asked = ["cat-file", "--batch", "--follow-symlinks"];
    const bytes = await view.bytes(asked, { input: `${commit}:${path}\n` });
    const start = bytes.indexOf(10) + 1;
    const [, size] = /^\w+ blob (\d+)\n$/.exec(bytes.subarray(0, start).toString()) ?? [];
    if (size === undefined) throw new Error(`${path} is not readable at ${commit}`);
    files.set(path, bytes.subarray(start, start + Number(size)));
  }
  return { commit, files };
}

/** Each is a request. */
const REMOTE_PATHS = 30;

async function readRemote(
  paths: readonly string[],
  commit: string,
  read: (path: string) => Promise<Uint8Array | undefined>,
): Promise<Found> {
  const some = paths.slice(0, REMOTE_PATHS);
  const found = await Promise.all(some.map(async (path) => [path, await read(path)] as const));
  const files = found.flatMap(([path, bytes]) =>
    bytes === undefined ? [] : [[path, bytes] as const],
  );
  return { commit, files: new Map(files), left: paths.length - some.length };
}

/** A folder without git has only its current state. */
function filesIn(folder: string, paths: readonly string[]): ReadonlyMap<string, Uint8Array> {
  const found = paths.flatMap((path): [string, Uint8Array][] => {
    try {
      const bytes = readJudged(join(realPathOf(folder), path), MOST_BYTES);
      return bytes === undefined ? [] : [[path, bytes]];
    } catch {
      return [];
    }
  });
  return new Map(found);
}

/** The limit for all files together. */
const MOST_BYTES = 100_000;

function asInstructions(
  named: ReadonlyMap<string, readonly string[]>,
  { commit, files, left = 0 }: Found,
  warn: (text: string) => void,
): Instructions {
  const place = commit === undefined ? "the working directory" : `the commit ${commit}`;
  const isNamed = (path: string, name: string): boolean =>
    path === name || (!name.includes("/") && posix.basename(path) === name);
  for (const name of new Set([...named.values()].flat()))
    if (![...files.keys()].some((path) => isNamed(path, name)))
      warn(`There is no ${name} in ${place}, so tasks run without these \`instructions\`.`);
  if (left > 0)
    warn(
      `Nested \`instructions\` were not looked for in ${plural(left, "place")}, because the checkout lacks ${place}. Set fetch-depth: 0 on actions/checkout.`,
    );
  let room = MOST_BYTES;
  const texts = new Map<string, string>();
  const planned = [...files].map(([path, bytes]) => {
    const isCut = bytes.length > room;
    const text = new TextDecoder().decode(bytes.subarray(0, room));
    room -= Math.min(room, bytes.length);
    texts.set(path, wholeCharacters(text).trim());
    if (isCut)
      warn(`\`instructions\` have more than ${MOST_BYTES} bytes, so ${path} was cut off there.`);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { path, sha256, ...(isCut && { isCut: true as const }) };
  });
  return {
    planned: { ...(commit !== undefined && { commit }), files: planned },
    of(taskId) {
      const own = named.get(taskId) ?? [];
      const parts = [...texts].filter(([path]) => own.some((name) => isNamed(path, name)));
      if (parts.every(([, text]) => text === "")) return undefined;
      return [introduction, ...parts.map(([path, text]) => `## ${path}\n\n${text}`)].join("\n\n");
    },
  };
}

const introduction =
  "# Instructions of the repository\n\nFollow them as far as they don't contradict anything above or your task. A file in a folder is about the files in that folder, and a later file takes precedence over the ones before it.";

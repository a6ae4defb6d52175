/** Reads a change from git. If a shallow checkout lacks the history for it, the error says what to fetch. */
import { defined } from "../text/guards.ts";
import { GitRepository, type GitView } from "./repository.ts";
import { GitUnknown } from "./git.ts";
import { isGarbled, namesOf, stageWorkingTree } from "./working-tree.ts";
import { errorMessage } from "../platform/system-error.ts";
import {
  ChangeUnknown,
  type Change,
  type ChangedFile,
  type FileStatus,
  type Repository,
} from "./change.ts";

export interface ChangeRange {
  /** Any name of a commit. Default: the first parent of the head, or the empty tree where it has none. */
  readonly base?: string;
  readonly head?: string;
  /** False for a push: the base itself is meant, if it is an ancestor of the head. Default: true. */
  readonly fromMergeBase?: boolean;
  /** Whether the working tree belongs to the change, files that git doesn't know yet included. Default: false. */
  readonly uncommitted?: boolean;
}

export async function changeFromGit(
  { folder, ...options }: Repository,
  range: ChangeRange,
): Promise<Change> {
  const repository = GitRepository.at(folder, options);
  if (repository === undefined)
    throw new ChangeUnknown(`The change is unknown: ${folder} is not in a git repository`);
  try {
    return await repository.withView((view) => changeInView(view, range));
  } catch (error) {
    if (error instanceof GitUnknown)
      throw new ChangeUnknown(`The change is unknown: ${error.message}`);
    throw error;
  }
}

async function changeInView(view: GitView, range: ChangeRange): Promise<Change> {
  const head = await commitNamed(view, range.head ?? "HEAD", "head");
  const { base, notes } = await baseOf(view, range, head);
  if (range.uncommitted !== true)
    return { base, head, ...(await compared(view, base, head, notes)) };
  const staged = await stageWorkingTree(view);
  const parts = await compared(view, base, staged.tree, [...notes, ...staged.notes]);
  // Nothing that may have changed counts as unchanged, although its lines can't be shown.
  const unknown = staged.leftOut.map(
    (one) => ({ ...one, additions: null, deletions: null, isLeftOut: true }) as const,
  );
  const files = [...parts.files, ...unknown];
  return { base, head, uncommitted: true, ...parts, files };
}

async function commitNamed(view: GitView, name: string, what: string): Promise<string> {
  const found = await view.commit(name);
  if (found !== undefined) return found;
  throw new ChangeUnknown(
    `The change is unknown: its ${what} ${JSON.stringify(name)} is not a commit in this checkout. ${
      view.shallowCommits().size > 0
        ? fetchMore
        : "Fetch it, or name a branch, tag or commit that is here"
    }`,
  );
}

const fetchMore =
  "The checkout is shallow: set fetch-depth: 0 on actions/checkout, or run git fetch --unshallow";

async function baseOf(
  view: GitView,
  range: ChangeRange,
  head: string,
): Promise<{ readonly base: string; readonly notes: readonly string[] }> {
  const cut = view.shallowCommits();
  if (range.base === undefined) {
    if (cut.has(head)) {
      throw new ChangeUnknown(
        `The change is unknown: the parent of ${head} is not in this checkout. Set fetch-depth: 2 (or 0) on actions/checkout, or name a base`,
      );
    }
    const listed = await view.git(["rev-list", "--parents", "--max-count=1", head]);
    const [, parent = view.emptyTree] = listed.trim().split(" ");
    return { base: parent, notes: [] };
  }
  const base = await commitNamed(view, range.base, "base");
  const mergeBase = await view.git(["merge-base", base, head]).catch(() => "");
  const [found] = mergeBase.trim().split("\n");
  // Where history is cut between both, an older commit may pass for the merge base.
  const between =
    cut.size === 0 ? [] : (await view.git(["rev-list", `${base}...${head}`])).split("\n");
  const isCut = between.some((commit) => cut.has(commit)) || (found === "" && cut.size > 0);
  if (range.fromMergeBase === false && (isCut || !found || found === base))
    return { base, notes: [] };
  if (isCut) {
    throw new ChangeUnknown(
      `The change is unknown: the checkout has too little history to find where ${base} and ${head} part. ${fetchMore}`,
    );
  }
  if (found === undefined || found === "") {
    throw new ChangeUnknown(
      `The change is unknown: ${base} and ${head} have no commit in common. Name another base`,
    );
  }
  return { base: found, notes: range.fromMergeBase === false ? [forcePushed(base, found)] : [] };
}

export function forcePushed(before: string, mergeBase: string): string {
  return `This was a force push: the commit before it (${before.slice(0, 12)}) is no ancestor of the head. The change is shown since ${mergeBase.slice(0, 12)}, the last commit that both have in common.`;
}

/** A view has no `.gitmodules`, so that none can hide a submodule. */
const diffOptions =
  "--find-renames --ignore-submodules=none --submodule=short --no-ext-diff --no-textconv".split(
    " ",
  );

async function compared(
  view: GitView,
  from: string,
  to: string,
  notes: readonly string[],
): Promise<Pick<Change, "files" | "diff" | "notes">> {
  const diff = async (...format: string[]): Promise<Buffer> => {
    try {
      return await view.bytes(["diff", ...diffOptions, ...format, from, to, "--"]);
    } catch (error) {
      throw new ChangeUnknown(
        `The change is unknown: ${errorMessage(error)}. If the checkout lacks files of the commits (a partial clone), fetch them`,
      );
    }
  };
  const list = async (): Promise<readonly ListedFile[]> =>
    readListed((await diff("--raw", "--no-abbrev", "--numstat", "-z")).toString("latin1"));
  view.setAttributes([]);
  let listed = await list();
  const texts = await textsAmong(view, listed.filter(isBinary));
  if (texts.length > 0) {
    view.setAttributes(texts.map((path) => `${attributePattern(path)} diff`));
    listed = await list();
  }
  const hidden = listed.filter(isBinary).map(({ file }) => file.path);
  const garbled = listed.map(({ file }) => file.path).filter(isGarbled);
  const odd =
    garbled.length === 0
      ? []
      : [`Names that aren't valid UTF-8, shown with �: ${namesOf(garbled)}.`];
  const said = hidden.length === 0 ? [] : [`Not shown, because binary: ${namesOf(hidden)}.`];
  return {
    files: listed.map(({ file }) => file),
    diff: (await diff("--patch")).toString(),
    notes: [...notes, ...said, ...odd],
  };
}

function isBinary({ file: { additions, isSubmodule } }: ListedFile): boolean {
  return additions === null && isSubmodule !== true;
}

const longestText = 1_000_000;
const mostText = 50_000_000;

/** A character NUL makes git take a file for binary, which would hide a change. */
async function textsAmong(view: GitView, files: readonly ListedFile[]): Promise<readonly string[]> {
  const sidesOf = ({ ids }: ListedFile): string[] => ids.filter((id) => !/^0+$/.test(id));
  const found = await view.blobs([...new Set(files.flatMap(sidesOf))], longestText, mostText);
  const texts = files.filter((one) => {
    const sides = sidesOf(one);
    const blobs = sides.map((id) => found.get(id)).filter((blob) => blob !== undefined);
    const [first] = blobs;
    if (first === undefined || blobs.length < sides.length) return false;
    const wasText = blobs.length > 1 && !first.includes(0);
    return wasText || blobs.every((blob) => isMostlyText(blob));
  });
  return texts.map(({ name }) => name);
}

/** At least nine tenths of it are text. */
function isMostlyText(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  const odd = text.match(/[\p{Cc}\uFFFD]/gu)?.filter((one) => !/[\t\n\r\f\v]/.test(one)) ?? [];
  return odd.length * 10 <= text.length;
}

/** Matches exactly this name: anchored, without wildcards, quoted as in C. */
function attributePattern(name: string): string {
  const literal = `/${name}`.replace(/[\\*?[]/g, "\\$&");
  const quoted = literal.replace(
    /["\\\p{Cc}]/gu,
    (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${quoted}"`;
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

interface ListedFile {
  /** A character stands for a byte: names need not be UTF-8. */
  readonly name: string;
  readonly file: ChangedFile;
  /** The blobs of both sides. Zeros stand for a side that isn't there. */
  readonly ids: readonly string[];
}

/** First the records of `--raw`, `:MODE MODE SHA SHA STATUS NUL PATH NUL [PATH NUL]`, then those of `--numstat`. */
function readListed(text: string): ListedFile[] {
  const parts = text.split("\0");
  const found = new Map<
    string,
    { ids: string[]; file: Omit<ChangedFile, "additions" | "deletions"> }
  >();
  const counts = new Map<string, readonly [number | null, number | null]>();
  const next = (): string => parts.shift() ?? "";
  while (parts.length > 1) {
    const record = next();
    if (record.startsWith(":")) {
      const [oldMode = "", newMode, before = "", after = "", letter = ""] = record
        .slice(1)
        .split(" ");
      const status = statuses[letter.charAt(0)] ?? "modified";
      const moved = status === "renamed" || status === "copied";
      const previousPath = moved ? utf8(next()) : undefined;
      const name = next();
      const isSubmodule = [oldMode, newMode].includes("160000") ? (true as const) : undefined;
      const more = defined({ previousPath, isSubmodule });
      found.set(name, { ids: [before, after], file: { path: utf8(name), status, ...more } });
      continue;
    }
    const [added = "", deleted = "", ...rest] = record.split("\t");
    // A name may contain tabs, too.
    const name = rest.join("\t");
    const path = name === "" ? (next(), next()) : name;
    counts.set(path, [countOf(added), countOf(deleted)]);
  }
  return [...found].map(([name, { ids, file }]) => {
    const [additions, deletions] = counts.get(name) ?? [null, null];
    return { name, ids, file: { ...file, additions, deletions } };
  });
}

function utf8(name: string): string {
  return Buffer.from(name, "latin1").toString();
}

function countOf(text: string): number | null {
  return text === "-" ? null : Number(text);
}

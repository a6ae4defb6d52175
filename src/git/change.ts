import { plural } from "../text/numbers.ts";
import type { ChangedFile } from "../events/plan.ts";
import type { RepositoryOptions } from "./repository.ts";

export type { ChangedFile };
export type FileStatus = ChangedFile["status"];

export interface Repository extends RepositoryOptions {
  readonly folder: string;
}

export interface Change {
  /** A commit, or the empty tree of a first commit. */
  readonly base: string;
  /** A commit. With `uncommitted`, what the working tree adds to it. */
  readonly head: string;
  readonly uncommitted?: true;
  readonly files: readonly ChangedFile[];
  readonly notes?: readonly string[];
  readonly diff: string;
  /** A file of the head, where the checkout lacks the commit. Undefined: there is no such file. */
  readonly readHead?: (path: string) => Promise<Uint8Array | undefined>;
}

/**
 * What `part`, a change since `since`, has of `whole`: a merge of the base branch brings in files of others. Its names are
 * looked for at the beginning of each part of the diff; one that git writes in quotes stays.
 */
export function narrowed(whole: Change, part: Change, since: string): Change {
  const paths = new Set(whole.files.map(({ path }) => path));
  const isOf = ({ path }: ChangedFile): boolean => paths.has(path);
  const others = new Set(
    part.files
      .filter((file) => !isOf(file))
      .map(({ path, previousPath = path }) => `diff --git a/${previousPath} b/${path}`),
  );
  const diff = part.diff
    .split(/^(?=diff --git )/m)
    .filter((text) => !others.has(text.slice(0, text.indexOf("\n"))))
    .join("");
  const note = `These are the changes since ${since.slice(0, 12)}, which an earlier run has reviewed.`;
  const { readHead } = whole;
  return {
    ...part,
    ...(readHead && { readHead }),
    files: part.files.filter(isOf),
    diff,
    notes: [...(part.notes ?? []), note],
  };
}

/** The change can't be known here; the message says what to do. */
export class ChangeUnknown extends Error {}

const maxLines = 500;
const maxBytes = 32 * 1024;

export function firstFiles(files: readonly ChangedFile[]): readonly ChangedFile[] {
  let bytes = 0;
  const end = files.findIndex((file, index) => {
    bytes += Buffer.byteLength(fileLine(file)) + 1;
    return index === maxLines || bytes > maxBytes;
  });
  return end === -1 ? files : files.slice(0, end);
}

/** `$change-files`: one a line; the rest is counted. The notes follow. */
export function changedFilesText(
  files: readonly ChangedFile[],
  notes: readonly string[] = [],
): string {
  const lines = firstFiles(files).map(fileLine);
  const rest = files.length - lines.length;
  if (rest > 0) lines.push(`(${plural(rest, "more file")}, see the diff)`);
  return [...lines, ...notes].join("\n");
}

function fileLine({
  path,
  status,
  additions,
  deletions,
  previousPath,
  isSubmodule,
  isLeftOut,
}: ChangedFile): string {
  const name =
    previousPath === undefined ? shown(path) : `${shown(previousPath)} -> ${shown(path)}`;
  const counts =
    isSubmodule === true
      ? "(submodule)"
      : additions === null || deletions === null
        ? `(${isLeftOut === true ? "left out" : "binary"})`
        : `+${additions} -${deletions}`;
  return `${status} ${name} ${counts}`;
}

/** A name that could be taken for anything else, such as a sentence or two lines, is a JSON string. */
function shown(path: string): string {
  return /^[^\s\p{C}"]+$/u.test(path)
    ? path
    : JSON.stringify(path).replace(
        /[\p{C}\p{Zl}\p{Zp}]/gu,
        (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
      );
}

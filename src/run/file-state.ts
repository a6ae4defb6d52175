/** The files of a working directory by their content, so that `criteria.changed` sees whether one differs later. */
import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join, sep } from "node:path";
import { isAmong } from "../entry/glob.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import { realPathOf, readJudged } from "../platform/files.ts";
import type { GitRepository } from "../git/repository.ts";
import { matchingFiles } from "../tools/matching-files.ts";

/** A larger file is judged by its size and time. */
const longestFile = 20_000_000;
const most = { mostFiles: 100_000, mostNames: 1_000_000 };

interface Files {
  readonly folder: string;
  /** The one that was there before an agent worked. */
  readonly repository: GitRepository | undefined;
  /** The files that the run itself writes, as absolute paths. */
  readonly own: readonly string[];
}

/** A hash of the files that git tracks or doesn't ignore; outside of a repository, of all. Rejects if git can't tell. */
export async function fileState(files: Files, globs: readonly string[]): Promise<string> {
  const root = realPathOf(files.folder);
  const own = files.own.map(realPathOf);
  const hash = createHash("sha256");
  const yielder = new EventLoopYielder();
  for (const path of await pathsOf(files, globs)) {
    await yielder.yieldIfDue();
    const place = join(root, path);
    if (own.some((one) => one === place || place.startsWith(one + sep))) continue;
    const found = lstatSync(place, { throwIfNoEntry: false });
    const content = found && contentOf(place, found);
    if (content === undefined) continue;
    const isProgram = (found?.mode ?? 0) & 0o100;
    hash.update(JSON.stringify([path, isProgram, content.length])).update(content);
  }
  return hash.digest("hex");
}

async function pathsOf(
  { folder, repository }: Files,
  globs: readonly string[],
): Promise<readonly string[]> {
  const isListed =
    repository !== undefined && (repository.prefix === "" || !(await repository.isIgnored()));
  if (isListed) return (await repository.files()).filter((path) => isAmong(globs, path)).toSorted();
  const { signal } = new AbortController();
  const all = globs.every((glob) => glob.startsWith("!")) ? ["**", ...globs] : globs;
  return (await matchingFiles({ folder, globs: all, signal, ...most })).files;
}

function contentOf(place: string, found: Stats): Uint8Array | string | undefined {
  try {
    if (found.isSymbolicLink()) return readlinkSync(place);
    if (found.size > longestFile) return `${found.size} ${found.mtimeMs}`;
    return found.isFile() ? readJudged(place, longestFile) : undefined;
  } catch {
    return undefined;
  }
}

/** The files of a folder that globs match: sorted, and bounded in effort. Links to folders are not followed. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Glob, partsMatch, readGlob } from "../entry/glob.ts";
import { isPrivate } from "../platform/private-files.ts";

export async function matchingFiles(options: {
  readonly folder: string;
  readonly globs: readonly string[];
  readonly signal: AbortSignal;
  readonly mostFiles: number;
  readonly mostNames: number;
}): Promise<{ readonly files: readonly string[]; readonly complete: boolean }> {
  const { folder, globs, signal, mostFiles, mostNames } = options;
  const wanted = patternsOf(globs.filter((glob) => !glob.startsWith("!")));
  const unwanted = patternsOf(
    globs.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1)),
  );
  const files: string[] = [];
  let names = 0;
  // Depth first, in the order of the names: what is left out at a bound is always the same.
  const open: string[][] = [[]];
  for (let parts = open.pop(); parts !== undefined; parts = open.pop()) {
    const children = await readdir(join(folder, ...parts), { withFileTypes: true }).catch(() => []);
    const folders: string[][] = [];
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      names += 1;
      if (names > mostNames || files.length >= mostFiles || signal.aborted) {
        return { files: files.toSorted(), complete: false };
      }
      const path = [...parts, child.name];
      const among = isSpecial(child.name)
        ? wanted.filter((glob) => isNamed(child.name, glob))
        : wanted;
      if (child.isDirectory()) {
        if (among.some((glob) => mayMatchBelow(glob, path))) folders.push(path);
      } else if (child.isFile() || child.isSymbolicLink()) {
        const matches = (glob: Glob): boolean => partsMatch(glob.parts, path, false);
        const isCovered = among.some((glob) => matches(glob) && namesSpecials(glob, path));
        if (isCovered && !unwanted.some(matches)) files.push(path.join("/"));
      }
    }
    for (const path of folders.toReversed()) open.push(path);
  }
  return { files: files.toSorted(), complete: true };
}

function patternsOf(globs: readonly string[]): readonly Glob[] {
  return globs.flatMap((glob) => {
    const read = readGlob(glob);
    return typeof read === "string" ? [] : read;
  });
}

/** A pattern has to name these: no wildcard matches them. */
function isSpecial(name: string): boolean {
  return name === "node_modules" || isPrivate(name);
}

function isNamed(name: string, { parts }: Glob): boolean {
  return parts.some((part) => part.kind === "text" && part.text === name);
}

function namesSpecials(glob: Glob, path: readonly string[]): boolean {
  return path.every((name) => !isSpecial(name) || isNamed(name, glob));
}

/** Whether a glob can match a file in a folder, as far as the fixed beginning of the glob and its length tell. */
function mayMatchBelow({ parts }: Glob, folder: readonly string[]): boolean {
  for (const [depth, part] of parts.entries()) {
    if (part.kind === "folders") return true;
    const name = folder[depth];
    if (name === undefined) return true;
    if (!partsMatch([part], [name], false)) return false;
  }
  return false;
}

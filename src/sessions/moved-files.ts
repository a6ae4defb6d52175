/**
 * In which folders an allowed command may have replaced files with links. Most commands of git notice such a link;
 * `git grep` and `git rm` follow it, and their paths don't tell where they go. For all sessions of the process.
 */
import { realpathSync } from "node:fs";
import { isUnder } from "../permissions/paths.ts";

const folders = new Set<string>();

interface MovedFiles {
  readonly wasMoved: () => boolean;
  /** Such a command is about to run. */
  readonly onMove: () => void;
}

/** For the policy of sessions and scripts that work in this folder. */
export function movedFiles(workingDirectory: string): MovedFiles {
  const place = realPath(workingDirectory);
  return {
    wasMoved: () => [...folders].some((one) => isUnder(one, place) || isUnder(place, one)),
    onMove: () => void folders.add(place),
  };
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

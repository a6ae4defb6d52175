/**
 * Git, as the core runs it: in folders whose files somebody else wrote, and without anything there or in the
 * user's own settings having a say in what it does. No program is started on behalf of a folder.
 */
import { devNull } from "node:os";
import { dirname } from "node:path";
import { runProgram } from "../platform/processes.ts";
import type { ModelAccess } from "./options.ts";

/** Over the settings of any repository: what starts a program, signs, or reaches further than the folder. */
const settings = [
  "core.fsmonitor=false",
  `core.hooksPath=${devNull}`,
  `core.attributesFile=${devNull}`,
  `core.excludesFile=${devNull}`,
  "core.untrackedCache=false",
  "safe.bareRepository=explicit",
  "commit.gpgSign=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.allow=never",
  "submodule.recurse=false",
  // Containers run as another user than the one who checked out.
  "safe.directory=*",
].flatMap((setting) => ["-c", setting]);

export interface GitOptions {
  readonly cwd: string;
  /** Of this process; of it git gets the way to itself. */
  readonly environment: ModelAccess["environment"];
  /** Variables of git's own: an author, an index. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** What git prints. Rejects with the end of its standard error if it fails. */
export function git(
  args: readonly string[],
  { cwd, environment, variables }: GitOptions,
): Promise<string> {
  const env = {
    PATH: environment["PATH"],
    SYSTEMROOT: environment["SYSTEMROOT"],
    // Never the folder itself: it may hold a .gitconfig.
    HOME: dirname(cwd),
    XDG_CONFIG_HOME: devNull,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: devNull,
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    ...variables,
  };
  return runProgram("git", [...settings, ...args], { cwd, env });
}

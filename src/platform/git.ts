/** Running git on folders whose content is not ours: nothing in them, or set up on this machine, makes it run a program. */
import { devNull } from "node:os";
import { dirname } from "node:path";
import { childEnvironment, type Environment } from "./environment.ts";
import { runProgram } from "./processes.ts";
import { findProgram } from "./search-path.ts";

const settings = [
  "core.fsmonitor=false",
  `core.hooksPath=${devNull}`,
  `core.attributesFile=${devNull}`,
  `core.excludesFile=${devNull}`,
  "core.untrackedCache=false",
  "core.pager=cat",
  "commit.gpgSign=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  "submodule.recurse=false",
  // Containers run as another user than the one who checked out.
  "safe.directory=*",
].flatMap((setting) => ["-c", setting]);

interface GitOptions {
  readonly cwd: string;
  /** Its `PATH` is searched for git. */
  readonly environment: Environment;
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

export async function runGit(
  args: readonly string[],
  { cwd, environment, variables = {} }: GitOptions,
): Promise<string> {
  const git = findProgram("git", environment);
  if (git === undefined) throw new Error("There is no git in PATH outside the checkout");
  const given: Record<string, string | undefined> = {
    ...childEnvironment(environment),
    // Never the folder itself: it may hold a .gitconfig.
    HOME: dirname(cwd),
    XDG_CONFIG_HOME: devNull,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: devNull,
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TEMPLATE_DIR: "",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    ...variables,
  };
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) env[name] = value;
  return runProgram(git, [...settings, ...args], { cwd, env });
}

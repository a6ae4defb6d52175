/** Starts git so that nothing on this machine, and no address in a repository, makes it run a program or use the network. */
import { devNull } from "node:os";
import { dirname } from "node:path";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { runProgram, type ProgramCall } from "../platform/processes.ts";
import { findProgram } from "../platform/search-path.ts";

/** Overrides what the repository itself says. */
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
  "safe.bareRepository=explicit",
  "submodule.recurse=false",
  // In a container, the checkout often belongs to another user.
  "safe.directory=*",
].flatMap((setting) => ["-c", setting]);

/** Overrides the settings of the user and of the machine. `GIT_ALLOW_PROTOCOL` wins over every `protocol.*.allow`. */
export const gitVariables = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_SYSTEM: devNull,
  GIT_CONFIG_GLOBAL: devNull,
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TEMPLATE_DIR: "",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
} as const;

interface GitOptions {
  readonly cwd: string;
  /** Its `PATH` is searched for git. */
  readonly environment: Environment;
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** For a repository of our own, and for questions that only read names. Other calls go through `GitRepository`. */
export async function runGit(
  args: readonly string[],
  { cwd, environment, variables = {} }: GitOptions,
): Promise<string> {
  const given: Record<string, string | undefined> = {
    ...childEnvironment(environment),
    // Never the folder itself: it may hold a .gitconfig.
    HOME: dirname(cwd),
    XDG_CONFIG_HOME: devNull,
    ...gitVariables,
    ...variables,
  };
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) env[name] = value;
  const bytes = await startGit([...settings, ...args], { cwd, env }, environment);
  return bytes.toString();
}

/** `enter`: the file that starts it in a sandbox. */
export async function startGit(
  args: readonly string[],
  call: ProgramCall,
  environment: Environment,
  enter?: string,
): Promise<Buffer> {
  const git = findProgram("git", environment);
  if (git === undefined) throw new Error("There is no git in PATH outside the checkout");
  if (enter === undefined) return runProgram(git, args, call);
  return runProgram(enter, [git, ...args], call);
}

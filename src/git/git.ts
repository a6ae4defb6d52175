/** Starts git so that nothing on this machine, and no address in a repository, makes it run a program or use the network. */
import { devNull, homedir } from "node:os";
import { dirname, join } from "node:path";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { outputOf, ProgramError, type StartOptions } from "../platform/programs.ts";
import { findProgram, isInWorkspace } from "../platform/search-path.ts";
import * as fs from "node:fs";
import type { GitPlace } from "../platform/git-folder.ts";
import { errorMessage } from "../platform/system-error.ts";

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
  readonly environment: Environment;
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** For a repository of our own, and for questions that only read names. Other calls go through `GitRepository`. */
export async function runGit(
  args: readonly string[],
  { cwd, environment, variables = {} }: GitOptions,
): Promise<string> {
  const env = {
    ...childEnvironment(environment),
    // Never the folder itself: it may hold a .gitconfig.
    HOME: dirname(cwd),
    XDG_CONFIG_HOME: devNull,
    ...gitVariables,
    ...variables,
  };
  const bytes = await startGit([...settings, ...args], { cwd, env }, environment);
  return bytes.toString();
}

/** `enter`: the file that starts it in a sandbox. */
export async function startGit(
  args: readonly string[],
  call: Pick<StartOptions, "cwd" | "env" | "input">,
  environment: Environment,
  enter?: string,
): Promise<Buffer> {
  const git = findProgram("git", environment);
  if (git === undefined) throw new Error("There is no git in PATH outside the checkout");
  return outputOf(git, args, { ...call, sandbox: enter === undefined ? undefined : { enter } });
}

/** The message says what can't be known, and what to do. */
export class GitUnknown extends Error {}

/** Models and pull requests get the message, so it quotes nothing that git prints: git repeats lines of files that links lead to. */
export function gitUnknown(what: string, error: unknown): GitUnknown {
  const why = error instanceof ProgramError ? error.end : errorMessage(error);
  return new GitUnknown(`${what}: ${why}`);
}

export interface Filter {
  readonly name: string;
  /** `clean`, `process` and `required`, by their names in git's settings. */
  readonly settings: readonly (readonly [key: string, value: string])[];
}

export interface Settings {
  /** How files are converted, and what names of commits such as `@{upstream}` mean. None of them names a program. */
  readonly plain: readonly (readonly [key: string, value: string])[];
  readonly objectFormat: string;
  readonly refStorage: string | undefined;
  /** Files of the user, for all of their repositories, that exist. */
  readonly excludesFile: string | undefined;
  readonly attributesFile: string | undefined;
  readonly filters: readonly Filter[];
  readonly remotes: readonly string[];
}

const plainSettings =
  /^(?:core\.(?:autocrlf|eol|checkroundtripencoding|filemode|ignorecase|precomposeunicode|symlinks|trustctime|checkstat|sparsecheckout|sparsecheckoutcone)|branch\..+\.(?:remote|merge|pushremote)|remote\..+\.(?:fetch|push)|remote\.pushdefault|push\.default)$/s;

/** `git config` never starts a program. */
export async function readSettings(
  { gitFolder, root }: GitPlace,
  environment: Environment,
): Promise<Settings> {
  const { HOME = homedir(), ...allowed } = childEnvironment(environment);
  const named = ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"].flatMap((name): [string, string][] => {
    const value = environment[name] ?? "";
    return value === "" || isInWorkspace(value, environment) ? [] : [[name, value]];
  });
  const own = Object.fromEntries(named);
  const env = { ...allowed, HOME, ...own, GIT_TERMINAL_PROMPT: "0" };
  const args = ["--git-dir", gitFolder, "config", "--list", "-z"];
  const bytes = await startGit(args, { cwd: root, env }, environment).catch((error: unknown) => {
    throw gitUnknown("The settings of the git repository can't be read", error);
  });
  const all = entriesOf(bytes.toString()).map((entry): [string, string] => {
    const end = entry.indexOf("\n");
    return end === -1 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
  });
  const last = (key: string): string | undefined => all.findLast(([name]) => name === key)?.[1];
  const { XDG_CONFIG_HOME = join(HOME, ".config") } = own;
  const fileOf = (key: string, name: string): string | undefined => {
    const path = (last(key) ?? join(XDG_CONFIG_HOME, "git", name)).replace(/^~(?=\/)/, HOME);
    return fs.existsSync(path) ? path : undefined;
  };
  const filters = new Map<string, [string, string][]>();
  for (const [key, value] of all) {
    const [, name] = /^filter\.(.+)\.(?:clean|process)$/s.exec(key) ?? [];
    if (name !== undefined && value !== "")
      filters.set(name, [...(filters.get(name) ?? []), [key, value]]);
  }
  return {
    plain: all.filter(([key]) => plainSettings.test(key)),
    objectFormat: last("extensions.objectformat") ?? "sha1",
    refStorage: last("extensions.refstorage"),
    excludesFile: fileOf("core.excludesfile", "ignore"),
    attributesFile: fileOf("core.attributesfile", "attributes"),
    filters: [...filters].map(([name, settings]) => ({ name, settings })),
    remotes: all.flatMap(([key, value]) => (/^remote\..+\.url$/s.test(key) ? [value] : [])),
  };
}

export function entriesOf(text: string): string[] {
  return text.split("\0").filter((entry) => entry !== "");
}

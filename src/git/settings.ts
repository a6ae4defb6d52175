/** Reads a checkout's settings for conversions and commit names, and its filters. */
import * as fs from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import type { GitPlace } from "../platform/git-folder.ts";
import { startGit } from "./git.ts";
import { ProgramError } from "../platform/processes.ts";
import { isInWorkspace } from "../platform/search-path.ts";
import { errorMessage } from "../platform/system-error.ts";

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
  /** Their addresses. */
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

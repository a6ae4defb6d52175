/** Finds the npm to install with, and what it may see. Runs nothing. */
import { statSync } from "node:fs";
import { devNull } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { childEnvironment, isProxy, type Environment } from "../platform/environment.ts";
import { readSmallFile } from "../platform/reading.ts";
import { findProgram, isInWorkspace, searchFolders, variable } from "../platform/search-path.ts";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const inPackage = join("node_modules", "npm", "bin", "npm-cli.js");

/**
 * The npm in `PATH` (it is the one that the workflow has set up, with its registry), else the one next to
 * the node that runs us.
 */
export function findNpm(
  environment: Environment,
  node: string = process.execPath,
  system: NodeJS.Platform = process.platform,
): Command | undefined {
  const script = (path: string): Command => ({ command: node, args: [path] });
  const home = dirname(node);
  const nextToNode = [join(home, "..", "lib", inPackage), join(home, inPackage)];
  // npm.cmd can't be started without a shell; it stands next to its script.
  const inPath = searchFolders(environment).map((folder) => join(folder, inPackage));
  const program = system === "win32" ? undefined : findProgram("npm", environment);
  if (program !== undefined) return { command: program, args: [] };
  return [...(system === "win32" ? inPath : []), ...nextToNode]
    .filter((path) => isFile(path) && !isInWorkspace(path, environment))
    .map(script)[0];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** What npm needs beside the variables that every process gets. */
const forRegistry = /^(?:NPM_CONFIG_.*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;
/** Settings of npm that make node or npm load or run something. */
const programs =
  /^NPM_CONFIG_(?:NODE_OPTIONS|SCRIPT_SHELL|SHELL|GIT|ONLOAD_SCRIPT|INIT_MODULE|EDITOR|VIEWER)$/i;
/** Variables that do so for programs of every kind. */
const loaders = /^(?:NODE_|LD_|DYLD_|BASH_|ENV$|GIT_)/i;

/**
 * npm's own settings, its proxies and what the `.npmrc` of the user names as `${VARIABLE}`; no input, no token of
 * the runner, no model's key. A setting that leads into the workspace is left out, and an `.npmrc` that is there
 * isn't read. The folder of our node comes last in `PATH`, for an npm that starts with `env node`.
 */
export function npmEnvironment(
  environment: Environment,
  node: string = process.execPath,
): Record<string, string> {
  const home = variable(environment, "HOME") ?? variable(environment, "USERPROFILE") ?? "";
  const named = Object.keys(environment).find((name) => /^NPM_CONFIG_USERCONFIG$/i.test(name));
  const userConfig = (named === undefined ? undefined : environment[named]) || join(home, ".npmrc");
  const isTheirs = isInWorkspace(userConfig, environment);
  const wanted = isTheirs ? new Set<string>() : variablesNamedIn(userConfig);
  const kept: Record<string, string> = childEnvironment(environment);
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    const isSetting = forRegistry.test(name) && !programs.test(name);
    const leadsIn = /^(?:[a-z]:)?[\\/]/i.test(value) && isInWorkspace(value, environment);
    const isWanted = wanted.has(name) && kept[name] === undefined && !loaders.test(name);
    if ((isSetting && !leadsIn) || isProxy(name) || isWanted) kept[name] = value;
  }
  if (isTheirs) kept["NPM_CONFIG_USERCONFIG"] = devNull;
  const names = process.platform === "win32" ? Object.keys(kept) : [];
  const path = names.find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  return { ...kept, [path]: [kept[path], dirname(node)].filter(Boolean).join(delimiter) };
}

const MAX_NPMRC = 64 * 1024;

/** The user has written there what npm may know. */
function variablesNamedIn(file: string): ReadonlySet<string> {
  try {
    const text = new TextDecoder().decode(readSmallFile(file, MAX_NPMRC));
    const names = text.matchAll(/\$\{([^${}?]+)\??\}/g);
    return new Set([...names].map(([, name = ""]) => name));
  } catch {
    return new Set();
  }
}

/**
 * The runtime for the action: found as everywhere, or installed by npm, which checks the SHA-512, into the tool cache
 * of the runner, in a folder aside. One rename puts it in place, so it is always complete, however many installs run at once.
 */
import { secondsText } from "../text/numbers.ts";
import { promises as fs, statSync } from "node:fs";
import { devNull } from "node:os";
import { delimiter, dirname, join } from "node:path";
import {
  lookForRuntime,
  packageOf,
  platformName,
  runtimeInPackage,
  RuntimeNotFoundError,
  runtimeProblem,
  type RuntimeSearch,
} from "./find-runtime.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { makeDirectory, readSmallFile } from "../platform/files.ts";
import { runToEnd, type ProgramOutcome } from "../platform/programs.ts";
import { findProgram, isInWorkspace, searchFolders, variable } from "../platform/search-path.ts";
import { childEnvironment, isProxy, type Environment } from "../platform/environment.ts";
import { runtimeHashes, runtimesWithoutHash, runtimeVersion } from "../generated/runtime-hashes.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface RuntimeRequest extends Pick<
  RuntimeSearch,
  "runtimePath" | "distrusted" | "platform" | "searchFrom"
> {
  readonly environment: Environment;
  /** `RUNNER_TOOL_CACHE`. Without it, or if it can't be written to, the temporary directory serves. */
  readonly toolCacheDirectory?: string | undefined;
  readonly temporaryDirectory: string;
  readonly log: (line: string) => void;
  readonly warn: (text: string) => void;
  readonly signal?: AbortSignal;
  readonly hashes?: Readonly<Record<string, string>>;
  readonly limits?: InstallLimits;
}

interface InstallLimits {
  readonly attempt: number;
  readonly total: number;
  /** Before the second attempt, and at most before a further one: there are three attempts. */
  readonly waits: readonly [first: number, most: number];
}

const installLimits: InstallLimits = { attempt: 150_000, total: 300_000, waits: [2_000, 8_000] };

const waysToHaveIt =
  "To fix this, give npm access to a registry with the package, or set the environment " +
  'variable AGENT_JOBS_RUNTIME_PATH or COPILOT_CLI_PATH (docs/action.md, "The runtime").';

/**
 * In this order: `AGENT_JOBS_RUNTIME_PATH`, `COPILOT_CLI_PATH`, the package next to us, the tool cache; else it is installed there.
 * @throws RuntimeNotFoundError with what to do
 */
export async function ensureRuntime(request: RuntimeRequest): Promise<string> {
  const platform = request.platform ?? platformName();
  const { log } = request;
  const found = lookForRuntime({
    ...request,
    pathOption: "The variable AGENT_JOBS_RUNTIME_PATH",
    installed: cacheTargets(request, platform),
    exactVersion: true,
  });
  if (found !== undefined) {
    log(`Copilot runtime: ${found.path} (${sourceNames[found.source]}).`);
    return found.path;
  }
  return install(request, platform);
}

async function install(request: RuntimeRequest, platform: string): Promise<string> {
  const { log, hashes = runtimeHashes } = request;
  const name = packageOf(platform);
  const integrity = hashes[platform];
  if (integrity === undefined) {
    const known = Object.keys(hashes).join(", ");
    const why = runtimesWithoutHash.includes(platform)
      ? `this version of the action has no SHA-512 of ${name}@${runtimeVersion}, so it can't install it`
      : `there is no package of it for ${platform}`;
    throw new RuntimeNotFoundError(
      `No Copilot runtime: ${why}. Installed by the action on: ${known}. ${waysToHaveIt}`,
    );
  }
  const { target, aside } = await writablePlace(request, platform);
  await removeLeftovers(dirname(target));
  log(`Copilot runtime: installing ${name}@${runtimeVersion} into ${target} with npm.`);
  const began = systemClock.now();
  try {
    const problem = await runNpm(request, name, integrity, aside);
    if (problem !== undefined) {
      throw new RuntimeNotFoundError(
        `The Copilot runtime (${name}@${runtimeVersion}) can't be installed: ${problem}. ${waysToHaveIt}`,
      );
    }
    await moveIntoPlace(join(aside, "node_modules", name), target, platform);
  } finally {
    await fs.rm(aside, { recursive: true, force: true, maxRetries: 3 });
  }
  log(`Installed in ${secondsText(systemClock.now() - began)}; npm has verified the SHA-512.`);
  return runtimeInPackage(target, platform);
}

async function runNpm(
  { environment, signal, limits = installLimits }: RuntimeRequest,
  name: string,
  integrity: string,
  folder: string,
): Promise<string | undefined> {
  const npm = findNpm(environment);
  if (npm === undefined)
    return "there is no npm in PATH or next to node; put actions/setup-node before this step";
  const project = { dependencies: { [name]: runtimeVersion } };
  const entry = { version: runtimeVersion, integrity };
  const lock = { lockfileVersion: 3, packages: { "": project, [`node_modules/${name}`]: entry } };
  // With a project of its own, npm searches no parent folder for one, so an .npmrc of the checkout has no effect.
  await fs.writeFile(join(folder, "package.json"), JSON.stringify(project));
  await fs.writeFile(join(folder, "package-lock.json"), JSON.stringify(lock));
  const [first, most] = limits.waits;
  const args = [
    "ci",
    "--package-lock",
    "--ignore-scripts",
    "--fetch-retries=2",
    `--fetch-retry-mintimeout=${first}`,
    `--fetch-retry-maxtimeout=${most}`,
    `--fetch-timeout=${limits.attempt}`,
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
  ];
  const limit = startTimeLimit(systemClock, limits.total, signal);
  const ended = await runToEnd(npm.command, [...npm.args, ...args], {
    cwd: folder,
    env: npmEnvironment(environment),
    signal: limit.signal,
  });
  limit.end();
  if (limit.isOver) return `it took longer than ${limits.total / 1000} s`;
  return signal?.aborted === true ? "it was canceled" : problemOf(ended);
}

function problemOf(ended: ProgramOutcome): string | undefined {
  if (ended.kind === "not-started") return `npm can't be started: ${ended.reason}`;
  if (ended.kind !== "exited") return "npm was ended by a signal";
  if (ended.code === 0) return undefined;
  const other = ended.stderr.includes("EINTEGRITY")
    ? ". The configured npm registry doesn't serve the package that this version of the action was built with"
    : "";
  return `npm ended with exit code ${ended.code}: ${quoted(ended.stderr)}${other}`;
}

function quoted(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.replace(/^npm (?:error|ERR!)\s*/, "").trim())
    .filter((line) => line !== "" && !/^npm warn|A complete log of this run/i.test(line));
  return lines
    .slice(0, 4)
    .join("; ")
    .replaceAll(/\/\/[^/@\s]+@/g, "//")
    .replaceAll("::", ": :")
    .replaceAll("##[", "# #[")
    .slice(0, 600);
}

/** Another process may have installed it first. Its installation stays, unless it is broken. */
async function moveIntoPlace(from: string, target: string, platform: string): Promise<void> {
  const problem = runtimeProblem(runtimeInPackage(from, platform));
  if (problem !== undefined)
    throw new RuntimeNotFoundError(`npm has installed the Copilot runtime, ${problem}.`);
  for (let round = 1; ; round += 1) {
    try {
      return await fs.rename(from, target);
    } catch (error) {
      if (runtimeProblem(runtimeInPackage(target, platform)) === undefined) return;
      if (round === 3) throw error;
      // A folder that holds something can't be renamed over.
      await fs.rm(target, { recursive: true, force: true });
    }
  }
}

const asidePrefix = ".installing-";
const leftoverMilliseconds = 3_600_000;

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await fs.readdir(parent)) {
    if (!name.startsWith(asidePrefix)) continue;
    const path = join(parent, name);
    const stat = await fs.stat(path).catch(() => undefined);
    if (stat !== undefined && systemClock.now() - stat.mtimeMs > leftoverMilliseconds)
      await fs.rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

const sourceNames = {
  option: "AGENT_JOBS_RUNTIME_PATH",
  COPILOT_CLI_PATH: "COPILOT_CLI_PATH",
  package: "the package next to the action",
  installed: `version ${runtimeVersion} in the tool cache`,
} as const;

/** A folder in the workspace is never used, because its files may have come with a commit. */
function cacheTargets(request: RuntimeRequest, platform: string): string[] {
  return [request.toolCacheDirectory, request.temporaryDirectory].flatMap((directory) =>
    directory === undefined || directory === "" || isInWorkspace(directory, request.environment)
      ? []
      : [join(directory, "agent-jobs-runtime", runtimeVersion, platform)],
  );
}

/** The first place that can be written to, and a folder beside it: on the same file system, the rename is one step. */
async function writablePlace(
  request: RuntimeRequest,
  platform: string,
): Promise<{ readonly target: string; readonly aside: string }> {
  const problems: string[] = [];
  for (const target of cacheTargets(request, platform)) {
    const parent = dirname(target);
    try {
      await makeDirectory(parent);
      const aside = await fs.mkdtemp(join(parent, asidePrefix));
      if (problems.length > 0) {
        request.warn(
          `The tool cache (RUNNER_TOOL_CACHE) can't store the Copilot runtime: ${problems.join("; ")}. It is installed into ${target} instead, for this job only.`,
        );
      }
      return { target, aside };
    } catch (error) {
      problems.push(`${parent}: ${errorMessage(error)}`);
    }
  }
  const why = problems.join("; ") || "RUNNER_TOOL_CACHE and RUNNER_TEMP are in the workspace";
  throw new RuntimeNotFoundError(
    `There is no folder for the Copilot runtime: ${why}. ${waysToHaveIt}`,
  );
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const inPackage = join("node_modules", "npm", "bin", "npm-cli.js");

/** The npm in `PATH`, which the workflow has set up with its registry, else the one next to our node. */
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

/** Variables that npm needs in addition to those of every process. */
const forRegistry = /^(?:NPM_CONFIG_.*|NPM_TOKEN|NODE_AUTH_TOKEN)$/i;
/** Settings of npm that make node or npm load or run something. */
const programs =
  /^NPM_CONFIG_(?:NODE_OPTIONS|SCRIPT_SHELL|SHELL|GIT|ONLOAD_SCRIPT|INIT_MODULE|EDITOR|VIEWER)$/i;
/** Variables that make any program load something. */
const loaders = /^(?:NODE_|LD_|DYLD_|BASH_|ENV$|GIT_)/i;

/**
 * npm's own settings, its proxies and what the user's `.npmrc` names; no input, no token of the runner, no model's key,
 * and nothing that leads into the workspace, whose `.npmrc` isn't read. Our node comes last in `PATH`, for an npm that starts with `env node`.
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

function variablesNamedIn(file: string): ReadonlySet<string> {
  try {
    const text = new TextDecoder().decode(readSmallFile(file, MAX_NPMRC));
    const names = text.matchAll(/\$\{([^${}?]+)\??\}/g);
    return new Set([...names].map(([, name = ""]) => name));
  } catch {
    return new Set();
  }
}

/**
 * The native Copilot runtime for the action, which can't be in the bundle: found, or else installed. Never
 * looked for in the checkout: what stands there may be somebody else's program.
 */
import { promises as fs, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  platformName,
  runtimeInPackage,
  RuntimeNotFoundError,
  runtimeProblem,
} from "./find-runtime.ts";
import type { RuntimeKeeper } from "./runtime-pool.ts";
import { systemClock } from "../platform/clock.ts";
import { makeDirectory } from "../platform/files.ts";
import { isInWorkspace, isWithin } from "../platform/search-path.ts";
import type { Environment } from "../platform/environment.ts";
import { damageOf } from "./installed-files.ts";
import { runtimeHashes, runtimesWithoutHash, runtimeVersion } from "../generated/runtime-hashes.ts";
import { type InstallLimits, installRuntime, waysToHaveIt } from "./install-runtime.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface RuntimeRequest {
  /** The input `runtime-path`. */
  readonly runtimePath?: string | undefined;
  readonly environment: Environment;
  /** A folder whose programs may be a stranger's: no package is taken from it. */
  readonly distrusted?: string;
  /** `RUNNER_TOOL_CACHE`. Without it, or if it can't be written to, the temporary directory serves. */
  readonly toolCacheDirectory?: string | undefined;
  /** `RUNNER_TEMP` */
  readonly temporaryDirectory: string;
  readonly log: (line: string) => void;
  /** For what a person should know although the run goes on. */
  readonly warn: (text: string) => void;
  /** Ends an install. */
  readonly signal?: AbortSignal;
  /** Default: that of this machine. */
  readonly platform?: string;
  /** Packages are looked for in the `node_modules` of this folder and of those above. Default: ours. */
  readonly searchFrom?: string;
  /** Platform → integrity. Default: the committed ones. */
  readonly hashes?: Readonly<Record<string, string>>;
  readonly limits?: InstallLimits;
}

const installLimits: InstallLimits = {
  tryMilliseconds: 150_000,
  totalMilliseconds: 300_000,
  waits: [2000, 8000],
};

/** What is in place already. */
export type FoundRuntime = {
  readonly path: string;
  readonly source: "input" | "COPILOT_CLI_PATH" | "package" | "tool cache";
};

/**
 * The absolute path of the runtime's executable. In this order: the input, `COPILOT_CLI_PATH`, the package
 * of our own version next to us, the tool cache; else it is installed there.
 * @throws RuntimeNotFoundError with what to do
 */
export async function ensureRuntime(request: RuntimeRequest): Promise<string> {
  const platform = request.platform ?? platformName();
  const { log } = request;
  const found = findRuntimeOfAction({ ...request, platform });
  if (found !== undefined) {
    log(`Copilot runtime: ${found.path} (${sourceNames[found.source]}).`);
    return found.path;
  }
  return install(request, platform);
}

/** Looks after a runtime of the tool cache; undefined for one of another place, which is not ours to replace. */
export function keeperOf(request: RuntimeRequest, path: string): RuntimeKeeper | undefined {
  const platform = request.platform ?? platformName();
  const root = cacheTargets(request, platform).find((target) => isWithin(target, path));
  if (root === undefined) return undefined;
  return {
    examine: () => damageOf(root, request.signal ?? new AbortController().signal),
    async reinstall(problem) {
      request.warn(
        `The Copilot runtime in ${root} is damaged: ${problem.trim()}${/[.!]$/.test(problem.trim()) ? "" : "."} It is installed again.`,
      );
      return install({ ...request, replace: true }, platform);
    },
  };
}

async function install(
  request: RuntimeRequest & { readonly replace?: true },
  platform: string,
): Promise<string> {
  const { log, hashes = runtimeHashes, replace = false } = request;
  const name = `@github/copilot-sdk-${platform}@${runtimeVersion}`;
  const integrity = hashes[platform];
  if (integrity === undefined) {
    const known = Object.keys(hashes).join(", ");
    const why = runtimesWithoutHash.includes(platform)
      ? `this version of the action holds no SHA-512 of ${name}, so it installs none`
      : `there is no package of it for ${platform}`;
    throw new RuntimeNotFoundError(
      `No Copilot runtime: ${why}. Installed by the action on: ${known}. ${waysToHaveIt}`,
    );
  }
  const target = await writableTarget(request, platform);
  log(`Copilot runtime: installing ${name} into ${target}.`);
  await installRuntime({
    package: name,
    integrity,
    platform,
    target,
    replace,
    temporaryDirectory: request.temporaryDirectory,
    environment: request.environment,
    limits: request.limits ?? installLimits,
    signal: request.signal ?? new AbortController().signal,
    log,
  });
  return runtimeInPackage(target, platform);
}

const sourceNames = {
  input: "the input runtime-path",
  COPILOT_CLI_PATH: "COPILOT_CLI_PATH",
  package: "the package next to the action",
  "tool cache": `version ${runtimeVersion} in the tool cache`,
} as const;

/**
 * Looks, installs nothing.
 * @throws RuntimeNotFoundError if a path that was named is wrong: no other is taken in its place
 */
function findRuntimeOfAction(request: RuntimeRequest): FoundRuntime | undefined {
  const platform = request.platform ?? platformName();
  const named = [
    ["input", request.runtimePath, "The input `runtime-path`"],
    ["COPILOT_CLI_PATH", request.environment["COPILOT_CLI_PATH"], "COPILOT_CLI_PATH"],
  ] as const;
  for (const [source, path, label] of named) {
    if (path === undefined || path === "") continue;
    const absolute = isAbsolute(path) ? path : resolve(path);
    const problem = runtimeProblem(absolute);
    if (problem === undefined) return { path: absolute, source };
    throw new RuntimeNotFoundError(
      `${label} leads to ${absolute}, ${problem}. Correct it, or leave it out and the action installs the runtime.`,
    );
  }
  const { distrusted } = request;
  const inPackage = packagesAbove(request.searchFrom ?? ownDirectory(), platform).filter(
    (root) => distrusted === undefined || !isWithin(distrusted, root),
  );
  for (const [root, source] of [
    ...inPackage.map((root) => [root, "package"] as const),
    ...cacheTargets(request, platform).map((root) => [root, "tool cache"] as const),
  ]) {
    const path = runtimeInPackage(root, platform);
    if (runtimeProblem(path) === undefined) return { path, source };
  }
  return undefined;
}

function ownDirectory(): string {
  return dirname(fileURLToPath(import.meta.url));
}

/** Packages of our version in any `node_modules` above; one of another version is not ours. */
function packagesAbove(from: string, platform: string): string[] {
  const roots: string[] = [];
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", "@github", `copilot-sdk-${platform}`);
    if (versionOf(root) === runtimeVersion) roots.push(root);
    if (folder === dirname(folder)) return roots;
  }
}

function versionOf(root: string): unknown {
  try {
    const content: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    return typeof content === "object" && content !== null && "version" in content
      ? content.version
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * `<tool cache>/agent-jobs-runtime/<version>/<platform>`, in the order in which they are tried. None in the workspace,
 * whatever the variables say: what is there may have come with a commit.
 */
function cacheTargets(request: RuntimeRequest, platform: string): string[] {
  return [request.toolCacheDirectory, request.temporaryDirectory].flatMap((directory) =>
    directory === undefined || directory === "" || isInWorkspace(directory, request.environment)
      ? []
      : [join(directory, "agent-jobs-runtime", runtimeVersion, platform)],
  );
}

/** A file system that hangs is passed over like one that refuses. */
const PROBE_MS = 5_000;

/** The first place that can be written to. */
async function writableTarget(request: RuntimeRequest, platform: string): Promise<string> {
  const problems: string[] = [];
  for (const target of cacheTargets(request, platform)) {
    const parent = dirname(target);
    const problem = await problemOfWriting(parent);
    if (problem === undefined) {
      if (problems.length > 0) {
        request.warn(
          `The tool cache (RUNNER_TOOL_CACHE) can't hold the Copilot runtime: ${problems.join("; ")}. It is installed into ${target} instead, for this job only.`,
        );
      }
      return target;
    }
    problems.push(problem);
  }
  const why = problems.join("; ") || "RUNNER_TOOL_CACHE and RUNNER_TEMP are in the workspace";
  throw new RuntimeNotFoundError(
    `There is no place for the Copilot runtime: ${why}. ${waysToHaveIt}`,
  );
}

async function problemOfWriting(folder: string): Promise<string | undefined> {
  const write = async (): Promise<undefined> => {
    await makeDirectory(folder);
    await fs.rm(await fs.mkdtemp(join(folder, ".probe-")), { recursive: true });
  };
  const ended = new AbortController();
  const late = systemClock
    .sleep(PROBE_MS, ended.signal)
    .then(() => `${folder} did not answer within ${PROBE_MS / 1000} s`);
  try {
    return await Promise.race([write(), late]);
  } catch (error) {
    return `${folder}: ${errorMessage(error)}`;
  } finally {
    ended.abort();
  }
}

/**
 * The native Copilot runtime for the action, which can't be in the bundle: found as everywhere, or else installed
 * into the tool cache of the runner.
 */
import { promises as fs } from "node:fs";
import { dirname, join } from "node:path";
import {
  lookForRuntime,
  platformName,
  runtimeInPackage,
  RuntimeNotFoundError,
  type RuntimeSearch,
} from "./find-runtime.ts";
import { within } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { makeDirectory } from "../platform/files.ts";
import { isInWorkspace } from "../platform/search-path.ts";
import type { Environment } from "../platform/environment.ts";
import { runtimeHashes, runtimesWithoutHash, runtimeVersion } from "../generated/runtime-hashes.ts";
import { type InstallLimits, installRuntime, waysToHaveIt } from "./install-runtime.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface RuntimeRequest extends Pick<
  RuntimeSearch,
  "runtimePath" | "distrusted" | "platform" | "searchFrom"
> {
  readonly environment: Environment;
  /** `RUNNER_TOOL_CACHE`. Without it, or if it can't be written to, the temporary directory serves. */
  readonly toolCacheDirectory?: string | undefined;
  /** `RUNNER_TEMP` */
  readonly temporaryDirectory: string;
  readonly log: (line: string) => void;
  /** For what a person should know although the run goes on. */
  readonly warn: (text: string) => void;
  /** Ends an install. */
  readonly signal?: AbortSignal;
  /** Platform → integrity. Default: the committed ones. */
  readonly hashes?: Readonly<Record<string, string>>;
  readonly limits?: InstallLimits;
}

const installLimits: InstallLimits = {
  attemptMilliseconds: 150_000,
  totalMilliseconds: 300_000,
  waits: [2000, 8000],
};

/**
 * The absolute path of the runtime's executable. In this order: the input, `COPILOT_CLI_PATH`, the package
 * of our own version next to us, the tool cache; else it is installed there.
 * @throws RuntimeNotFoundError with what to do
 */
export async function ensureRuntime(request: RuntimeRequest): Promise<string> {
  const platform = request.platform ?? platformName();
  const { log } = request;
  const found = lookForRuntime({
    ...request,
    pathOption: "The input `runtime-path`",
    installed: cacheTargets(request, platform),
    // What is installed is of our version too.
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
  const name = `@github/copilot-sdk-${platform}@${runtimeVersion}`;
  const integrity = hashes[platform];
  if (integrity === undefined) {
    const known = Object.keys(hashes).join(", ");
    const why = runtimesWithoutHash.includes(platform)
      ? `this version of the action has no SHA-512 of ${name}, so it can't install it`
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
    temporaryDirectory: request.temporaryDirectory,
    environment: request.environment,
    limits: request.limits ?? installLimits,
    signal: request.signal ?? new AbortController().signal,
    log,
  });
  return runtimeInPackage(target, platform);
}

const sourceNames = {
  option: "the input runtime-path",
  COPILOT_CLI_PATH: "COPILOT_CLI_PATH",
  package: "the package next to the action",
  installed: `version ${runtimeVersion} in the tool cache`,
} as const;

/**
 * `<tool cache>/agent-jobs-runtime/<version>/<platform>`, in the order in which they are tried. None in the workspace,
 * regardless of the variables, because its files may have come with a commit.
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
          `The tool cache (RUNNER_TOOL_CACHE) can't store the Copilot runtime: ${problems.join("; ")}. It is installed into ${target} instead, for this job only.`,
        );
      }
      return target;
    }
    problems.push(problem);
  }
  const why = problems.join("; ") || "RUNNER_TOOL_CACHE and RUNNER_TEMP are in the workspace";
  throw new RuntimeNotFoundError(
    `There is no folder for the Copilot runtime: ${why}. ${waysToHaveIt}`,
  );
}

async function problemOfWriting(folder: string): Promise<string | undefined> {
  const write = async (): Promise<void> => {
    await makeDirectory(folder);
    await fs.rm(await fs.mkdtemp(join(folder, ".probe-")), { recursive: true });
  };
  try {
    const written = await within(write(), PROBE_MS, systemClock);
    return written === undefined
      ? `${folder} did not respond within ${PROBE_MS / 1000} s`
      : undefined;
  } catch (error) {
    return `${folder}: ${errorMessage(error)}`;
  }
}

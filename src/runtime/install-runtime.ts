/**
 * Installs the runtime's package into a tool cache. Owns the order of steps and every bound on them:
 * download (attempts, waits, time limits), check, unpack aside, and one rename into place. So what stands in
 * place is always complete, however many installs run at once and whenever they are killed.
 */
import { promises as fs } from "node:fs";
import { dirname, join } from "node:path";
import { RuntimeNotFoundError, runtimeInPackage, runtimeProblem } from "./find-runtime.ts";
import { systemClock } from "../platform/system-clock.ts";
import { childEnvironment } from "../platform/environment.ts";
import { makeDirectory } from "../platform/files.ts";
import { runToEnd } from "../platform/programs.ts";
import { findProgram } from "../platform/search-path.ts";
import { errorCode } from "../platform/system-error.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import type { Environment } from "../platform/environment.ts";
import { downloadPackage } from "./download-runtime.ts";

export interface InstallLimits {
  /** Milliseconds for one attempt. */
  readonly attemptMilliseconds: number;
  /** Milliseconds for everything. */
  readonly totalMilliseconds: number;
  /** Milliseconds to wait before the second attempt, the third…: one more attempt than waits. */
  readonly waits: readonly number[];
}

export interface InstallRequest {
  readonly package: string;
  readonly integrity: string;
  readonly platform: string;
  /** Where the package is to stand. */
  readonly target: string;
  readonly temporaryDirectory: string;
  readonly environment: Environment;
  readonly limits: InstallLimits;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** @throws RuntimeNotFoundError */
export async function installRuntime(request: InstallRequest): Promise<void> {
  const { limits, log, target, temporaryDirectory } = request;
  const started = systemClock.now();
  const limit = startTimeLimit(systemClock, limits.totalMilliseconds, request.signal);
  const install: Install = {
    ...request,
    signal: limit.signal,
    failed: (reason) => {
      if (limit.isOver)
        return notInstalled(request, `it took longer than ${limits.totalMilliseconds / 1000} s`);
      return notInstalled(request, limit.signal.aborted ? "it was canceled" : reason);
    },
  };
  try {
    await makeDirectory(temporaryDirectory);
    const scratch = await fs.mkdtemp(join(temporaryDirectory, "agent-jobs-download-"));
    try {
      const file = await download(install, scratch);
      const { size } = await fs.stat(file);
      log(`Downloaded ${megabytes(size)} in ${seconds(started)}; the SHA-512 is correct.`);
      await unpack(install, file);
      log(`Unpacked into ${target}; ready after ${seconds(started)}.`);
    } finally {
      await fs.rm(scratch, { recursive: true, force: true, maxRetries: 3 });
    }
  } finally {
    limit.end();
  }
}

interface Install extends InstallRequest {
  /** The error to throw: a limit or a cancel has caused whatever came after it. */
  readonly failed: (reason: string) => RuntimeNotFoundError;
}

async function download(install: Install, scratch: string): Promise<string> {
  const { limits, log, signal } = install;
  const attempts = limits.waits.length + 1;
  for (let number = 1; ; number += 1) {
    const directory = join(scratch, `${number}`);
    await fs.mkdir(directory);
    log(`Downloading ${install.package} with npm, attempt ${number} of ${attempts}…`);
    const limit = startTimeLimit(systemClock, limits.attemptMilliseconds, signal);
    const outcome = await downloadPackage({ ...install, directory, signal: limit.signal });
    limit.end();
    if (outcome.kind === "downloaded") return outcome.file;
    const wait = limits.waits[number - 1];
    if (signal.aborted || outcome.kind === "hopeless" || wait === undefined)
      throw install.failed(outcome.reason);
    log(`Download failed: ${outcome.reason}. Retrying in ${wait / 1000} s.`);
    await systemClock.sleep(wait, signal);
    if (signal.aborted) throw install.failed(outcome.reason);
  }
}

function notInstalled(request: InstallRequest, reason: string): RuntimeNotFoundError {
  return new RuntimeNotFoundError(
    `The Copilot runtime (${request.package}) can't be installed: ${reason}. ${waysToHaveIt}`,
  );
}

export const waysToHaveIt =
  "To fix this, give npm access to a registry with the package, set the input `runtime-path`, " +
  'or set the environment variable COPILOT_CLI_PATH (docs/action.md, "The runtime").';

async function unpack(install: Install, file: string): Promise<void> {
  const { environment, platform, signal, target } = install;
  const parent = dirname(target);
  await removeLeftovers(parent);
  // In the same folder, so on the same file system: the rename is one step.
  const aside = await fs.mkdtemp(join(parent, asidePrefix));
  try {
    const tar = tarOf(environment);
    if (tar === undefined) throw install.failed("there is no tar in PATH outside the checkout");
    // `o`: the files belong to us, also when we are root.
    const outcome = await runToEnd(tar, ["-xzof", file], {
      cwd: aside,
      env: childEnvironment(environment),
      signal,
    });
    if (outcome.kind !== "exited" || outcome.code !== 0) {
      const reason = outcome.kind === "exited" ? outcome.stderr.trim().slice(-300) : outcome.kind;
      throw install.failed(`tar can't unpack it: ${reason}`);
    }
    const unpacked = join(aside, "package");
    const problem = runtimeProblem(runtimeInPackage(unpacked, platform));
    if (problem !== undefined) throw install.failed(`the package was unpacked, ${problem}`);
    await moveIntoPlace(unpacked, target, platform, join(aside, "old"));
  } finally {
    await fs.rm(aside, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Another process may have installed it first. Its installation stays, unless it is broken. */
async function moveIntoPlace(
  from: string,
  target: string,
  platform: string,
  old: string,
): Promise<void> {
  const isThere = (): boolean => runtimeProblem(runtimeInPackage(target, platform)) === undefined;
  for (let round = 1; ; round += 1) {
    try {
      await fs.rename(from, target);
      return;
    } catch (error) {
      if (isThere()) return;
      if (round === 3) throw error;
      // A folder that holds something can't be renamed over.
      await fs.rename(target, `${old}-${round}`).catch(ignoreMissing);
    }
  }
}

function ignoreMissing(error: unknown): void {
  if (errorCode(error) !== "ENOENT") throw error;
}

const asidePrefix = ".unpacking-";
const leftoverMilliseconds = 3_600_000;

/** What a killed install has left, an hour ago or more. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await fs.readdir(parent).catch(() => [])) {
    if (!name.startsWith(asidePrefix)) continue;
    const path = join(parent, name);
    const stat = await fs.stat(path).catch(() => undefined);
    if (stat !== undefined && systemClock.now() - stat.mtimeMs > leftoverMilliseconds)
      await fs.rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** On Windows the system's own: the one of git takes the colon of a drive for a host's. */
function tarOf(environment: Environment): string | undefined {
  const root = process.platform === "win32" ? environment["SystemRoot"] : undefined;
  return root === undefined ? findProgram("tar", environment) : join(root, "System32", "tar.exe");
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function seconds(since: number): string {
  return `${((systemClock.now() - since) / 1000).toFixed(1)} s`;
}

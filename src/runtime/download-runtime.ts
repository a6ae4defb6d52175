/**
 * Downloads the package of the runtime with npm, from whatever registry npm is configured for, into a
 * folder of its own, and checks it. Nothing of a package is run or unpacked here, and a file that is not
 * what the action's commit says does not stay on the disk.
 */
import { createHash } from "node:crypto";
import { createReadStream, promises as fs } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { runToEnd } from "../platform/programs.ts";
import type { Environment } from "../platform/environment.ts";
import { findNpm, npmEnvironment } from "./npm.ts";

export type Download =
  | { readonly kind: "downloaded"; readonly file: string }
  /** Worth another attempt. */
  | { readonly kind: "failed"; readonly reason: string }
  /** Another attempt wouldn't help. */
  | { readonly kind: "hopeless"; readonly reason: string };

export interface DownloadRequest {
  /** `name@version` */
  readonly package: string;
  /** `sha512-` and base64 */
  readonly integrity: string;
  /** Empty, and of this download only. */
  readonly directory: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

const hopelessCodes = new Set([
  ..."E401 E403 E404 ENEEDAUTH ETARGET EUSAGE EINVALIDPACKAGENAME".split(" "),
  ..."EACCES EROFS ENOSPC".split(" "),
]);

export async function downloadPackage(request: DownloadRequest): Promise<Download> {
  const { directory, environment, signal } = request;
  const npm = findNpm(environment);
  if (npm === undefined) {
    return {
      kind: "hopeless",
      reason: "there is no npm in PATH or next to node; put actions/setup-node before this step",
    };
  }
  // Prevents npm from searching parent folders for a project, so an .npmrc of the checkout has no effect.
  await fs.writeFile(join(directory, "package.json"), "{}\n");
  const args = [
    ...npm.args,
    "pack",
    request.package,
    `--pack-destination=${directory}`,
    "--ignore-scripts",
    // One loop of retries is enough: ours.
    "--fetch-retries=0",
    "--no-update-notifier",
    "--loglevel=error",
  ];
  const env = npmEnvironment(environment);
  const outcome = await runToEnd(npm.command, args, { cwd: directory, env, signal });
  switch (outcome.kind) {
    case "aborted":
      return { kind: "failed", reason: "npm timed out" };
    case "killed":
      return { kind: "failed", reason: `npm was ended by ${outcome.signal ?? "a signal"}` };
    case "not-started":
      return { kind: "hopeless", reason: `npm can't be started: ${outcome.reason}` };
    case "exited":
      return outcome.code === 0
        ? verified(directory, request.integrity)
        : failure(outcome.code, outcome.stderr);
  }
}

function failure(exitCode: number, stderr: string): Download {
  const code = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr)?.[1];
  const reason = `npm ended with exit code ${exitCode}: ${quoted(stderr)}`;
  return code !== undefined && hopelessCodes.has(code)
    ? { kind: "hopeless", reason }
    : { kind: "failed", reason };
}

/** The beginning of npm's error on one line, without credentials in URLs and without workflow commands. */
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
    .slice(0, 400);
}

async function verified(directory: string, integrity: string): Promise<Download> {
  const name = (await fs.readdir(directory)).find((name) => name.endsWith(".tgz"));
  if (name === undefined) return { kind: "failed", reason: "npm succeeded but wrote no package" };
  const file = join(directory, name);
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  const actual = `sha512-${hash.digest("base64")}`;
  if (actual === integrity) return { kind: "downloaded", file };
  const { size } = await fs.stat(file);
  const whole = await isWholeArchive(file);
  await fs.rm(file, { force: true });
  if (!whole) {
    return { kind: "failed", reason: `the download is truncated or damaged (${size} bytes)` };
  }
  return {
    kind: "hopeless",
    reason:
      `the package has the wrong SHA-512: expected ${integrity}, got ${actual}. ` +
      "The file was deleted, and nothing in it was executed. The configured npm registry doesn't serve " +
      "the package that this version of the action was built with",
  };
}

async function isWholeArchive(file: string): Promise<boolean> {
  try {
    await pipeline(createReadStream(file), createGunzip(), async (chunks) => {
      for await (const chunk of chunks) void chunk;
    });
    return true;
  } catch {
    return false;
  }
}

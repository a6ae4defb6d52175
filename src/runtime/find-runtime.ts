/** Finds the native Copilot runtime: an executable that comes in a package of its own for each platform. */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  statSync,
  type Stats,
} from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Environment } from "../platform/environment.ts";

export interface RuntimeOptions {
  /** What the user named; wins over everything else. */
  readonly runtimePath?: string | undefined;
  readonly environment: Environment;
}

/** The runtime can't be had. The message is for people and says what to do. */
export class RuntimeNotFoundError extends Error {
  override readonly name = "RuntimeNotFoundError";
}

const waysToFixIt =
  "Install the dependencies with `npm ci` (the package @github/copilot-sdk brings the runtime of your platform), " +
  "or give its path with `--runtime-path` or in the environment variable COPILOT_CLI_PATH.";

/**
 * The absolute path of the runtime. Looked for in this order: the option, `COPILOT_CLI_PATH`, the platform
 * package next to our own code (also when that code is a bundle), the platform package next to where we run.
 * @throws RuntimeNotFoundError
 */
export function findRuntime(options: RuntimeOptions): string {
  const named: readonly (readonly [string | undefined, string])[] = [
    [options.runtimePath, "The runtime path"],
    [options.environment["COPILOT_CLI_PATH"], "COPILOT_CLI_PATH"],
  ];
  for (const [path, source] of named) {
    if (path !== undefined && path !== "") return checked(path, source);
  }
  const platform = platformName();
  const root = packageRoot(`@github/copilot-sdk-${platform}`);
  if (root === undefined) {
    throw new RuntimeNotFoundError(
      `The Copilot runtime for ${platform} is not installed (package @github/copilot-sdk-${platform}). ${waysToFixIt}`,
    );
  }
  const path = runtimeInPackage(root, platform);
  return checked(path, `The package @github/copilot-sdk-${platform}`);
}

/** The executable in an unpacked platform package, made executable if it has lost the bit. */
export function runtimeInPackage(root: string, platform: string): string {
  const name = platform.startsWith("win32") ? "copilot-runtime.exe" : "copilot-runtime";
  const path = join(root, "prebuilds", platform, name);
  makeExecutable(path);
  return path;
}

function checked(path: string, source: string): string {
  const absolute = isAbsolute(path) ? path : resolve(path);
  const wrong = runtimeProblem(absolute);
  if (wrong !== undefined) {
    throw new RuntimeNotFoundError(`${source} leads to ${absolute}, ${wrong}. ${waysToFixIt}`);
  }
  return absolute;
}

/** Why an absolute path can't be the runtime; undefined if it can. */
export function runtimeProblem(path: string): string | undefined {
  const stat = statOf(path);
  if (stat === undefined) return "but there is no such file";
  if (stat.isDirectory()) return "but that is a directory, not the runtime's executable";
  if (stat.size === 0) return "but that file is empty";
  if (!isExecutable(path)) return "but that file is not executable";
  return isForeign(path)
    ? `but that is a program for another platform, not for ${platformName()}`
    : undefined;
}

const elfMachines: Readonly<Record<string, number>> = { x64: 0x3e, arm64: 0xb7 };

/** Whether the first bytes of a program say that it can't run here. Without them it starts, fails and is tried again. */
function isForeign(path: string): boolean {
  const head = firstBytes(path, 20);
  const magic = head.toString("latin1", 0, 4);
  if (magic === "\x7fELF") {
    const machine = elfMachines[process.arch];
    const ours = machine === undefined || head.readUInt16LE(18) === machine;
    return process.platform !== "linux" || !ours;
  }
  // 64-bit Mach-O, and one for several processors.
  if (magic === "\xcf\xfa\xed\xfe" || magic === "\xca\xfe\xba\xbe") {
    return process.platform !== "darwin";
  }
  return magic.startsWith("MZ") && process.platform !== "win32";
}

/** Zeros where the file is shorter, or can't be read. */
function firstBytes(path: string, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  try {
    const fd = openSync(path, "r");
    try {
      readSync(fd, bytes);
    } finally {
      closeSync(fd);
    }
  } catch {
    // Then its start will say what is wrong.
  }
  return bytes;
}

/** A path through a file, or through a folder that we may not read, leads to no file either. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  // The SDK starts a script of this ending with node.
  if (path.endsWith(".js")) return true;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Some package managers lose the bit. */
function makeExecutable(path: string): void {
  try {
    const { mode } = statSync(path);
    if (process.platform !== "win32" && (mode & 0o111) === 0) chmodSync(path, mode | 0o111);
  } catch {
    // `checked` says what is wrong.
  }
}

/** `linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, `win32-x64`…: the runtime's own names. */
export function platformName(): string {
  const system = process.platform === "linux" && isMusl() ? "linuxmusl" : process.platform;
  return `${system}-${process.arch}`;
}

function isMusl(): boolean {
  const report: unknown = process.report.getReport();
  if (typeof report !== "object" || report === null || !("header" in report)) return false;
  const { header } = report;
  return typeof header === "object" && header !== null && !("glibcVersionRuntime" in header);
}

/**
 * Looks in every `node_modules` above this file (or the bundle that holds it) and above the SDK. Not above
 * the current directory: that may be a checkout of somebody else's, with a program of theirs in it.
 */
function packageRoot(name: string): string | undefined {
  const here = import.meta.url;
  const sdk = resolvedFrom(here);
  const starts = sdk === undefined ? [here] : [here, sdk];
  for (const start of starts) {
    for (const base of createRequire(start).resolve.paths(name) ?? []) {
      const candidate = join(base, ...name.split("/"));
      if (existsSync(join(candidate, "package.json"))) return candidate;
    }
  }
  return undefined;
}

/** Where the SDK itself is (with pnpm the platform package is next to it, not next to us). */
function resolvedFrom(start: string): string | undefined {
  try {
    return pathToFileURL(createRequire(start).resolve("@github/copilot-sdk")).href;
  } catch {
    return undefined;
  }
}

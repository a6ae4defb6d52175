/** The native Copilot runtime, in a package of its own for each platform. Installed by `provide-runtime.ts`. */
import * as fs from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "../text/guards.ts";
import { runtimeVersion } from "../generated/runtime-hashes.ts";
import { isWithin } from "../platform/search-path.ts";
import { type Environment, childEnvironment } from "../platform/environment.ts";
import { errorCode } from "../platform/system-error.ts";

export interface RuntimeSearch {
  readonly runtimePath?: string | undefined;
  /** How the user writes the name of that option. Default: as the library does. */
  readonly pathOption?: string | undefined;
  readonly environment: Environment;
  /** Where a runtime of our version may have been installed: the tool cache of a runner. */
  readonly installed?: readonly string[] | undefined;
  /** A folder whose programs may be a stranger's: no package is taken from it. */
  readonly distrusted?: string | undefined;
  /** Take no package of another version than ours. Default: one of ours is preferred. */
  readonly exactVersion?: boolean | undefined;
  readonly platform?: string | undefined;
  /** Packages are looked for in the `node_modules` of this folder and of those above. Default: ours. */
  readonly searchFrom?: string | undefined;
}

interface FoundRuntime {
  readonly path: string;
  readonly source: "option" | "COPILOT_CLI_PATH" | "package" | "installed";
}

export class RuntimeNotFoundError extends Error {
  override readonly name = "RuntimeNotFoundError";
}

export function findRuntime(search: RuntimeSearch): string {
  const found = lookForRuntime(search);
  if (found !== undefined) return found.path;
  const platform = search.platform ?? platformName();
  throw new RuntimeNotFoundError(
    `The Copilot runtime for ${platform} is not installed (package ${packageOf(platform)}@${runtimeVersion}). ${waysToHaveOne(search)}`,
  );
}

/**
 * In this order: the option, `COPILOT_CLI_PATH`, the platform package next to our code, an installed one. Never above the
 * current directory: that may be a stranger's checkout.
 * @throws RuntimeNotFoundError if a path that was named is wrong: no other is taken in its place
 */
export function lookForRuntime(search: RuntimeSearch): FoundRuntime | undefined {
  const { pathOption = libraryOption, distrusted, installed = [] } = search;
  const platform = search.platform ?? platformName();
  const named = [
    ["option", search.runtimePath, pathOption],
    ["COPILOT_CLI_PATH", search.environment["COPILOT_CLI_PATH"], "COPILOT_CLI_PATH"],
  ] as const;
  for (const [source, path, name] of named) {
    if (path === undefined || path === "") continue;
    const absolute = isAbsolute(path) ? path : resolve(path);
    return { path: checked(absolute, name, search), source };
  }
  const packages = packagesFor(platform, search.searchFrom).filter(
    ({ root }) => distrusted === undefined || !isWithin(distrusted, root),
  );
  const ours = packages.filter(({ version }) => version === runtimeVersion);
  const others = search.exactVersion === true ? [] : packages;
  const roots = [
    ...[...ours, ...others].map(({ root }) => ({ root, source: "package" as const })),
    ...installed.map((root) => ({ root, source: "installed" as const })),
  ];
  for (const { root, source } of roots) {
    const path = runtimeInPackage(root, platform);
    if (runtimeProblem(path) === undefined) return { path, source };
  }
  return undefined;
}

const libraryOption = "`runtimePath`";

export function packageOf(platform: string): string {
  return `@github/copilot-sdk-${platform}`;
}

function waysToHaveOne({ pathOption = libraryOption }: RuntimeSearch): string {
  return (
    "Install the dependencies with `npm ci` (@github/copilot-sdk depends on the runtime of your platform), " +
    `or give its path with ${pathOption} or in the environment variable COPILOT_CLI_PATH.`
  );
}

/** The executable in an unpacked platform package, made executable if a package manager has lost the bit. */
export function runtimeInPackage(root: string, platform: string): string {
  const name = platform.startsWith("win32") ? "copilot-runtime.exe" : "copilot-runtime";
  const path = join(root, "prebuilds", platform, name);
  try {
    const { mode } = fs.statSync(path);
    if (process.platform !== "win32" && (mode & 0o111) === 0) fs.chmodSync(path, mode | 0o111);
  } catch {
    // `runtimeProblem` says what is wrong.
  }
  return path;
}

function checked(path: string, name: string, search: RuntimeSearch): string {
  const problem = runtimeProblem(path);
  if (problem === undefined) return path;
  const ways =
    search.exactVersion === true
      ? "Correct it, or remove it to let the action install the runtime."
      : waysToHaveOne(search);
  throw new RuntimeNotFoundError(`${name} leads to ${path}, ${problem}. ${ways}`);
}

export function runtimeProblem(path: string): string | undefined {
  try {
    const stat = fs.statSync(path);
    if (!stat.isFile() || stat.size === 0) return "but that is not the runtime's executable";
    // The SDK starts a script of this ending with node.
    if (!path.endsWith(".js")) fs.accessSync(path, fs.constants.X_OK);
    return undefined;
  } catch (error) {
    return errorCode(error) === "EACCES"
      ? "but that file is not executable"
      : "but the file doesn't exist";
  }
}

/** `linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, `win32-x64`…: the runtime's own names. */
export function platformName(): string {
  const system = process.platform === "linux" && isMusl() ? "linuxmusl" : process.platform;
  return `${system}-${process.arch}`;
}

/** The head of Node's own program names its loader. Node's report would tell it as well, in ten milliseconds. */
function isMusl(): boolean {
  const head = Buffer.alloc(4096);
  const file = fs.openSync(process.execPath, "r");
  try {
    fs.readSync(file, head, 0, head.length, 0);
  } finally {
    fs.closeSync(file);
  }
  return head.includes("ld-musl-");
}

/** In every `node_modules` above us (or the bundle that holds this file), then above the SDK, nearest first. */
function packagesFor(
  platform: string,
  from: string | undefined,
): { readonly root: string; readonly version: unknown }[] {
  const start = from ?? dirname(fileURLToPath(import.meta.url));
  // With pnpm the platform package is next to the SDK, not next to us.
  const sdk = sdkFrom(start);
  return [start, ...(sdk === undefined ? [] : [sdk])].flatMap((folder) =>
    foldersAbove(folder).flatMap((above) => {
      const root = join(above, "node_modules", ...packageOf(platform).split("/"));
      const version = versionOf(root);
      return version === undefined ? [] : [{ root, version }];
    }),
  );
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
}

function sdkFrom(folder: string): string | undefined {
  try {
    return dirname(createRequire(join(folder, "x.js")).resolve("@github/copilot-sdk"));
  } catch {
    return undefined;
  }
}

function versionOf(root: string): unknown {
  try {
    const content: unknown = JSON.parse(fs.readFileSync(join(root, "package.json"), "utf8"));
    return isRecord(content) ? (content["version"] ?? "") : "";
  } catch {
    return undefined;
  }
}

/** Returns the package of the runtime, or its folder, unless that holds the user's home. */
export function filesOfRuntime(path: string): string {
  const root = join(path, "../../..");
  if (fs.existsSync(join(root, "package.json"))) return root;
  return isWithin(dirname(path), homedir()) ? path : dirname(path);
}

/* For the runtime and every shell it starts: what is not in it can't leak through a command (docs/internals/runtime-notes.md#environment). */

export function runtimeEnvironment(source: Environment): Record<string, string> {
  // Otherwise the runtime runs the login shell of the user, and what `~/.profile` and its like export is in the
  // environment of every command: for many people that is where their keys are.
  return { ...childEnvironment(source), COPILOT_DISABLE_LOGIN_SHELL_ENV: "1" };
}

export interface Authentication {
  readonly environment: Readonly<Record<string, string>>;
  readonly gitHubToken?: string;
  readonly useLoggedInUser: boolean;
}

/**
 * An installation token (`ghs_…`) is honored only in the environment, with `useLoggedInUser`. Any other goes to each
 * session, not into the environment of shells (docs/internals/runtime-notes.md#tokens). With a provider, none goes anywhere.
 */
export function authentication(options: {
  readonly gitHubToken?: string | undefined;
  readonly hasProvider: boolean;
}): Authentication {
  const { gitHubToken } = options;
  if (options.hasProvider || gitHubToken === undefined || gitHubToken === "") {
    return { environment: {}, useLoggedInUser: false };
  }
  if (gitHubToken.startsWith("ghs_")) {
    return { environment: { COPILOT_GITHUB_TOKEN: gitHubToken }, useLoggedInUser: true };
  }
  return { environment: {}, gitHubToken, useLoggedInUser: false };
}

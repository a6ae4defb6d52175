import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { gitFolder, withoutCredentials } from "../platform/git-folder.ts";
import type { HostLists } from "./host-proxy.ts";

/** The grants of a program, as absolute paths that exist. A later list wins over an earlier one. */
export interface SandboxProfile {
  /** `all`: the whole file system as this user sees it, but for the lists. */
  readonly files: "granted" | "all";
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /**
   * Folders in which the file tools of the runtime may create files, because a pattern of `permissions.write` matches
   * some names in them. Each of their calls is judged; programs only read these folders.
   */
  readonly creatable: readonly string[];
  readonly fixed: readonly string[];
  /** Empty, whether file or folder. */
  readonly hidden: readonly string[];
  /** Folders `.git`. Readable without the credentials in their settings; settings and hooks are never writable. */
  readonly repositories: readonly { readonly path: string; readonly isWritable: boolean }[];
  readonly network: SandboxNetwork;
}

export type SandboxNetwork = "none" | "all" | HostLists;

export interface SandboxChoice {
  readonly bubblewrap: string;
  readonly profile: SandboxProfile;
}

export interface SandboxOptions extends SandboxChoice {
  readonly environment: Environment;
  /** A folder of the run for scripts and lists, which is made. */
  readonly folder: string;
  /** Needs of the program itself, in addition to the grants of the profile. */
  readonly readable?: readonly string[];
  readonly writable?: readonly string[];
  /** Starts inside another sandbox of this profile, which already hides these files. */
  readonly isInside?: boolean;
  readonly temporary?: string | undefined;
  readonly withheld?: readonly string[];
}

/** Programs, libraries, certificates and host names. The sockets beside them are left out: their servers have a network. */
const system = [
  ..."/bin /sbin /usr /opt /snap /etc /nix/store /nix/var/nix/profiles".split(" "),
  ...["resolv.conf", "stub-resolv.conf"].map((name) => `/run/systemd/resolve/${name}`),
];

export function mounts(
  options: SandboxOptions,
  creatable: readonly string[],
  proc: readonly string[],
): string[] {
  const { profile, readable = [], writable = [] } = options;
  if (profile.files === "all") {
    const whole = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev"];
    return [...whole, ...proc, ...mask(options, profile)];
  }
  const roots = fs.readdirSync("/").filter((name) => /^lib(?:32|64|x32)?$/.test(name));
  return [
    ...bind("--ro-bind-try", [...system, ...roots.map((name) => `/${name}`)].filter(fs.existsSync)),
    "--dev",
    "/dev",
    ...proc,
    ...(options.temporary === undefined
      ? ["--tmpfs", "/tmp"]
      : ["--bind", options.temporary, "/tmp"]),
    // Programs expect these folders. They are empty, and end with the sandbox.
    ...[childEnvironment(options.environment)["HOME"] || homedir(), "/var/tmp"].flatMap((path) => [
      "--dir",
      path,
    ]),
    "--symlink",
    "/run",
    "/var/run",
    ...mask(options, {
      fixed: [],
      hidden: options.isInside === true ? [] : settingsOfRoot(),
      repositories: [],
    }),
    ...bind("--ro-bind-try", toolchains(options.environment)),
    ...bind("--ro-bind-try", [...profile.readable, ...readable]),
    ...bind("--bind-try", [...[...creatable, ...profile.writable].filter(isReal), ...writable]),
    ...mask(options, profile),
  ];
}

/** A folder before what is in it, so that it covers nothing. */
export function bind(how: string, paths: readonly string[]): string[] {
  return [...new Set(paths)].toSorted().flatMap((path) => [how, path, path]);
}

function mask(
  { folder, profile }: SandboxOptions,
  lists: Pick<SandboxProfile, "fixed" | "hidden" | "repositories">,
): string[] {
  const repositories = lists.repositories.filter(({ path }) => isReal(path));
  const empty = join(folder, "empty");
  if (!fs.existsSync(empty)) fs.writeFileSync(empty, "", { mode: 0o444 });
  const inside = repositories.map(({ path }) => gitFolder(path));
  const fixed = [...lists.fixed, ...inside.flatMap((one) => one.fixed)].filter(isReal);
  const hidden = [...lists.hidden, ...inside.flatMap((one) => one.hidden)].filter(isReal);
  const settings = inside.flatMap((one) => one.settings).filter(isReal);
  const writable = repositories.filter((one) => one.isWritable).map(({ path }) => path);
  const masked = [...fixed, ...hidden, ...settings, ...writable];
  return [
    ...bind(
      "--ro-bind-try",
      repositories.filter((one) => !one.isWritable).map(({ path }) => path),
    ),
    // A folder that is mounted can't be moved out of the way, and what is masked in it with it.
    ...bind("--bind-try", [
      ...masked.flatMap((path) => foldersAbove(path, profile.writable)),
      ...writable,
    ]),
    ...bind("--ro-bind-try", fixed),
    ...settings.flatMap((path) => ["--ro-bind-try", shown(path, folder), path]),
    // A trailing dot is only there for a folder.
    ...hidden.flatMap((path) =>
      fs.existsSync(`${path}/.`)
        ? ["--tmpfs", path, "--remount-ro", path]
        : ["--ro-bind-try", empty, path],
    ),
  ];
}

/** Bubblewrap follows links, and an agent may have made one after the profile was made. */
function isReal(path: string): boolean {
  try {
    return fs.realpathSync.native(path) === path;
  } catch {
    return false;
  }
}

function foldersAbove(path: string, writable: readonly string[]): string[] {
  const above: string[] = [];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) {
    if (writable.includes(at) || !writable.some((one) => at.startsWith(`${one}/`))) break;
    above.push(at);
  }
  return above;
}

function shown(path: string, folder: string): string {
  const text = fs.readFileSync(path, "utf8");
  const clean = withoutCredentials(text);
  if (clean === text) return path;
  const copy = join(folder, createHash("sha256").update(path).digest("hex"));
  fs.writeFileSync(copy, clean, { mode: 0o444, flag: "w" });
  return copy;
}

let ofRoot: readonly string[] | undefined;

/** Lists what only root can read in `/etc`, because in a container, the user of the job is root. */
function settingsOfRoot(): readonly string[] {
  const look = (folder: string): string[] =>
    fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (entry.isSymbolicLink()) return [];
      const path = join(folder, entry.name);
      const mode = fs.statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
      if ((mode & 0o004) === 0) return [path];
      return entry.isDirectory() ? look(path) : [];
    });
  return (ofRoot ??= process.getuid?.() === 0 ? look("/etc") : []);
}

/** Variables that say where a toolchain is, and where toolchains are in a home directory. */
const toolchainVariables = ["GOROOT", "JAVA_HOME", "RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY"];
const homeToolchains = [
  ".local/share/pipx",
  ".local/share/uv",
  ".pyenv",
  ".rustup",
  ".nvm",
  ".volta",
  ".asdf",
  ".rbenv",
  ".sdkman",
];

/** The folders of `PATH`, and what belongs to them: `~/.nvm/versions/node/v24/lib` beside its `bin`. */
function toolchains(environment: Environment): string[] {
  const { PATH = "", HOME = homedir() } = childEnvironment(environment);
  const folders = [...PATH.split(delimiter), dirname(process.execPath)];
  // Homebrew's programs are links.
  const beside = folders
    .filter((path) => /\/bin\/?$/.test(path))
    .flatMap((path) => ["../lib", "../Cellar", "../opt"].map((name) => join(path, name)));
  const named = toolchainVariables.map((name) => environment[name] ?? "");
  const known = homeToolchains.map((name) => join(HOME, name));
  return [...folders, ...beside, ...named, ...known]
    .filter((path) => path.startsWith("/"))
    .map((path) => resolve(path))
    .filter((path) => !`${HOME}/`.startsWith(`${path}/`.replace("//", "/")) && fs.existsSync(path));
}

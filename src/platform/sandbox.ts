/**
 * Programs in a sandbox: bubblewrap, told what a profile grants. Linux only; elsewhere there is none.
 *
 * Owns the scripts and lists that it writes into a folder of the run. Invariants: what is not granted is not there, not
 * even by name; a program sees no process but its own, can't signal or trace another, and ends with whoever started
 * it; where bubblewrap can't set that up, nothing is started.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { startHostProxy, type HostLists } from "./host-proxy.ts";
import { gitFolder, withoutCredentials } from "./git-folder.ts";
import { childEnvironment, type Environment } from "./environment.ts";

/** What a program may do, in absolute paths of what exists. A later list wins over an earlier one. */
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
  /** Never writable. */
  readonly fixed: readonly string[];
  /** Empty, whether file or folder. */
  readonly hidden: readonly string[];
  /** Folders `.git`. Readable without the credentials in their settings; settings and hooks are never writable. */
  readonly repositories: readonly { readonly path: string; readonly isWritable: boolean }[];
  readonly network: SandboxNetwork;
}

export type SandboxNetwork = "none" | "all" | HostLists;

/** A sandbox that is ready for use. */
export interface Sandbox {
  /** The file that starts a program in it: its arguments are the program, absolute or in `PATH`, and its own. */
  readonly enter: string;
  /** Closes the way out. Programs that still run have to be ended before. Idempotent. */
  close(): void;
}

/** Whether a program gets a sandbox. `refused`: it needs one, and there is none; `crash` says what to do. */
export type ConfinedProgram =
  | { readonly kind: "sandboxed"; readonly sandbox: Sandbox }
  | { readonly kind: "open" }
  | { readonly kind: "refused"; readonly crash: { readonly message: string } };

/** With which program, and what it is told. */
export interface SandboxChoice {
  /** Absolute. */
  readonly bubblewrap: string;
  readonly profile: SandboxProfile;
}

export interface SandboxOptions extends SandboxChoice {
  readonly environment: Environment;
  /** A folder of the run for scripts and lists, which is made. */
  readonly folder: string;
  /** What the program itself needs, besides what the profile grants. */
  readonly readable?: readonly string[];
  readonly writable?: readonly string[];
  /** Whether it is started in a sandbox of the same profile, which hides what is to be hidden. */
  readonly isInside?: boolean;
  /** What is `/tmp` inside. Default: an empty one for each program. */
  readonly temporary?: string | undefined;
  /** Variables that programs of agents must not see. */
  readonly withheld?: readonly string[];
}

/** Makes the sandbox of programs that agents or entries start. */
export async function programSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { folder, bubblewrap } = options;
  mkdirSync(folder, { recursive: true });
  const way = await wayOut(options);
  const list = writeList(folder, "enter", programArguments(options, way));
  const command = [quoted(bubblewrap), "--args 9 --", ...way.command.map(quoted)].join(" ");
  const enter = writeScript(folder, "enter", `exec ${command} "$@" 9<${quoted(list)}`);
  return { enter, close: way.close };
}

/**
 * The sandbox of a Copilot runtime. It starts its commands in sandboxes as well: with `bin` first in its `PATH`, it
 * takes our `bwrap`, which gives each of them the sandbox of programs, whatever the runtime would grant.
 */
export async function runtimeSandbox(
  options: SandboxOptions & {
    /** What commands need of the runtime: folders of `writable` and `readable`. */
    readonly commands: Pick<SandboxOptions, "readable" | "writable">;
  },
): Promise<Sandbox & { readonly bin: string }> {
  const { folder, bubblewrap, commands } = options;
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const way = await wayOut(options);
  // A mount takes along what is hidden below it.
  const bare = { ...options.profile, fixed: [], hidden: [], repositories: [] };
  const asked = { ...options, ...commands, profile: bare, isInside: true };
  const inner = writeList(folder, "commands", programArguments(asked, way));
  writeScript(
    bin,
    "bwrap",
    `# Of the runtime's arguments, only the environment, the folder and the command count.
[ "$1" = --version ] && exec ${quoted(bubblewrap)} --version
n=$#; inside=
# What bubblewrap was started with stays readable inside, in /proc/1/environ.
unset ${["_", ...(options.withheld ?? [])].join(" ")}
set -- "$@" --args 9
while [ "$n" -gt 0 ]; do
  word=$1; shift; n=$((n - 1))
  if [ -n "$inside" ]; then set -- "$@" "$word"; continue; fi
  case $word in
    --clearenv) set -- "$@" "$word" ;;
    --chdir) set -- "$@" "$word" "$1"; shift; n=$((n - 1)) ;;
    --setenv) set -- "$@" "$word" "$1" "$2"; shift 2; n=$((n - 2)) ;;
    --) inside=1; set -- "$@" ${["--setenv", "PATH", pathOf(options), ...variables(options), "--", ...way.command].map(quoted).join(" ")} ;;
  esac
done
exec ${quoted(bubblewrap)} "$@" 9<${quoted(inner)}`,
  );
  const { profile } = options;
  // The file tools of the runtime could be led there by a link.
  const own = { ...options, profile: { ...profile, fixed: [...profile.fixed, folder] } };
  const hidden = join(folder, "hidden");
  mkdirSync(hidden, { recursive: true });
  const list = writeList(folder, "enter", [
    ...outerNamespaces,
    ...mounts(own, profile.creatable, outerProc),
    ...hiddenProc(hidden),
  ]);
  const command = `${quoted(bubblewrap)} --args 9 -- "$@" 9<${quoted(list)}`;
  return { enter: writeScript(folder, "enter", `exec ${command}`), bin, close: way.close };
}

/** A sandbox inside a sandbox, with everything that ours need and no files hidden. */
export function trialArguments(bubblewrap: string): string[] {
  const all = ["--bind", "/", "/", "--dev", "/dev"];
  const inner = [...programNamespaces, "--unshare-net", ...all, ...ownProc];
  const outer = [...outerNamespaces, ...all, ...outerProc, ...hiddenProc("/dev/shm")];
  return [...outer, "--", bubblewrap, ...inner, "--", "/bin/sh", "-c", ":"];
}

function programArguments(options: SandboxOptions, way: Pick<WayOut, "mounts">): string[] {
  return [
    ...programNamespaces,
    ...(options.profile.network === "all" ? [] : ["--unshare-net"]),
    ...mounts(options, [], ownProc),
    ...way.mounts,
    ...variables(options),
  ];
}

/** Mounts hide from git that a folder above is in the same repository. */
function variables({ withheld = [] }: SandboxOptions): string[] {
  return [
    "--setenv",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "1",
    ...withheld.flatMap((name) => ["--unsetenv", name]),
  ];
}

function pathOf({ environment }: SandboxOptions): string {
  return childEnvironment(environment)["PATH"] ?? "";
}

interface WayOut {
  readonly mounts: readonly string[];
  /** What a program is started with. */
  readonly command: readonly string[];
  readonly close: () => void;
}

/** How programs of the sandbox reach the hosts of the profile. */
async function wayOut({ profile, folder }: SandboxOptions): Promise<WayOut> {
  const { network } = profile;
  if (typeof network === "string") return { mounts: [], command: [], close: () => {} };
  const socket = join(folder, "hosts");
  const proxy = await startHostProxy(socket, network);
  const text = forwardingScript(process.execPath, socket, network);
  const script = writeScript(folder, "forward", text);
  return {
    mounts: bind("--ro-bind-try", [socket, script]),
    command: [script],
    close: () => proxy.close(),
  };
}

/** The port of the other end, which is in a network of its own. */
const port = 3128;

/** A script that starts the other end inside, tells programs of it in their environment, and becomes its arguments. */
function forwardingScript(node: string, socket: string, hosts: HostLists): string {
  const code = `
    const { connect, createServer } = require("node:net");
    createServer({ allowHalfOpen: true }, (inside) => {
      const outside = connect(${JSON.stringify(socket)});
      for (const one of [inside, outside]) one.on("error", () => { inside.destroy(); outside.destroy(); });
      inside.pipe(outside).pipe(inside);
    }).listen(${port}, "127.0.0.1", () => process.stdout.write("ready\\n"));`;
  const direct = hosts.allowed.includes("localhost") ? "" : "localhost,127.0.0.1,::1";
  const address = `http://127.0.0.1:${port}`;
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  return `#!/bin/sh
exec 8>&1
ready=$({ ${quoted(node)} -e ${quoted(code)} </dev/null 2>/dev/null 8>&- & } | head -n 1)
[ "$ready" = ready ] || { echo "agent-jobs: the way to permissions.hosts can't be opened." >&2; exit 125; }
exec 8>&-
export ${names.map((name) => `${name}=${address}`).join(" ")} NODE_USE_ENV_PROXY=1 no_proxy=${direct} NO_PROXY=${direct}
exec "$@"
`;
}

/** Root keeps its capabilities in the namespaces unless they are dropped: it could unmount what hides files. */
const namespaces =
  "--die-with-parent --unshare-user --unshare-ipc --unshare-uts --cap-drop ALL".split(" ");
/**
 * Around other sandboxes. Without this capability, root can't make a user namespace in it; and who has the terminal of
 * this process can type into it.
 */
const outerNamespaces = [
  ...namespaces,
  "--new-session",
  ...(process.getuid?.() === 0 ? ["--cap-add", "CAP_SETFCAP"] : []),
];
/** Settings of the machine's kernel are files of root. */
const ownProc = ["--unshare-pid", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"];
/** Of programs: who makes a user namespace may mount control groups, and end all processes of a group of this user. */
const programNamespaces = [...namespaces, "--disable-userns"];
/** Bubblewrap limits its own user namespace there. */
const outerProc = [...ownProc, "--bind", "/proc/sys/user", "/proc/sys/user"];

/** The kernel lets a sandbox have a `/proc` only where a whole one is mounted: `folder` hides it. */
function hiddenProc(folder: string): string[] {
  const proc = join(folder, "proc");
  const hide = ["--tmpfs", folder];
  return [...hide, "--dir", proc, "--dev-bind", "/proc", proc, ...hide, "--remount-ro", folder];
}

/** Programs and libraries, certificates and names of hosts. Not the sockets beside them: whoever listens there has a network. */
const system = [
  ..."/bin /sbin /usr /opt /snap /etc /nix/store /nix/var/nix/profiles".split(" "),
  ...["resolv.conf", "stub-resolv.conf"].map((name) => `/run/systemd/resolve/${name}`),
];

function mounts(
  options: SandboxOptions,
  creatable: readonly string[],
  proc: readonly string[],
): string[] {
  const { profile, readable = [], writable = [] } = options;
  if (profile.files === "all") {
    const whole = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev"];
    return [...whole, ...proc, ...mask(options, profile)];
  }
  const { HOME = homedir() } = childEnvironment(options.environment);
  // By programs. They end with the sandbox.
  const expected = ["--dir", HOME, "--dir", "/var/tmp"];
  const roots = readdirSync("/").filter((name) => /^lib(?:32|64|x32)?$/.test(name));
  return [
    ...bind("--ro-bind-try", [...system, ...roots.map((name) => `/${name}`)].filter(existsSync)),
    "--dev",
    "/dev",
    ...proc,
    ...(options.temporary === undefined
      ? ["--tmpfs", "/tmp"]
      : ["--bind", options.temporary, "/tmp"]),
    ...expected,
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
    ...bind("--bind-try", [...creatable, ...profile.writable, ...writable]),
    ...mask(options, profile),
  ];
}

/** A folder before what is in it, so that it covers nothing. */
function bind(how: string, paths: readonly string[]): string[] {
  return [...new Set(paths)].toSorted().flatMap((path) => [how, path, path]);
}

function mask(
  { folder, profile }: SandboxOptions,
  lists: Pick<SandboxProfile, "fixed" | "hidden" | "repositories">,
): string[] {
  const repositories = lists.repositories.filter(({ path }) => isReal(path));
  const empty = join(folder, "empty");
  if (!existsSync(empty)) writeFileSync(empty, "", { mode: 0o444 });
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
      existsSync(`${path}/.`)
        ? ["--tmpfs", path, "--remount-ro", path]
        : ["--ro-bind-try", empty, path],
    ),
  ];
}

/** Bubblewrap follows links. An agent may have made one since the profile was. */
function isReal(path: string): boolean {
  try {
    return realpathSync.native(path) === path;
  } catch {
    return false;
  }
}

/** Those in which programs may write, without the granted ones themselves. */
function foldersAbove(path: string, writable: readonly string[]): string[] {
  const above: string[] = [];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) {
    if (writable.includes(at) || !writable.some((one) => at.startsWith(`${one}/`))) break;
    above.push(at);
  }
  return above;
}

/** The file that is mounted over git's settings: itself, or a copy without credentials. */
function shown(path: string, folder: string): string {
  const text = readFileSync(path, "utf8");
  const clean = withoutCredentials(text);
  if (clean === text) return path;
  const copy = join(folder, createHash("sha256").update(path).digest("hex"));
  writeFileSync(copy, clean, { mode: 0o444, flag: "w" });
  return copy;
}

let ofRoot: readonly string[] | undefined;

/** What only root can read in `/etc`: in a container, the user of the job is root. */
function settingsOfRoot(): readonly string[] {
  const look = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (entry.isSymbolicLink()) return [];
      const path = join(folder, entry.name);
      const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
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
    .filter((path) => !`${HOME}/`.startsWith(`${path}/`.replace("//", "/")) && existsSync(path));
}

/** A list of any length: arguments of a process are limited. */
function writeList(folder: string, name: string, args: readonly string[]): string {
  const path = join(folder, `${name}.args`);
  writeFileSync(path, args.map((arg) => `${arg}\0`).join(""));
  return path;
}

function writeScript(folder: string, name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, body.startsWith("#!") ? body : `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

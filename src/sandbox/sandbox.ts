/**
 * Runs programs in a sandbox (bubblewrap): what is not granted is not there, not even by name; a program sees no process
 * but its own, can't signal or trace another, and ends with whoever started it; where that can't be set up, nothing is started.
 */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Environment, childEnvironment } from "../platform/environment.ts";
import type { HostLists } from "./host-proxy.ts";
import { type SandboxOptions, bind, mounts } from "./mounts.ts";
import { startTimeLimit } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import { runToEnd } from "../platform/programs.ts";
import { findProgram, searchFolders } from "../platform/search-path.ts";

export interface Sandbox {
  /** The file that starts a program in it: its arguments are the program, absolute or in `PATH`, and its own. */
  readonly enter: string;
  /** Closes the connection to the proxy of hosts. Programs that still run have to be ended before. Idempotent. */
  close(): void;
}

export async function programSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { folder, bubblewrap } = options;
  mkdirSync(folder, { recursive: true });
  const egress = await openEgress(options);
  const list = writeList(folder, "enter", programArguments(options, egress));
  const filter = withFilter(folder);
  // Bubblewrap would replace a folder that the sandbox lacks by the home directory.
  const start = `${quoted(bubblewrap)} --args 9 --dir "$PWD" --chdir "$PWD" ${filter.option} --`;
  const command = [start, ...egress.command.map(quoted)].join(" ");
  const body = `cd -P . && exec ${command} "$@" 9<${quoted(list)} ${filter.file}`;
  return { enter: writeScript(folder, "enter", body), close: egress.close };
}

/** With `bin` first in `PATH`, the runtime takes our `bwrap`, which gives its commands the sandbox of programs. */
export async function runtimeSandbox(
  options: SandboxOptions & {
    /** Folders of `writable` and `readable` that commands need, too. */
    readonly commands: Pick<SandboxOptions, "readable" | "writable">;
  },
): Promise<Sandbox & { readonly bin: string }> {
  const { folder, bubblewrap, commands } = options;
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const egress = await openEgress(options);
  // The mounts of the outer sandbox that hide files are part of what is mounted inside.
  const bare = { ...options.profile, fixed: [], hidden: [], repositories: [] };
  const asked = { ...options, ...commands, profile: bare, isInside: true };
  const inner = writeList(folder, "commands", programArguments(asked, egress));
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
    --) inside=1; set -- "$@" ${["--setenv", "PATH", pathOf(options), ...variables(options), "--", ...egress.command].map(quoted).join(" ")} ;;
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
  // Commands inside inherit the filter.
  const filter = withFilter(folder);
  const command = `${quoted(bubblewrap)} --args 9 ${filter.option} -- "$@" 9<${quoted(list)} ${filter.file}`;
  return { enter: writeScript(folder, "enter", `exec ${command}`), bin, close: egress.close };
}

/** A sandbox inside a sandbox, with everything that ours need and no files hidden. */
function trialArguments(bubblewrap: string): string[] {
  const all = ["--bind", "/", "/", "--dev", "/dev"];
  const inner = [...programNamespaces, "--unshare-net", ...all, ...ownProc];
  const outer = [...outerNamespaces, ...all, ...outerProc, ...hiddenProc("/dev/shm")];
  return [...outer, "--", bubblewrap, ...inner, "--", "/bin/sh", "-c", ":"];
}

function programArguments(options: SandboxOptions, egress: Pick<Egress, "mounts">): string[] {
  return [
    ...programNamespaces,
    ...(options.profile.network === "all" ? [] : ["--unshare-net"]),
    ...mounts(options, [], ownProc),
    ...egress.mounts,
    ...variables(options),
  ];
}

/** Git stops at mounts when it looks for the repository above a folder. */
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

interface Egress {
  readonly mounts: readonly string[];
  readonly command: readonly string[];
  readonly close: () => void;
}

async function openEgress({ profile, folder }: SandboxOptions): Promise<Egress> {
  const { network } = profile;
  if (typeof network === "string") return { mounts: [], command: [], close: () => {} };
  const socket = join(folder, "hosts");
  const { startHostProxy } = await import("./host-proxy.ts");
  const proxy = await startHostProxy(socket, network);
  const text = forwardingScript(process.execPath, socket, network);
  const script = writeScript(folder, "forward", text);
  return {
    mounts: bind("--ro-bind-try", [socket, script]),
    command: [script],
    close: () => proxy.close(),
  };
}

const port = 3128;

function forwardingScript(node: string, socket: string, hosts: HostLists): string {
  const code = `
    const { connect, createServer } = require("node:net");
    createServer({ allowHalfOpen: true }, (inside) => {
      const outside = connect(${JSON.stringify(socket)});
      for (const one of [inside, outside]) one.on("error", () => { inside.destroy(); outside.destroy(); });
      inside.pipe(outside).pipe(inside);
    }).listen(${port}, "127.0.0.1", () => process.stdout.write("ready\\n"));`;
  const named = (host: string): boolean => hosts.allowed.includes(host);
  const loopback = ["localhost", "127.0.0.1", "::1"];
  const direct = named("localhost") ? "" : loopback.filter((host) => !named(host)).join(",");
  const address = `http://127.0.0.1:${port}`;
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  return `#!/bin/sh
exec 8>&1
ready=$({ ${quoted(node)} -e ${quoted(code)} </dev/null 2>/dev/null 8>&- & } | head -n 1)
[ "$ready" = ready ] || { echo "agent-jobs: the proxy for permissions.hosts can't be reached from the sandbox." >&2; exit 125; }
exec 8>&-
export ${names.map((name) => `${name}=${address}`).join(" ")} NODE_USE_ENV_PROXY=1 no_proxy=${direct} NO_PROXY=${direct}
exec "$@"
`;
}

/** Root keeps its capabilities in the namespaces unless they are dropped: it could unmount what hides files. */
const namespaces =
  "--die-with-parent --unshare-user --unshare-ipc --unshare-uts --cap-drop ALL".split(" ");
/** Root needs the capability to make a user namespace. Who has our terminal could type into it. */
const outerNamespaces = [
  ...namespaces,
  "--new-session",
  ...(process.getuid?.() === 0 ? ["--cap-add", "CAP_SETFCAP"] : []),
];
/** Settings of the machine's kernel are files of root. Keyrings belong to the user outside. */
const ownProc = [
  ..."--unshare-pid --proc /proc --ro-bind /proc/sys /proc/sys".split(" "),
  ...["/proc/keys", "/proc/key-users"]
    .filter((path) => existsSync(path))
    .flatMap((path) => ["--ro-bind", "/dev/null", path]),
];
/** A program that makes a user namespace could mount control groups, and end all processes of a group of this user. */
const programNamespaces = [...namespaces, "--disable-userns"];
/** Bubblewrap limits its own user namespace there. */
const outerProc = [...ownProc, "--bind", "/proc/sys/user", "/proc/sys/user"];

/** The kernel lets a sandbox have a `/proc` only where a whole one is mounted: `folder` hides it. */
function hiddenProc(folder: string): string[] {
  const proc = join(folder, "proc");
  const hide = ["--tmpfs", folder];
  return [...hide, "--dir", proc, "--dev-bind", "/proc", proc, ...hide, "--remount-ro", folder];
}

function withFilter(folder: string): { readonly option: string; readonly file: string } {
  const filter = systemCallFilter();
  if (filter === undefined) return { option: "", file: "" };
  const path = join(folder, "system-calls");
  writeFileSync(path, filter);
  return { option: "--seccomp 8", file: `8<${quoted(path)}` };
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

export interface SandboxFound {
  readonly kind: "bubblewrap";
  readonly path: string;
}

type SandboxSupport =
  SandboxFound | { readonly kind: "none"; readonly reason: string; readonly advice: string };

function none(reason: string, advice: string): SandboxSupport {
  return { kind: "none", reason, advice };
}

/** Tries it, once for each program that it finds. Never rejects. */
export async function sandboxSupport(
  environment: Environment,
  program?: string,
): Promise<SandboxSupport> {
  if (process.platform !== "linux") {
    return none("agent-jobs has a sandbox on Linux only", "Run the job on Linux");
  }
  const path = program ?? findBubblewrap(environment);
  if (path === undefined) {
    const advice = "Install it with `sudo apt-get install bubblewrap`";
    return none("bubblewrap is not installed", advice);
  }
  let trial = trials.get(path);
  if (trial === undefined) trials.set(path, (trial = tryOut(path, environment)));
  const support = await trial;
  // The user may fix the cause before the next attempt.
  if (support.kind === "none") trials.delete(path);
  return support;
}

/** Prefers the distribution's own, because AppArmor's profiles name its file. */
export function findBubblewrap(environment: Environment): string | undefined {
  const folders = searchFolders(environment);
  const own = folders.filter((folder) => folder === "/usr/bin");
  return findProgram("bwrap", { ...environment, PATH: [...own, ...folders].join(delimiter) });
}

const trialMs = 10_000;
const trials = new Map<string, Promise<SandboxSupport>>();

async function tryOut(path: string, environment: Environment): Promise<SandboxSupport> {
  const { signal, end } = startTimeLimit(systemClock, trialMs);
  const ended = await runToEnd(path, trialArguments(path), {
    cwd: "/",
    env: childEnvironment(environment),
    signal,
  });
  end();
  if (ended.kind === "exited" && ended.code === 0) return { kind: "bubblewrap", path };
  const reason = "reason" in ended ? ended.reason : ended.kind;
  const said = ("stderr" in ended && ended.stderr.trim().split("\n")[0]) || reason;
  const advice = /unknown option/i.test(said)
    ? "Install bubblewrap 0.8 or later"
    : "Allow it to make user namespaces (on Ubuntu with `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`)";
  return none(`bubblewrap doesn't work: ${said}`, advice);
}

/**
 * Refuses system calls that no namespace isolates: keyrings, io_uring, which opens sockets by itself, and sockets that
 * need no network, such as AF_VSOCK.
 */

/** AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. */
const families = [0, 1, 2, 10, 16];
const IO_URING_SETUP = 425;
const [ENOSYS, EAFNOSUPPORT] = [38, 97];

/**
 * For programs of 64 and of 32 bits: the interface (AUDIT_ARCH), `socket`, then `add_key`, `request_key`, `keyctl`, and
 * `socketcall`, whose arguments a filter can't see. Programs of another interface can't call the kernel.
 */
const interfaces: Readonly<Record<string, readonly (readonly number[])[]>> = {
  x64: [
    [0xc000003e, 41, 248, 249, 250],
    [0x40000003, 359, 286, 287, 288, 102],
  ],
  arm64: [
    [0xc00000b7, 198, 217, 218, 219],
    [0x40000028, 281, 309, 310, 311],
  ],
};

/** Its code, with the number of instructions to skip if it doesn't hold in the highest byte, and its operand. */
type Instruction = readonly [code: number, operand: number];

const load = (offset: number): Instruction => [0x20, offset];
const refuse = (error: number): Instruction => [0x06, 0x00050000 | error];
const allow: Instruction = [0x06, 0x7fff0000];
/** The calls of x32 are those of x86-64 with a further bit. */
const withoutX32: Instruction = [0x54, 0xbfffffff];
const where = (value: number, then: readonly Instruction[]): readonly Instruction[] => [
  [0x15 | (then.length << 24), value],
  ...then,
];

/** A program for seccomp. Undefined for a processor that isn't listed. */
export function systemCallFilter(processor: string = process.arch): Uint8Array | undefined {
  const all = interfaces[processor]?.flatMap(([arch = 0, socket = 0, ...refused]) =>
    where(arch, [
      load(0),
      withoutX32,
      ...[...refused, IO_URING_SETUP].flatMap((call) => where(call, [refuse(ENOSYS)])),
      ...where(socket, [
        load(16),
        ...families.flatMap((family) => where(family, [allow])),
        refuse(EAFNOSUPPORT),
      ]),
      allow,
    ]),
  );
  if (all === undefined) return undefined;
  return new Uint8Array(Uint32Array.from([load(4), ...all, refuse(ENOSYS)].flat()).buffer);
}

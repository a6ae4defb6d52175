/** Whether a session gets a sandbox. Where one is needed and there is none, nothing is started. */
import type { CopilotSession } from "@github/copilot-sdk";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { existsSync, readdirSync, statSync } from "node:fs";
import type { Permissions, SandboxMode } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import { sandboxProfile } from "../permissions/profile.ts";
import { allowsCommands, sandboxMode } from "../permissions/rules.ts";
import { isUnder } from "../permissions/paths.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import { inRealFolder, realPathOf, removeDirectory } from "../platform/files.ts";
import type { Environment } from "../platform/environment.ts";
import { errorMessage } from "../platform/system-error.ts";
import {
  borrowedObjects,
  occupyGitFolder,
  outerGitFolders,
  statusOf,
} from "../platform/git-folder.ts";
import { type RunFolder, makeRunFolder } from "../platform/run-folder.ts";
import {
  type Sandbox,
  type SandboxFound,
  programSandbox,
  sandboxSupport,
} from "../sandbox/sandbox.ts";
import type { SandboxChoice, SandboxOptions, SandboxProfile } from "../sandbox/mounts.ts";
import { isRecord } from "../text/guards.ts";
import { realFiles } from "./permission-handler.ts";

export interface ConfinementOptions {
  readonly environment: Environment;
  /** The mode of the run. The stricter of it and that of the permissions applies. */
  readonly mode?: SandboxMode | undefined;
  /** Whether a script plays the model: its author wrote the commands, so a machine without a sandbox runs them. */
  readonly scripted: boolean;
  readonly mark?: string | undefined;
  readonly bubblewrap?: string | undefined;
  readonly kept?: readonly string[] | undefined;
  readonly onUnconfined?: ((reason: string) => void) | undefined;
}

export type Confined =
  | { readonly kind: "sandboxed"; readonly sandbox: SandboxChoice }
  | { readonly kind: "open" }
  | { readonly kind: "refused"; readonly crash: Crash };

export interface Place {
  readonly workingDirectory: string;
  readonly readable?: readonly string[] | undefined;
}

/** Each of them is a mount, and each further mount takes longer: a thousand take two seconds. */
const mostMasks = 1_000;

export class Confinement {
  readonly #options: ConfinementOptions;
  #folder: Promise<RunFolder> | undefined;
  #made = 0;
  #found: SandboxFound | undefined;
  /** Whether something was started that may write files. What is there by now may be the work of an agent. */
  hasWriters = false;
  readonly #sandboxes = new Map<string, Promise<Sandbox>>();

  constructor(options: ConfinementOptions) {
    this.#options = options;
  }

  /** `startsPrograms`: default, whether the permissions allow commands. Never rejects. */
  async of(
    permissions: Permissions,
    place: Place,
    startsPrograms = allowsCommands(permissions),
  ): Promise<Confined> {
    const support = await this.#support(permissions, startsPrograms);
    if (support.kind !== "bubblewrap") return support;
    try {
      const profile = await this.#profile(permissions, place);
      return { kind: "sandboxed", sandbox: { bubblewrap: support.path, profile } };
    } catch (error) {
      const message = `The sandbox can't be made: ${errorMessage(error)}.`;
      return { kind: "refused", crash: { cause: "configuration", message } };
    }
  }

  async #profile(
    permissions: Permissions,
    { workingDirectory, readable = [] }: Place,
  ): Promise<SandboxProfile> {
    const { kept = [] } = this.#options;
    refuseClosedFolder(workingDirectory);
    const yielder = new EventLoopYielder();
    const pause = async (): Promise<void> => {
      await yielder.yieldIfDue();
    };
    const made = await sandboxProfile(permissions, {
      ...realFiles,
      home: homedir(),
      workingDirectory,
      kept,
      readable,
      entries,
      pause,
    });
    const looked = [realPathOf(workingDirectory), ...made.readable, ...made.writable];
    const profile = {
      ...made,
      hidden: [...made.hidden, ...(await hardLinks(made.hidden, looked, pause))],
      fixed: [...made.fixed, ...(await hardLinks(made.fixed, looked, pause))],
    };
    const { files, writable, creatable } = profile;
    this.hasWriters ||= files === "all" || writable.length + creatable.length > 0;
    // It holds the scripts and lists of sandboxes, which nothing in them may change.
    const temporary = realPathOf(tmpdir());
    const granted = profile.files === "all" ? [] : [...profile.writable, ...profile.creatable];
    const writes = granted.find((path) => isUnder(temporary, path));
    if (writes !== undefined) {
      throw new Error(
        `the permissions allow to write ${writes}, and agent-jobs has its own files in ${temporary}. Set the environment variable TMPDIR to a folder outside of ${writes}, such as /var/tmp`,
      );
    }
    // A colon would end a folder of `PATH`.
    if (temporary.includes(":")) {
      throw new Error(
        `the path of the temporary folder, ${temporary}, has a colon. Set the environment variable TMPDIR to another folder`,
      );
    }
    const single = profile.hidden.length + profile.fixed.length + profile.repositories.length;
    if (single > mostMasks) {
      throw new Error(
        `the permissions deny ${single} files and folders one by one, and ${mostMasks} is the maximum: deny the folders that hold them`,
      );
    }
    // Only what is there can be granted: `write: ["reports/*.md"]` makes the folder.
    const root = realPathOf(workingDirectory);
    for (const path of [...profile.writable, ...profile.creatable]) {
      if (path !== root && !existsSync(path) && isUnder(path, root)) inRealFolder(path, () => {});
    }
    for (const { path, isWritable } of profile.repositories) {
      if (isWritable) occupyGitFolder(path);
    }
    const outer = outerGitFolders(root).map((path) => ({ path, isWritable: false }));
    // An agent could write any folder into that file. In a rehearsal, the author scripts what it does.
    const borrowed = this.#options.scripted ? borrowedObjects(root) : [];
    return {
      ...profile,
      readable: [...profile.readable, ...borrowed],
      repositories: [...profile.repositories, ...outer],
    };
  }

  /** One for the same needs. Undefined: they need none. Rejects with an Error for people if there is none. */
  async ofProgram(
    permissions: Permissions,
    place: Place,
    own: Pick<SandboxOptions, "readable" | "writable"> = {},
  ): Promise<Sandbox | undefined> {
    const confined = await this.of(permissions, place, true);
    if (confined.kind === "refused") throw new Error(confined.crash.message);
    if (confined.kind === "open") return undefined;
    const key = JSON.stringify([confined.sandbox, own]);
    const sandbox = this.#sandboxes.get(key) ?? this.#make({ ...confined.sandbox, ...own });
    this.#sandboxes.set(key, sandbox);
    return sandbox;
  }

  async #make(
    choice: SandboxChoice & Pick<SandboxOptions, "readable" | "writable">,
  ): Promise<Sandbox> {
    this.#folder ??= makeRunFolder("sandbox-", this.#options.mark);
    const { path } = await this.#folder;
    this.#made += 1;
    const { environment } = this.#options;
    return programSandbox({ ...choice, environment, folder: join(path, String(this.#made)) });
  }

  async close(): Promise<void> {
    for (const sandbox of this.#sandboxes.values()) {
      await sandbox.then((made) => made.close()).catch(() => undefined);
    }
    this.#sandboxes.clear();
    const folder = await this.#folder?.catch(() => undefined);
    this.#folder = undefined;
    if (folder !== undefined) await removeDirectory(folder.path).catch(() => undefined);
  }

  async refusal(permissions: Permissions): Promise<Crash | undefined> {
    const support = await this.#support(permissions, true);
    return support.kind === "refused" ? support.crash : undefined;
  }

  async #support(
    permissions: Permissions,
    startsPrograms: boolean,
  ): Promise<SandboxFound | Exclude<Confined, { readonly kind: "sandboxed" }>> {
    const { environment, bubblewrap, scripted, onUnconfined } = this.#options;
    const mode = sandboxMode(permissions, this.#options.mode);
    if (mode !== "off" && this.#found !== undefined) return this.#found;
    const support = mode === "off" ? undefined : await sandboxSupport(environment, bubblewrap);
    if (support?.kind === "bubblewrap") return (this.#found = support);
    if (support !== undefined && (mode === "required" || (startsPrograms && !scripted))) {
      const accept = ", or accept that commands can do whatever this user can: `sandbox: off`";
      const message = `This machine has no sandbox (${support.reason}). ${support.advice}${mode === "required" ? "" : accept}.`;
      return { kind: "refused", crash: { cause: "configuration", message } };
    }
    this.hasWriters = true;
    if (startsPrograms) onUnconfined?.(support?.reason ?? "the sandbox is off");
    return { kind: "open" };
  }
}

/** Other hard links to the same files. A program in the sandbox can't have made them: it can't link what is mounted. */
async function hardLinks(
  files: readonly string[],
  folders: readonly string[],
  pause: () => Promise<void>,
): Promise<readonly string[]> {
  const wanted = new Set(files.map(linkedFile));
  wanted.delete(undefined);
  const found: string[] = [];
  const look = async (folder: string): Promise<void> => {
    for (const { name, isFolder } of entries(folder)) {
      const path = join(folder, name);
      if (isFolder && name !== ".git") await look(path);
      else if (wanted.has(linkedFile(path))) found.push(path);
    }
    await pause();
  };
  if (wanted.size > 0) for (const folder of folders) await look(folder);
  return found.filter((path) => !files.includes(path));
}

function linkedFile(path: string): string | undefined {
  const found = statusOf(path);
  return found?.isFile() === true && found.nlink > 1 ? `${found.dev} ${found.ino}` : undefined;
}

function entries(folder: string): { name: string; isFolder: boolean }[] {
  try {
    // Programs reach nothing in a folder that they can't search, and nothing in it can be mounted.
    if (!isOpen(folder, 0o1)) return [];
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isSymbolicLink())
      .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
  } catch {
    return [];
  }
}

/** The runtime's own policy grants everything: what is denied is denied by our `bwrap` and our answers, with a reason. */
export async function confine(session: CopilotSession): Promise<void> {
  await session.rpc.options.update({
    sandboxConfig: {
      enabled: true,
      addCurrentWorkingDirectory: false,
      allowDevToolAccess: false,
      userPolicy: { filesystem: { readwritePaths: ["/"] }, network: { allowOutbound: false } },
    },
  });
}

/** The proof is what the runtime reports of each command, in an event that the SDK passes on but doesn't declare. */
export function watchConfinement(session: CopilotSession, onBroken: (crash: Crash) => void): void {
  const broken = (reason: string): void => {
    const message = `The sandbox of a command was not engaged: ${reason}. The session was ended.`;
    onBroken({ cause: "configuration", message });
  };
  const commands = new Set<unknown>();
  const engaged = new Set<unknown>();
  session.on((event) => {
    const type: string = event.type;
    const data: unknown = event.data;
    if (!isRecord(data)) return;
    const { toolCallId } = data;
    if (type === "tool.execution_start" && data["toolName"] === "bash") commands.add(toolCallId);
    if (type === "sandbox.decision" && data["kind"] === "enforcement_state") {
      if (data["outcome"] === "engaged") engaged.add(toolCallId);
      else broken(`the runtime reports it as ${String(data["outcome"])}`);
    }
    if (type !== "tool.execution_complete" || !commands.has(toolCallId)) return;
    if (data["success"] === true && !engaged.has(toolCallId))
      broken("the runtime doesn't report it for a command that has run");
  });
}

function isOpen(path: string, bits: number): boolean {
  const { uid, gid, mode } = statSync(path);
  const shift =
    uid === process.getuid?.() ? 6 : process.getgroups?.().includes(gid) === true ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

/** In its namespace, root may do only what the owner and the mode of a file allow. */
function refuseClosedFolder(path: string): void {
  // A missing folder is reported with the session.
  if (!existsSync(path) || isOpen(path, 0o5)) return;
  const { uid, mode } = statSync(path);
  throw new Error(
    `programs in it run without the privileges of root, and can't read ${path}, which belongs to the user ${uid} and has the mode ${(mode & 0o777).toString(8)}. Run as its owner, or change its owner or mode (chmod o+rx)`,
  );
}

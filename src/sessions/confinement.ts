/**
 * Whether a session gets a sandbox, and which: its permissions and the option of the run decide, and what this machine
 * can do. Where one is needed and there is none, nothing is started.
 */
import type { CopilotSession } from "@github/copilot-sdk";
import { homedir } from "node:os";
import { existsSync, readdirSync } from "node:fs";
import { sandboxModes, type Permissions, type SandboxMode } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import { sandboxProfile } from "../permissions/profile.ts";
import { allowsCommands } from "../permissions/rules.ts";
import { isUnder } from "../permissions/paths.ts";
import { makeDirectoryNow, realPathOf } from "../platform/files.ts";
import type { Environment } from "../platform/environment.ts";
import {
  sandboxSupport,
  type SandboxChoice,
  type SandboxProfile,
  type SandboxSupport,
} from "../platform/sandbox.ts";
import { isRecord } from "../document/guards.ts";
import { realFiles } from "./permission-handler.ts";

export interface ConfinementOptions {
  readonly environment: Environment;
  /** Of the run. The stricter one of it and the permissions' counts. */
  readonly mode?: SandboxMode | undefined;
  /** Whether a script plays the model: its author wrote the commands, so a machine without a sandbox runs them. */
  readonly scripted: boolean;
  /** Called once, if programs run without a sandbox, with the reason. */
  readonly onUnconfined?: ((reason: string) => void) | undefined;
}

export type Confined =
  | { readonly kind: "sandboxed"; readonly sandbox: SandboxChoice }
  | { readonly kind: "open" }
  | { readonly kind: "refused"; readonly crash: Crash };

export interface Place {
  readonly workingDirectory: string;
  readonly kept?: readonly string[] | undefined;
  readonly readable?: readonly string[] | undefined;
}

export class Confinement {
  readonly #options: ConfinementOptions;
  #told = false;

  constructor(options: ConfinementOptions) {
    this.#options = options;
  }

  /** `startsPrograms`: default, whether the permissions allow commands. Never rejects. */
  async of(
    permissions: Permissions,
    place: Place,
    startsPrograms = allowsCommands(permissions),
  ): Promise<Confined> {
    const mode = this.#mode(permissions);
    if (mode === "off") {
      if (startsPrograms) this.#tell("the sandbox is off");
      return { kind: "open" };
    }
    const support = await sandboxSupport(this.#options.environment);
    if (support.kind === "none") return this.#without(support, mode, startsPrograms);
    const profile = sandboxProfile(permissions, {
      ...realFiles,
      home: homedir(),
      workingDirectory: place.workingDirectory,
      kept: place.kept ?? [],
      readable: place.readable ?? [],
      entries,
    });
    // Only what is there can be granted: `write: ["reports/**"]` makes the folder.
    for (const path of profile.writable) {
      if (!existsSync(path) && isUnder(path, realPathOf(place.workingDirectory))) {
        makeDirectoryNow(path);
      }
    }
    return { kind: "sandboxed", sandbox: { bubblewrap: support.path, profile } };
  }

  #mode(permissions: Permissions): SandboxMode {
    const stated = typeof permissions === "string" ? undefined : permissions.sandbox;
    const modes = [stated ?? "auto", this.#options.mode ?? "off"];
    return sandboxModes.findLast((mode) => modes.includes(mode)) ?? "auto";
  }

  #without(
    { reason, advice }: Extract<SandboxSupport, { kind: "none" }>,
    mode: SandboxMode,
    startsPrograms: boolean,
  ): Confined {
    if (mode === "required" || (startsPrograms && !this.#options.scripted)) {
      const accept =
        mode === "required"
          ? ""
          : ", or accept that commands can do whatever this user can: permissions.sandbox: off";
      const message = `This machine has no sandbox: ${reason}. ${advice}${accept}.`;
      return { kind: "refused", crash: { cause: "configuration", message } };
    }
    if (startsPrograms) this.#tell(reason);
    return { kind: "open" };
  }

  #tell(reason: string): void {
    if (this.#told) return;
    this.#told = true;
    this.#options.onUnconfined?.(reason);
  }
}

function entries(folder: string): { name: string; isFolder: boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
    }));
  } catch {
    return [];
  }
}

/** What the runtime is told: its own checks and its own sandbox of each command agree with the one around it. */
export async function confine(
  session: CopilotSession,
  profile: SandboxProfile,
  own: { readonly readable: readonly string[]; readonly writable: readonly string[] },
): Promise<void> {
  const { files, creatable, network } = profile;
  const readwritePaths = [
    ...own.writable,
    ...(files === "all" ? wholeSystem() : [...creatable, ...profile.writable]),
  ];
  const isOpen = network === "all";
  await session.rpc.options.update({
    sandboxConfig: {
      enabled: true,
      // Its list of readable folders wins over that of writable ones.
      addCurrentWorkingDirectory: false,
      userPolicy: {
        filesystem: {
          readonlyPaths: [...profile.readable, ...own.readable].filter(
            (path) => !readwritePaths.includes(path),
          ),
          readwritePaths,
        },
        // Hosts that are listed are reached through our own proxy.
        network: { allowOutbound: isOpen, allowLocalNetwork: isOpen },
      },
    },
  });
}

/** A sandbox can't grant `/` and have a `/proc` and a `/dev` of its own. */
function wholeSystem(): string[] {
  return readdirSync("/", { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !["proc", "dev", "sys"].includes(entry.name))
    .map(({ name }) => `/${name}`);
}

/**
 * Calls back when a command was not started in its sandbox, or has run without. The proof is what the runtime reports
 * for each command, in an event that the SDK passes on but doesn't declare.
 */
export function watchConfinement(
  session: CopilotSession,
  onBroken: (reason: string) => void,
): void {
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
      else onBroken(`the runtime reports it as ${String(data["outcome"])}`);
    }
    if (type !== "tool.execution_complete" || !commands.has(toolCallId)) return;
    if (data["success"] === true && !engaged.has(toolCallId)) {
      onBroken("the runtime doesn't report it for a command that has run");
    }
  });
}

/** The runtime's questions, answered by the policy, and the denials of a session. Errors deny. */
import type { PermissionRequest, PermissionRequestResult } from "@github/copilot-sdk";
import { lstatSync, mkdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import type { PermissionDenied } from "../events/session-activity.ts";
import { fromRuntime } from "./permission-request.ts";
import { type PathContext, realLocation } from "../permissions/paths.ts";
import {
  type PermissionContext,
  type PermissionDecision,
  decidePermission,
  describePermissions,
} from "../permissions/policy.ts";
import { isInRunFolder } from "../platform/run-folder.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface PermissionHandlerOptions {
  readonly permissions: Permissions;
  readonly workingDirectory: string;
  readonly onActivity: (denial: PermissionDenied) => void;
  /** What the run writes about itself; absolute paths. */
  readonly kept?: readonly string[] | undefined;
  /** Folders that may be read, besides what the permissions allow. Absolute. */
  readonly readable?: readonly string[] | undefined;
  /** Default: the real file system. */
  readonly files?: FileView;
}

type FileView = Omit<PathContext, "workingDirectory"> & Pick<PermissionContext, "isOfRun">;

export const realFiles: FileView = {
  realpath: realpathSync.native,
  isThere: (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  linkTarget(path) {
    try {
      // For what is no link, `readlink` would throw, which takes longer.
      const stat = lstatSync(path, { throwIfNoEntry: false });
      return stat?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
    } catch {
      return undefined;
    }
  },
  isOfRun: isInRunFolder,
};

export function permissionHandler(
  options: PermissionHandlerOptions,
): (request: PermissionRequest) => PermissionRequestResult {
  const { permissions, workingDirectory, kept = [], readable = [], files = realFiles } = options;
  const context = { workingDirectory, kept, readable, ...files };
  const help = describePermissions(permissions);
  return (request) => {
    const decision = decide(() => decidePermission(permissions, fromRuntime(request), context));
    if (decision.kind === "allowed") return { kind: "approve-once" };
    const { operation, target, reason } = decision;
    try {
      options.onActivity({ kind: "permission.denied", operation, target, reason });
    } catch {
      // A listener's fault must not turn a no into anything else.
    }
    // Without feedback a rejection ends the turn silently (docs/internals/runtime-notes.md#permission-answers).
    return { kind: "reject", feedback: `Denied: ${operation} of ${target}: ${reason}. ${help}` };
  };
}

function decide(policy: () => PermissionDecision): PermissionDecision {
  try {
    return policy();
  } catch (error) {
    const reason = `it could not be checked (${errorMessage(error)})`;
    return { kind: "denied", operation: "tool", target: "this request", reason };
  }
}

/**
 * Makes the folder of a file that may be written. The runtime's `create` fails without it before it asks for
 * permission, and a session without an open shell has no other way to a new folder. Never throws.
 */
export function folderMaker({
  permissions,
  workingDirectory,
  kept = [],
}: PermissionHandlerOptions): (path: string) => void {
  const context = { ...realFiles, workingDirectory, kept };
  return (path) => {
    try {
      const request = { kind: "write", paths: [path] } as const;
      if (decidePermission(permissions, request, context).kind !== "allowed") return;
      const place = realLocation(resolve(workingDirectory, path), context);
      if (place !== undefined) mkdirSync(dirname(place), { recursive: true });
    } catch {
      // The runtime reports what is wrong with the path.
    }
  };
}

/** The denials of a session, as its permission handler reports them. */
export class Denials {
  readonly #listeners = new Set<(denial: PermissionDenied) => void>();

  readonly tell = (denial: PermissionDenied): void => {
    for (const listener of this.#listeners) listener(denial);
  };

  /** Returns the way to unsubscribe. */
  follow(listener: (denial: PermissionDenied) => void): () => void {
    // Each follower has its own entry, also if two share a function.
    const own = (denial: PermissionDenied): void => listener(denial);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}

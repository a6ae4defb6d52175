/** The runtime's questions, answered by the policy. Errors deny. */
import type { PermissionRequest, PermissionRequestResult } from "@github/copilot-sdk";
import { lstatSync, mkdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { fromRuntime } from "./permission-request.ts";
import { realLocation, type PathContext } from "../permissions/paths.ts";
import { decidePermission, describePermissions } from "../permissions/policy.ts";
import type { PermissionContext, PermissionDecision } from "../permissions/policy.ts";
import { isInRunFolder } from "../platform/run-folder.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface PermissionHandlerOptions {
  readonly permissions: Permissions;
  readonly workingDirectory: string;
  readonly onActivity: (activity: SessionActivity) => void;
  /** What the run writes about itself; absolute paths. */
  readonly kept?: readonly string[] | undefined;
  /** Folders that may be read, besides what the permissions allow. Absolute. */
  readonly readable?: readonly string[] | undefined;
  /** Default: the real file system. */
  readonly files?: FileView;
}

/** How permissions look at files. */
type FileView = Omit<PathContext, "workingDirectory"> & Pick<PermissionContext, "isOfRun">;

export const realFiles: FileView = {
  realpath: realpathSync.native,
  isThere: (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  linkTarget(path) {
    try {
      return readlinkSync(path);
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
  const refuse = refusals(options);
  return (request) => {
    const decision = decide(() => decidePermission(permissions, fromRuntime(request), context));
    return decision.kind === "allowed" ? { kind: "approve-once" } : refuse(decision);
  };
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

function refusals({
  permissions,
  onActivity,
}: PermissionHandlerOptions): (decision: Denied) => PermissionRequestResult {
  const help = describePermissions(permissions);
  return ({ operation, target, reason }) => {
    try {
      onActivity({ kind: "permission.denied", operation, target, reason });
    } catch {
      // A listener's fault must not turn a no into anything else.
    }
    // Without feedback a rejection ends the turn silently (docs/internals/runtime-notes.md#permission-answers).
    return { kind: "reject", feedback: `Denied: ${operation} of ${target}: ${reason}. ${help}` };
  };
}

type Denied = Extract<PermissionDecision, { kind: "denied" }>;

function decide(policy: () => PermissionDecision): PermissionDecision {
  try {
    return policy();
  } catch (error) {
    return {
      kind: "denied",
      operation: "tool",
      target: "this request",
      reason: `it could not be checked (${errorMessage(error)})`,
    };
  }
}

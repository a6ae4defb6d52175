/** The runtime's questions, answered by the policy. Whatever goes wrong here is a no. */
import type { PermissionRequest, PermissionRequestResult } from "@github/copilot-sdk";
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import type { Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { fromRuntime } from "./permission-request.ts";
import type { PathContext } from "../permissions/paths.ts";
import { decidePermission, describePermissions } from "../permissions/policy.ts";
import type { PermissionDecision } from "../permissions/policy.ts";

export interface PermissionHandlerOptions {
  readonly permissions: Permissions;
  readonly workingDirectory: string;
  readonly onActivity: (activity: SessionActivity) => void;
  /** Default: the real file system. */
  readonly files?: Omit<PathContext, "workingDirectory">;
}

export const realFiles: Omit<PathContext, "workingDirectory"> = {
  realpath: realpathSync.native,
  isThere: (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  linkTarget(path) {
    try {
      return readlinkSync(path);
    } catch {
      return undefined;
    }
  },
};

export function permissionHandler(
  options: PermissionHandlerOptions,
): (request: PermissionRequest) => PermissionRequestResult {
  const { permissions, workingDirectory, onActivity, files = realFiles } = options;
  const help = describePermissions(permissions);
  return (request) => {
    const decision = decide(() =>
      decidePermission(permissions, fromRuntime(request), { workingDirectory, ...files }),
    );
    if (decision.kind === "allowed") return { kind: "approve-once" };
    const { operation, target, reason } = decision;
    try {
      onActivity({ kind: "permission.denied", operation, target, reason });
    } catch {
      // A listener's fault must not turn a no into anything else.
    }
    // Without feedback a rejection ends the turn silently (trap 8).
    return { kind: "reject", feedback: `Denied: ${operation} of ${target}: ${reason}. ${help}` };
  };
}

function decide(policy: () => PermissionDecision): PermissionDecision {
  try {
    return policy();
  } catch (error) {
    return {
      kind: "denied",
      operation: "tool",
      target: "this request",
      reason: `it could not be checked (${error instanceof Error ? error.message : String(error)})`,
    };
  }
}

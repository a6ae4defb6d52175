import type { PermissionRequest, PermissionRequestResult } from "@github/copilot-sdk";
import type { Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";

export function permissionHandler(options: {
  readonly permissions: Permissions;
  readonly workingDirectory: string;
  readonly onActivity: (activity: SessionActivity) => void;
}): (request: PermissionRequest) => Promise<PermissionRequestResult> {
  return async (request) => {
    if (options.permissions === "read-only" && request.kind !== "read") {
      return { kind: "reject", feedback: "read-only" };
    }
    return { kind: "approve-once" };
  };
}

/** The runtime's questions, answered by the policy, and the denials of a session. Errors deny. */
import type {
  CopilotSession,
  PermissionRequest,
  PermissionRequestResult,
  SessionEvent,
} from "@github/copilot-sdk";
import { lstatSync, mkdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import type { PermissionDenied, SessionActivity } from "../events/session-activity.ts";
import { fromRuntime, namedByRuntime } from "./permission-request.ts";
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

export interface DenialSource {
  /** Returns the way to unsubscribe. */
  follow(listener: (denial: PermissionDenied) => void): () => void;
}

/** Denials in our own sessions, reported by the permission handler. */
export class Denials implements DenialSource {
  readonly #listeners = new Set<(denial: PermissionDenied) => void>();

  readonly tell = (activity: SessionActivity): void => {
    if (activity.kind !== "permission.denied") return;
    for (const listener of this.#listeners) listener(activity);
  };

  follow(listener: (denial: PermissionDenied) => void): () => void {
    // Each follower has its own entry, also if two share a function.
    const own = (denial: PermissionDenied): void => listener(denial);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}

/** Denials in a session of the caller, with its own permission handler: read from its events. */
export function denialsOf(session: Pick<CopilotSession, "on">): DenialSource {
  return {
    follow(listener) {
      const asked = new Map<string, Requested>();
      return session.on((event) => {
        if (event.type === "permission.requested")
          asked.set(event.data.requestId, event.data.permissionRequest);
        if (event.type !== "permission.completed") return;
        const request = asked.get(event.data.requestId);
        asked.delete(event.data.requestId);
        const reason = reasonOf(event.data.result);
        if (reason === undefined) return;
        const [operation, target] =
          request === undefined ? ["tool", "this request"] : namedByRuntime(request);
        listener({ kind: "permission.denied", operation, target, reason });
      });
    },
  };
}

type Requested = Extract<
  SessionEvent,
  { type: "permission.requested" }
>["data"]["permissionRequest"];
type Result = Extract<SessionEvent, { type: "permission.completed" }>["data"]["result"];

/** Undefined: it was no denial. */
function reasonOf(result: Result): string | undefined {
  switch (result.kind) {
    case "denied-interactively-by-user":
      return result.feedback ?? "denied by the owner of the session";
    case "denied-by-permission-request-hook":
      return result.message ?? "denied by a hook";
    case "denied-by-content-exclusion-policy":
      return result.message;
    case "denied-by-rules":
      return "denied by rules of the session";
    case "denied-no-approval-rule-and-could-not-request-from-user":
      return "no user was there to approve it";
    default:
      return undefined;
  }
}

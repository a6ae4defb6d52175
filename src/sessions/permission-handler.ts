/** The runtime's questions, answered by the policy, one call after the other where that matters. Whatever goes wrong here is a no. */
import type { PermissionRequest, PermissionRequestResult } from "@github/copilot-sdk";
import { lstatSync, mkdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import type { CallKind } from "./announced-call.ts";
import type { CallOrder } from "./call-order.ts";
import { movedFiles } from "./moved-files.ts";
import { fromRuntime, namedByRuntime } from "./permission-request.ts";
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
interface FileView
  extends Omit<PathContext, "workingDirectory">, Pick<PermissionContext, "isOfRun" | "wasMoved"> {
  /** Is called for each command that may replace files with links, once nothing can refuse it any more. */
  readonly onMove?: () => void;
}

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

function filesOf({ workingDirectory }: PermissionHandlerOptions): FileView {
  return { ...realFiles, ...movedFiles(workingDirectory) };
}

type Handler<T> = (request: PermissionRequest) => T;

export function permissionHandler(
  options: PermissionHandlerOptions,
): Handler<PermissionRequestResult> {
  const { approve } = judging(options);
  return approve;
}

/** `check` tells the answer without giving it: nothing that is judged later depends on it. */
function judging(
  options: PermissionHandlerOptions,
): Record<"check" | "approve", Handler<PermissionRequestResult>> {
  const { permissions, workingDirectory, kept = [], readable = [] } = options;
  const { files = filesOf(options) } = options;
  const { onMove, ...view } = files;
  const context = { workingDirectory, kept, readable, ...view };
  const refuse = refusals(options);
  const answer = (request: PermissionRequest, note?: () => void): PermissionRequestResult => {
    const decision = decide(() => {
      const found = decidePermission(permissions, fromRuntime(request), context);
      if (found.kind === "allowed" && found.moves === true) note?.();
      return found;
    });
    return decision.kind === "allowed" ? { kind: "approve-once" } : refuse(decision);
  };
  return {
    check: (request) => answer(request),
    approve: (request) => answer(request, onMove),
  };
}

/** The same, but a path is judged only when nothing is at work that could change where it leads. */
export function orderedPermissionHandler(
  options: PermissionHandlerOptions,
  order: CallOrder,
): Handler<Promise<PermissionRequestResult>> {
  const { files = filesOf(options) } = options;
  const { wasMoved } = files;
  /** How often the policy has asked the file system. */
  let looks = 0;
  const looking =
    <A extends unknown[], T>(ask: (...path: A) => T) =>
    (...path: A): T => {
      looks += 1;
      return ask(...path);
    };
  const { check, approve } = judging({
    ...options,
    files: {
      ...files,
      realpath: looking(files.realpath),
      isThere: looking(files.isThere),
      linkTarget: looking(files.linkTarget),
      ...(wasMoved === undefined ? {} : { wasMoved: looking(wasMoved) }),
    },
  });
  const refuse = refusals(options);
  const kindOf = (request: PermissionRequest): CallKind | PermissionRequestResult | undefined => {
    if (request.kind === "read" || request.kind === "write") return request.kind;
    if (request.kind !== "shell") return undefined;
    const before = looks;
    const result = check(request);
    // A denied call needs no wait.
    if (result.kind === "reject") return result;
    return looks === before ? "command" : "path-command";
  };
  return async (request) => {
    const kind = kindOf(request);
    if (kind === undefined) return approve(request);
    if (typeof kind !== "string") {
      order.withdraw(request.toolCallId);
      return kind;
    }
    const reason = await order.ask(request.toolCallId, kind);
    if (reason !== undefined) {
      const [operation, target] = namedByRuntime(request);
      return refuse({ kind: "denied", operation, target, reason });
    }
    const result = approve(request);
    if (result.kind === "reject") order.withdraw(request.toolCallId);
    return result;
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
    // Without feedback a rejection ends the turn silently (docs/runtime-notes.md#permission-answers).
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

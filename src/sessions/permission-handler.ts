/** The runtime's questions, answered by the policy. Errors deny. */
import type {
  PermissionRequest as RuntimeRequest,
  PermissionRequestResult,
} from "@github/copilot-sdk";
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import type { PermissionDenied } from "../events/session-activity.ts";
import { type PathContext, realLocation } from "../permissions/paths.ts";
import {
  type PermissionContext,
  type PermissionDecision,
  type PermissionRequest,
  decidePermission,
  describePermissions,
} from "../permissions/policy.ts";
import { inRealFolder } from "../platform/files.ts";
import { isInRunFolder } from "../platform/run-folder.ts";
import { errorMessage } from "../platform/system-error.ts";

export interface PermissionHandlerOptions {
  readonly permissions: Permissions;
  readonly workingDirectory: string;
  readonly onActivity: (denial: PermissionDenied) => void;
  readonly kept?: readonly string[] | undefined;
  /** Folders that may be read, besides what the permissions allow. Absolute. */
  readonly readable?: readonly string[] | undefined;
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
): (request: RuntimeRequest) => PermissionRequestResult {
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
    // A rejection that has no feedback ends the turn silently (docs/internals/runtime-notes.md#permission-answers).
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

/** The runtime's `create` fails without the folder before it asks, and a guarded session has no other way to make it. */
export function folderMaker(options: PermissionHandlerOptions): (path: string) => void {
  const { permissions, workingDirectory, kept = [] } = options;
  const context = { ...realFiles, workingDirectory, kept };
  return (path) => {
    try {
      const request = { kind: "write", paths: [path] } as const;
      if (decidePermission(permissions, request, context).kind !== "allowed") return;
      const place = realLocation(resolve(workingDirectory, path), context);
      if (place !== undefined) inRealFolder(dirname(place), () => {});
    } catch {
      // The runtime reports what is wrong with the path.
    }
  };
}

/*
 * The runtime's requests in our words. Most fields of a request are data. Two are not: the `intention` of a read, a
 * sentence, and the diff of a write, a text. What is not recognized in them is judged as the more dangerous request,
 * or refused, so that another wording never allows more.
 */

/** Never throws for a request of a kind that the SDK declares; any other kind becomes `other`. */
export function fromRuntime(request: RuntimeRequest): PermissionRequest {
  if (request.managedApprovalRequired === true) {
    return other(request, "a policy of the organization requires a person's approval");
  }
  switch (request.kind) {
    case "read":
      return {
        kind: "read",
        paths: [request.path, request.resolvedPath ?? request.path],
        // These show one file, or only names. Everything else counts as a search in all folders below.
        deep: !/^(?:Read file|Search in file|List directory|Search for files matching pattern in): /.test(
          request.intention,
        ),
      };
    case "write":
      return write(request);
    case "shell":
      return { kind: "shell", command: request.fullCommandText };
    case "url":
      return { kind: "url", url: request.url };
    case "custom-tool":
      return { kind: "tool", name: request.toolName };
    case "mcp":
      return { kind: "tool", name: `${request.serverName}/${request.toolName}` };
    default:
      return other(request);
  }
}

/** A write that its diff doesn't prove is refused: the request itself names only the target of a move. */
function write(request: Extract<RuntimeRequest, { kind: "write" }>): PermissionRequest {
  const { fileName, resolvedPath, diff } = request;
  const inDiff = changedPaths(diff);
  if (inDiff === undefined) {
    return {
      kind: "other",
      operation: "write",
      target: fileName,
      refusal: "its diff does not name the one file that would change, or the two files of a move",
    };
  }
  return { kind: "write", paths: [fileName, resolvedPath ?? fileName, ...inDiff] };
}

const nothing = "/dev/null";

/** Undefined if the head of the diff doesn't name both files, or says more: a line break in a name must forge nothing. */
function changedPaths(diff: string): string[] | undefined {
  const [head = ""] = diff.split(/^@@/m, 1);
  const before = [...head.matchAll(/^--- a(.+)$/gm)].map(([, path = ""]) => path);
  const after = [...head.matchAll(/^\+\+\+ b(.+)$/gm)].map(([, path = ""]) => path);
  const [from, to] = [before[0], after[0]];
  if (from === undefined || to === undefined || before.length > 1 || after.length > 1) {
    return undefined;
  }
  const first = `diff --git a${from === nothing ? to : from} b${to}\n`;
  if (!head.replace(/^\n/, "").startsWith(first)) return undefined;
  const paths = [from, to].filter((path) => path !== nothing);
  return paths.length === 0 ? undefined : paths;
}

function other(request: RuntimeRequest, refusal?: string): PermissionRequest {
  const target = describe(request);
  return { kind: "other", operation: request.kind, target, refusal };
}

function describe(request: RuntimeRequest): string {
  for (const key of ["path", "fileName", "fullCommandText", "url", "toolName", "name"] as const) {
    const value: unknown = Reflect.get(request, key);
    if (typeof value === "string") return value;
  }
  return request.kind;
}

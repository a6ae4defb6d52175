/**
 * The runtime's permission requests, in our words. Most fields of a request are data. Two are not: the
 * `intention` of a read, a sentence, and the diff of a write, a text. What is not recognized in them is judged as
 * the more dangerous request, or refused, so that another wording never allows more.
 */
import { defined } from "../document/guards.ts";
import type { PermissionRequest as RuntimeRequest } from "@github/copilot-sdk";
import type { PermissionRequest } from "../permissions/policy.ts";

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
        // What these show is one file, or names only. Everything else is taken as a search in all below.
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

/** What can't be proven from the diff is refused: the request itself names only the file that a move leads to. */
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

/**
 * The file before and the file after the change. Undefined if the head of the diff does not say both, or says
 * more than that: its first line has to repeat them, so that a line break in a name forges nothing.
 */
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
  return {
    kind: "other",
    operation: request.kind,
    target: describe(request),
    ...defined({ refusal }),
  };
}

function describe(request: RuntimeRequest): string {
  for (const key of ["path", "fileName", "fullCommandText", "url", "toolName", "name"] as const) {
    const value: unknown = Reflect.get(request, key);
    if (typeof value === "string") return value;
  }
  return request.kind;
}

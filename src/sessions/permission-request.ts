/** The runtime's permission requests, in our words. The only place that reads its sentences. */
import type { PermissionRequest as RuntimeRequest } from "@github/copilot-sdk";
import type { PermissionRequest } from "../permissions/request.ts";

/** Never throws for a request of a kind that the SDK declares; any other kind becomes `other`. */
export function fromRuntime(request: RuntimeRequest): PermissionRequest {
  if (request.managedApprovalRequired === true) {
    return other(request, "a policy of the organisation asks for a person's approval");
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

function write(request: Extract<RuntimeRequest, { kind: "write" }>): PermissionRequest {
  const { fileName, resolvedPath, diff, intention } = request;
  // A patch that moves a file asks only for where it goes; where it comes from is in the diff's head.
  const inDiff = diffPaths(diff);
  if (inDiff.length > mostPaths) {
    return {
      kind: "other",
      operation: "write",
      target: fileName,
      refusal: `it changes more than ${mostPaths} files at once`,
    };
  }
  if (inDiff.length < 2 && /\b(?:move|rename|copy)\b/i.test(intention)) {
    return {
      kind: "other",
      operation: "write",
      target: fileName,
      refusal: "the runtime does not say which file is moved",
    };
  }
  return { kind: "write", paths: [fileName, resolvedPath ?? fileName, ...inDiff] };
}

/** The head of a diff names one file or two. */
const mostPaths = 100;

function diffPaths(diff: string): string[] {
  const [head = ""] = diff.split(/^@@/m);
  const paths: string[] = [];
  for (const [, path = ""] of head.matchAll(/^(?:--- a|\+\+\+ b)(.+)$/gm)) {
    if (path !== "/dev/null") paths.push(path);
  }
  return paths;
}

function other(request: RuntimeRequest, refusal?: string): PermissionRequest {
  return {
    kind: "other",
    operation: request.kind,
    target: describe(request),
    ...(refusal === undefined ? {} : { refusal }),
  };
}

function describe(request: RuntimeRequest): string {
  for (const key of ["path", "fileName", "fullCommandText", "url", "toolName", "name"] as const) {
    const value: unknown = Reflect.get(request, key);
    if (typeof value === "string") return value;
  }
  return request.kind;
}

/** What a request asks for, in words for people. */
export function namedByRuntime(
  request: RuntimeRequest,
): readonly [operation: string, target: string] {
  return [request.kind === "custom-tool" ? "tool" : request.kind, describe(request)];
}

/** A pure policy over requests: denies by default, and a denial wins. For users: `docs/permissions.md`. */
import { homedir } from "node:os";
import type { Permissions } from "../entry/model.ts";
import { longestUrl, shellRefusal, urlDenied, urlMatches } from "./commands.ts";
import {
  type PathContext,
  askingOnce,
  globDenies,
  globMatches,
  isUnder,
  longestPath,
  mostParts,
  realLocation,
  realLocations,
} from "./paths.ts";
import { type RuleSet, type Split, ruleSet, toolVerdict } from "./rules.ts";
import { isPrivate } from "../platform/private-files.ts";
import { truncateUnredacted } from "../text/truncate.ts";

export type PermissionDecision =
  | { readonly kind: "allowed" }
  | {
      readonly kind: "denied";
      readonly operation: string;
      readonly target: string;
      readonly reason: string;
    };

export interface PermissionContext extends PathContext {
  readonly platform?: NodeJS.Platform;
  /** The folder that `~` means in a denial. Default: the user's home. */
  readonly home?: string;
  /** Files, and folders with all they hold, that the run writes about itself: no file tool writes to them. Absolute. */
  readonly kept?: readonly string[];
  /** Whether a real path is a file of any run, and therefore kept as well. Does not throw. */
  readonly isOfRun?: (realPath: string) => boolean;
  /** Folders that may be read with all they hold, unless a rule denies it. Absolute. */
  readonly readable?: readonly string[];
}

export function decidePermission(
  permissions: Permissions,
  request: PermissionRequest,
  context: PermissionContext,
): PermissionDecision {
  const rules = ruleSet(permissions);
  switch (request.kind) {
    case "read":
    case "write": {
      const deep = request.kind === "read" && request.deep;
      const files = askingOnce(context);
      for (const path of request.paths) {
        const reason = fileReason(request.kind, rules, path, files, deep);
        if (reason !== undefined) return decision(request.kind, path, reason);
      }
      return allowed;
    }
    case "shell":
      return decision("shell", request.command, commandReason(rules, request.command, context));
    case "url":
      return decision("url", request.url, urlReason(rules, request.url));
    case "tool":
      return decision("tool", request.name, toolReasons[toolVerdict(rules, request.name)]);
    case "other": {
      const { operation, target, refusal } = request;
      const reason = rules.everything ? undefined : 'only the preset "all" allows it';
      return decision(operation, target, refusal ?? reason);
    }
  }
}

const allowed: PermissionDecision = { kind: "allowed" };

const longestTarget = 1_000;

function decision(
  operation: string,
  target: string,
  reason: string | undefined,
): PermissionDecision {
  if (reason === undefined) return allowed;
  return {
    kind: "denied",
    operation,
    target: truncateUnredacted(target, longestTarget, "…"),
    reason,
  };
}

export function describePermissions(permissions: Permissions): string {
  const { everything, writes, read, write, shell, url, tools } = ruleSet(permissions);
  if (everything) return "Everything is allowed, except for what is denied explicitly.";
  const parts = [`read and search files in the working directory${also(read)}`];
  if (writes) parts.push(`write files in the working directory${also(write)}`);
  else if (write.allow.length > 0) parts.push(`write ${write.allow.join(", ")}`);
  if (shell.allow === true) parts.push("run shell commands");
  else if (shell.allow.length > 0) {
    parts.push(`run shell commands that match ${shell.allow.map((p) => `"${p}"`).join(", ")}`);
  }
  if (url.allow.length > 0) parts.push(`fetch ${url.allow.join(", ")}`);
  const named = tools.allow.map((pattern) => pattern.replace(/^\.\//, "")).join(", ");
  return `You may only ${parts.join("; ")}; and call the job tools${named === "" ? "" : ` and ${named}`}.`;
}

function also(globs: Split): string {
  return globs.allow.length === 0 ? "" : ` and ${globs.allow.join(", ")}`;
}

function fileReason(
  operation: "read" | "write",
  rules: RuleSet,
  path: unknown,
  context: PermissionContext,
  deep: boolean,
): string | undefined {
  const kept = operation === "write" ? (context.kept ?? []) : [];
  const mayBeKept = kept.length > 0 || (operation === "write" && context.isOfRun !== undefined);
  if (rules.everything && rules[operation].deny.length === 0 && !mayBeKept) return undefined;
  if (typeof path === "string" && Buffer.byteLength(path) > longestPath) {
    return `it is longer than ${longestPath} bytes`;
  }
  if (typeof path === "string" && path.split(/[\\/]/).length > mostParts) {
    return `it has more than ${mostParts} parts`;
  }
  const root = realLocation(context.workingDirectory, context);
  const reals = typeof path === "string" ? realLocations(path, context) : undefined;
  if (root === undefined || reals === undefined) {
    return "this path can't be resolved with certainty";
  }
  for (const real of reals) {
    const isKept =
      kept.some((one) => holds(one, real, context)) ||
      (operation === "write" && !isUnder(real, root) && context.isOfRun?.(real) === true);
    if (isKept) return "agent-jobs writes this file itself";
    const reason = placeReason(operation, rules, real, root, context, deep);
    if (reason === undefined) continue;
    return real === path || reason !== outside ? reason : `it leads to ${real}, ${outside}`;
  }
  return undefined;
}

/** Follows links and ignores case, as some file systems do. */
function holds(folder: string, real: string, context: PathContext): boolean {
  const place = real.toLowerCase();
  return [folder, ...(realLocations(folder, context) ?? [])].some((one) =>
    isUnder(place, one.toLowerCase()),
  );
}

function isIn(folder: string, real: string, context: PathContext): boolean {
  const place = realLocation(folder, context);
  return place !== undefined && isUnder(real, place);
}

const outside = "outside the working directory";

/** Why a real path must not be read or written, by the rules alone. Undefined if it may be. */
export function placeReason(
  operation: "read" | "write",
  rules: RuleSet,
  real: string,
  root: string,
  context: PermissionContext,
  deep: boolean,
): string | undefined {
  const { allow, deny } = rules[operation];
  const home = context.home ?? homedir();
  const denial = deny.find((glob) => globDenies(glob, real, deep, root, home, context));
  if (denial !== undefined) {
    return `permissions.${operation} denies it, or a part of it, with "!${denial}"`;
  }
  if (rules.everything) return undefined;
  const readable = operation === "read" ? (context.readable ?? []) : [];
  if (readable.some((folder) => isIn(folder, real, context))) return undefined;
  const secret = isPrivate(isUnder(real, root) ? real.slice(root.length) : real);
  const named = allow.filter((glob) => !secret || isPrivate(glob));
  if (named.some((glob) => globMatches(glob, real, root, false))) return undefined;
  if (secret) {
    return "files like this may contain credentials or run code; a pattern must name them explicitly";
  }
  if (operation === "write" && !rules.writes) {
    return allow.length === 0
      ? "the permissions are read-only"
      : "it matches no pattern of permissions.write";
  }
  if (isUnder(real, root)) return undefined;
  // A program that can write a file can read it.
  const mayWrite =
    operation === "read" && placeReason("write", rules, real, root, context, deep) === undefined;
  return mayWrite ? undefined : outside;
}

function commandReason(
  { shell: { allow, deny } }: RuleSet,
  line: string,
  { platform }: PermissionContext,
): string | undefined {
  return allow !== true && allow.length === 0
    ? "the permissions allow no shell commands"
    : shellRefusal(line, allow, deny, platform);
}

function urlReason({ everything, url: { allow, deny } }: RuleSet, url: string): string | undefined {
  if (!everything && url.length > longestUrl) return `it is longer than ${longestUrl} characters`;
  const denial = deny.find((pattern) => urlDenied(url, pattern));
  if (denial !== undefined) return `permissions.url denies "!${denial}"`;
  if (everything || allow.some((pattern) => urlMatches(url, pattern))) return undefined;
  return "it matches no pattern of permissions.url";
}

const toolReasons = {
  allowed: undefined,
  denied: "permissions.tools denies it",
  unnamed: "permissions.tools does not name it",
} as const;

export type PermissionRequest =
  /** `paths` are names of one place; all of them have to be allowed. */
  | {
      readonly kind: "read";
      readonly paths: readonly string[];
      /** Whether it shows what lies below as well: a search in a folder. */
      readonly deep: boolean;
    }
  | {
      readonly kind: "write";
      /** Every file that would change, the source of a move included. */
      readonly paths: readonly string[];
    }
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "url"; readonly url: string }
  /** A tool of an MCP server is `server/tool`. */
  | { readonly kind: "tool"; readonly name: string }
  /** A request that no rule covers is allowed only by the preset `all`, and never if `refusal` is set. */
  | {
      readonly kind: "other";
      readonly operation: string;
      readonly target: string;
      readonly refusal?: string;
    };

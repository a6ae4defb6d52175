/**
 * What an agent may do: a pure policy over requests in our own words. Deny by default; a pattern
 * that starts with `!` denies, and deny wins. `docs/permissions.md` is the description for people.
 */
import { homedir } from "node:os";
import type { Permissions } from "../entry/model.ts";
import { decideShell } from "./commands.ts";
import {
  globDenies,
  globMatches,
  isUnder,
  longestPath,
  realLocation,
  realLocations,
} from "./paths.ts";
import type { PathContext } from "./paths.ts";
import type { PermissionRequest } from "./request.ts";
import { ruleSet } from "./rules.ts";
import type { RuleSet, Split } from "./rules.ts";
import { urlDenied, urlMatches } from "./urls.ts";
import { isPrivate } from "./private-files.ts";

export type PermissionDecision =
  | { readonly kind: "allowed" }
  | {
      readonly kind: "denied";
      /** `read`, `write`, `shell`, `url`, `tool`… */
      readonly operation: string;
      readonly target: string;
      readonly reason: string;
    };

export interface PermissionContext extends PathContext {
  /** Default: this machine's. */
  readonly platform?: NodeJS.Platform;
  /** What `~` stands for in a denial. Default: the user's. */
  readonly home?: string;
  /** Files, and folders with all they hold, that the run writes about itself: no file tool writes to them. Absolute. */
  readonly kept?: readonly string[];
}

export function decidePermission(
  permissions: Permissions,
  request: PermissionRequest,
  context: PermissionContext,
): PermissionDecision {
  const rules = ruleSet(permissions);
  switch (request.kind) {
    case "read":
    case "write":
      return decideFile(rules, request, context);
    case "shell":
      return decideCommand(rules, request.command, context);
    case "url":
      return decideUrl(rules, request.url);
    case "tool":
      return decideTool(rules, request.name);
    case "other": {
      const { operation, target, refusal } = request;
      if (refusal !== undefined) return denied(operation, target, refusal);
      return rules.everything
        ? { kind: "allowed" }
        : denied(operation, target, "only the preset all allows that");
    }
  }
}

/** One sentence for the model: what it may do, so that it can go on in another way. */
export function describePermissions(permissions: Permissions): string {
  const { everything, writes, read, write, shell, url } = ruleSet(permissions);
  if (everything) return "Everything is allowed but what is denied by name.";
  const parts = [`read and search files under the working directory${also(read)}`];
  if (writes) parts.push(`write files under the working directory${also(write)}`);
  else if (write.allow.length > 0) parts.push(`write ${write.allow.join(", ")}`);
  if (shell.allow === true) parts.push("run shell commands");
  else if (shell.allow.length > 0) {
    parts.push(`run shell commands that match ${shell.allow.map((p) => `"${p}"`).join(", ")}`);
  }
  if (url.allow.length > 0) parts.push(`fetch ${url.allow.join(", ")}`);
  return `You may ${parts.join("; ")}; call the job tools; nothing else.`;
}

function also(globs: Split): string {
  return globs.allow.length === 0 ? "" : ` and ${globs.allow.join(", ")}`;
}

function decideFile(
  rules: RuleSet,
  request: Extract<PermissionRequest, { kind: "read" | "write" }>,
  context: PermissionContext,
): PermissionDecision {
  const { kind, paths } = request;
  const deep = request.kind === "read" && request.deep;
  for (const path of paths) {
    const reason = fileReason(kind, rules, path, context, deep);
    if (reason !== undefined) return denied(kind, path, reason);
  }
  return { kind: "allowed" };
}

/** Why a file may not be read or written; undefined when it may. */
function fileReason(
  operation: "read" | "write",
  rules: RuleSet,
  path: unknown,
  context: PermissionContext,
  deep: boolean,
): string | undefined {
  const kept = operation === "write" ? (context.kept ?? []) : [];
  if (rules.everything && rules[operation].deny.length === 0 && kept.length === 0) {
    return undefined;
  }
  if (typeof path === "string" && Buffer.byteLength(path) > longestPath) {
    return `it is longer than ${longestPath} bytes`;
  }
  const root = realLocation(context.workingDirectory, context);
  const reals = typeof path === "string" ? realLocations(path, context) : undefined;
  if (root === undefined || reals === undefined) {
    return "where this path leads can't be said for sure";
  }
  for (const real of reals) {
    if (kept.some((one) => holds(one, real, context))) return "the run itself writes there";
    const reason = placeReason(operation, rules, real, root, context, deep);
    if (reason === undefined) continue;
    return real === path || reason !== outside ? reason : `it leads to ${real}, ${outside}`;
  }
  return undefined;
}

/** Also by the name of a link, and in other letters where the system takes them for the same. */
function holds(folder: string, real: string, context: PathContext): boolean {
  const place = real.toLowerCase();
  return [folder, ...(realLocations(folder, context) ?? [])].some((one) =>
    isUnder(place, one.toLowerCase()),
  );
}

const outside = "outside the working directory";

function placeReason(
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
    return `it is, or holds, what permissions.${operation} denies with "!${denial}"`;
  }
  if (rules.everything) return undefined;
  const secret = isPrivate(isUnder(real, root) ? real.slice(root.length) : real);
  const named = allow.filter((glob) => !secret || isPrivate(glob));
  if (named.some((glob) => globMatches(glob, real, root, false))) return undefined;
  if (secret) {
    return "files like this hold credentials or run code; only a pattern that names them allows it";
  }
  if (operation === "write" && !rules.writes) {
    return allow.length === 0
      ? "the permissions are read-only"
      : "it matches no pattern of permissions.write";
  }
  return isUnder(real, root) ? undefined : outside;
}

function decideCommand(
  rules: RuleSet,
  line: string,
  context: PermissionContext,
): PermissionDecision {
  const { allow, deny } = rules.shell;
  if (allow !== true && allow.length === 0) {
    return denied("shell", line, "the permissions allow no shell commands");
  }
  const leadsOut = (path: string): boolean =>
    fileReason("read", rules, path, context, false) !== undefined;
  const verdict = decideShell(line, allow, deny, context.platform, leadsOut);
  return verdict.allowed ? { kind: "allowed" } : denied("shell", line, verdict.reason);
}

function decideUrl(rules: RuleSet, url: string): PermissionDecision {
  if (!rules.everything && url.length > longestUrl) {
    return denied("url", url, `it is longer than ${longestUrl} characters`);
  }
  const denial = rules.url.deny.find((pattern) => urlDenied(url, pattern));
  if (denial !== undefined) return denied("url", url, `permissions.url denies "!${denial}"`);
  if (rules.everything || rules.url.allow.some((pattern) => urlMatches(url, pattern))) {
    return { kind: "allowed" };
  }
  return denied("url", url, "it matches no pattern of permissions.url");
}

function decideTool(rules: RuleSet, name: string): PermissionDecision {
  if (rules.tools.deny.includes(name)) return denied("tool", name, `permissions.tools denies it`);
  if (rules.everything || rules.tools.allow.includes(name)) return { kind: "allowed" };
  return denied("tool", name, "permissions.tools does not name it");
}

const longestUrl = 8_192;
/** Of what was asked for, in a report and in the answer to the model. */
const longestTarget = 1_000;

function denied(operation: string, target: string, reason: string): PermissionDecision {
  const shown = target.length > longestTarget ? `${target.slice(0, longestTarget)}…` : target;
  return { kind: "denied", operation, target: shown, reason };
}

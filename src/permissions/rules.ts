/** `permissions` of an entry in a form that is easy to ask; what is stronger than what; and which tools it needs. Pure. */
import { isAbsolute } from "node:path";
import type { PermissionPreset, PermissionRules, Permissions } from "../entry/model.ts";
import { isPrivate } from "./private-files.ts";

/** Patterns, apart by what they do; without the `!`. */
export interface Split {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export interface RuleSet {
  readonly preset: PermissionPreset;
  readonly read: Split;
  readonly write: Split;
  readonly shell: { readonly allow: true | readonly string[]; readonly deny: readonly string[] };
  readonly url: Split;
  readonly tools: Split;
}

export function ruleSet(permissions: Permissions): RuleSet {
  const rules = inFull(permissions);
  const preset = rules.preset ?? "read-only";
  const shell = split(rules.shell === true ? [] : rules.shell);
  return {
    preset,
    read: split(rules.read),
    write: split(rules.write),
    shell: {
      allow: preset !== "read-only" || rules.shell === true ? true : shell.allow,
      deny: shell.deny,
    },
    url: split(rules.url),
    tools: split(rules.tools),
  };
}

/**
 * What holds for a task: its own permissions replace the entry's; the option (`--permissions`) applies
 * where neither says anything, and is a ceiling where one does. Default: read-only.
 */
export function effectivePermissions(
  entry: Permissions | undefined,
  task: Permissions | undefined,
  option: PermissionPreset | undefined,
): Permissions {
  const stated = task ?? entry;
  if (stated === undefined) return option ?? "read-only";
  return option === undefined ? stated : ceilPermissions(stated, option);
}

/** What both allow. Every denial stays. */
export function ceilPermissions(permissions: Permissions, ceiling: PermissionPreset): Permissions {
  if (ceiling === "all") return permissions;
  const rules = inFull(permissions);
  const rank: Readonly<Record<PermissionPreset, number>> = { "read-only": 0, workspace: 1, all: 2 };
  const stated = rules.preset ?? "read-only";
  const preset = rank[stated] <= rank[ceiling] ? stated : ceiling;
  const workspace = ceiling === "workspace";
  const lists = {
    // A preset reads the working directory only; so nothing that a pattern adds to it is left.
    read: denials(rules.read),
    write: workspace
      ? [...(rules.write ?? []).filter(isInside), ...denials(rules.write)]
      : denials(rules.write),
    url: denials(rules.url),
    tools: workspace
      ? [
          ...(rules.tools ?? []).filter((name) => workspaceTools.includes(name)),
          ...denials(rules.tools),
        ]
      : denials(rules.tools),
  };
  const shell = workspace ? rules.shell : denials(rules.shell === true ? [] : rules.shell);
  return {
    preset,
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
    ...(shell === undefined || (shell !== true && shell.length === 0) ? {} : { shell }),
  };
}

/** A write pattern that can't leave the working directory, nor reach what the preset keeps away. */
function isInside(glob: string): boolean {
  return (
    !glob.startsWith("!") &&
    !isAbsolute(glob) &&
    !isPrivate(glob) &&
    !/(?:^|[\\/{,(])\.\.(?:[\\/},)]|$)/.test(glob)
  );
}

function denials(patterns: readonly string[] | undefined): string[] {
  return (patterns ?? []).filter((pattern) => pattern.startsWith("!"));
}

function inFull(permissions: Permissions): PermissionRules {
  return typeof permissions === "string" ? { preset: permissions } : permissions;
}

function split(patterns: readonly string[] | undefined): Split {
  const list = patterns ?? [];
  return {
    allow: list.filter((pattern) => !pattern.startsWith("!")),
    deny: denials(list).map((pattern) => pattern.slice(1)),
  };
}

/** Model families know the same ability under different names: all of them, the runtime picks. */
export const searchTools: readonly string[] = ["grep", "rg"];
const readTools = ["view", ...searchTools, "glob"];
const writeTools = ["create", "edit", "apply_patch"];
const shellTools = [
  "bash",
  "read_bash",
  "stop_bash",
  "list_bash",
  "powershell",
  "read_powershell",
  "stop_powershell",
  "list_powershell",
];
const workspaceTools = [...readTools, ...writeTools, ...shellTools];

/** For the SDK's `availableTools`. The job tools are always there; sub-agents, `sql` and the web are not, unless named. */
export function toolsFor(permissions: Permissions): string[] {
  const rules = ruleSet(permissions);
  const hidden = new Set(rules.tools.deny);
  if (rules.preset === "all" && hidden.size === 0) return ["builtin:*", "mcp:*", "custom:*"];
  const names = new Set(readTools);
  const add = (more: readonly string[]): void => more.forEach((name) => names.add(name));
  if (rules.preset !== "read-only" || rules.write.allow.length > 0) add(writeTools);
  if (rules.shell.allow === true || rules.shell.allow.length > 0) add(shellTools);
  if (rules.preset === "all" || rules.url.allow.length > 0) add(["web_fetch"]);
  if (rules.preset === "all") add(["sql", "task", "read_agent", "list_agents", "write_agent"]);
  add(rules.tools.allow.filter((name) => !name.includes("/")));
  return [
    ...[...names].filter((name) => !hidden.has(name)).map((name) => `builtin:${name}`),
    "custom:*",
  ];
}

/** Whether a session with these permissions has any tool that could start a process. */
export function canStartProcesses(permissions: Permissions): boolean {
  const harmless = new Set([...readTools, ...writeTools].map((name) => `builtin:${name}`));
  return toolsFor(permissions).some((name) => !harmless.has(name) && name !== "custom:*");
}

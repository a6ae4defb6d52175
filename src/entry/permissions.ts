/** Where permissions start from: see `docs/permissions.md`. */
import type { SchemaType } from "../document/describe.ts";
import { choice, listOf, names, object } from "./schema-parts.ts";

/** From the strictest on. */
export const permissionPresets = ["read-only", "workspace", "all"] as const;
/** Permissions without further rules. */
export type PermissionPreset = (typeof permissionPresets)[number];

/** From the weakest on. */
export const sandboxModes = ["off", "auto", "required"] as const;
export type SandboxMode = (typeof sandboxModes)[number];

const permissionRules = object(
  {
    preset: choice(permissionPresets, "read-only", "The preset that the rules add to."),
    read: listOf("glob", "Globs of files that the agent may read. A leading ! denies."),
    write: listOf("glob", "Globs of files that the agent may write. A leading ! denies."),
    shell: {
      description:
        "true, or patterns of shell commands such as `git diff *`. Every command of a pipeline or list must match. A leading ! denies.",
      oneOf: [{ const: true }, listOf("command pattern")],
    } as const,
    url: {
      ...names,
      description: "Patterns of addresses that the agent may fetch. A leading ! denies.",
    },
    hosts: {
      ...names,
      description:
        "Hosts that commands may reach: names, *.example.com, localhost. Those of url are included. A leading ! denies.",
    },
    sandbox: choice(
      sandboxModes,
      "auto",
      "auto: a sandbox wherever this machine has one; where it has none, tasks that start programs don't run. required: every task needs one. off: no sandbox.",
    ),
    tools: listOf(
      "tool pattern",
      "Further tools that the agent may call: names, server/tool, server/* or *. A leading ! denies.",
    ),
  },
  [],
);

export const permissionsSchema = {
  title: "Permissions",
  description:
    "What the agent may do: a preset, or rules that add to a preset. Denying rules override allowing rules.",
  oneOf: [{ type: "string", enum: permissionPresets }, permissionRules],
  default: "read-only",
} as const;

export type PermissionRules = SchemaType<typeof permissionRules>;
/** A preset of permissions, or rules that add to one. */
export type Permissions = SchemaType<typeof permissionsSchema>;

/** The tools with which a model reports to the runner. Each takes one string parameter named `argument`. */
export const availableTools = [
  "job_prepare_document",
  "job_boolean_true",
  "job_boolean_false",
  "job_prerequisite_failed",
] as const;
export type JobTool = (typeof availableTools)[number];

export const reportedBy: Readonly<Record<string, JobTool>> = {
  "reported-document": "job_prepare_document",
  "reported-true-reason": "job_boolean_true",
  "reported-false-reason": "job_boolean_false",
};

/** A task hands in its results with these. They are not in `availableTools`, which the library exports. */
const reportTools: readonly string[] = [
  "job_report",
  "job_result",
  "job_annotate",
  "job_resolve",
  "job_reply",
  "job_verdict",
  "job_propose",
  "job_remember",
];

export const allJobTools: readonly string[] = [...availableTools, ...reportTools];

export const protocolTools = ["task_manager", "trap_card", "delegate"] as const;

/** Tools of the Copilot runtime for any model and system. It takes such a name for its own tool. */
export const runtimeTools: readonly string[] = [
  "view",
  "grep",
  "rg",
  "glob",
  "create",
  "edit",
  "apply_patch",
  "str_replace_editor",
  "bash",
  "read_bash",
  "write_bash",
  "stop_bash",
  "list_bash",
  "powershell",
  "read_powershell",
  "write_powershell",
  "stop_powershell",
  "list_powershell",
  "web_fetch",
  "web_search",
  "skill",
  "lsp",
  "sql",
  "task",
  "task_complete",
  "read_agent",
  "list_agents",
  "write_agent",
];

export function ownerOf(name: string): string | undefined {
  if (allJobTools.includes(name)) return "a job tool";
  if ((protocolTools as readonly string[]).includes(name)) return "a part of the action protocol";
  return runtimeTools.includes(name) ? "a tool of the Copilot runtime" : undefined;
}

/**
 * `pattern`: without its `!`. `./name` is a tool of the entry, never one of the runtime. (As an allowance, `*` doesn't
 * cover delegation: `mayDelegate` sees to that.)
 */
export function toolPatternMatches(pattern: string, name: string): boolean {
  if (pattern === "*") return true;
  if (pattern.endsWith("/*")) {
    const server = pattern.slice(0, -1);
    return name.startsWith(server) && name.length > server.length;
  }
  if (pattern.startsWith("./")) return name === pattern.slice(2);
  return name === pattern;
}

export function isToolWildcard(pattern: string): boolean {
  return pattern === "*" || pattern.endsWith("/*");
}

/** Why a pattern, without its `!`, is none; undefined if it is one. */
export function toolPatternProblem(pattern: string): string | undefined {
  if (pattern === "") return "it is empty";
  const fixed = isToolWildcard(pattern) ? pattern.slice(0, -1) : pattern;
  if (fixed.includes("*") || fixed === "/") {
    return "a star must stand alone, or for all tools of a server (server/*)";
  }
  return undefined;
}

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

/** Where permissions start from: see `docs/permissions.md`. */
export type PermissionPreset = "read-only" | "workspace" | "all";
/** All of them, from the strictest on. */
export const permissionPresets: readonly PermissionPreset[] = ["read-only", "workspace", "all"];

/** Fields add to the preset (default `read-only`); a pattern that starts with `!` denies, and deny wins. */
export interface PermissionRules {
  readonly preset?: PermissionPreset;
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly shell?: true | readonly string[];
  readonly url?: readonly string[];
  /** Hosts that commands may reach: names, `*.example.com`, `localhost`. Those of `url` are among them. */
  readonly hosts?: readonly string[];
  readonly tools?: readonly string[];
  /** Whether the system enforces all this for programs. Default: `auto`. */
  readonly sandbox?: SandboxMode;
}

/** `auto`: without a sandbox here, only tasks that start no programs run. `required`: every task needs one. */
export type SandboxMode = "auto" | "required" | "off";
/** All of them, from the weakest on. */
export const sandboxModes: readonly SandboxMode[] = ["off", "auto", "required"];

/** What an agent may do: a preset, or rules that add to one. */
export type Permissions = PermissionPreset | PermissionRules;

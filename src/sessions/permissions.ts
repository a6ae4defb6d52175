/** Placeholder policy until the whole one lands below. */
import type { Permissions } from "../entry/model.ts";

export function toolsFor(permissions: Permissions): string[] {
  const preset =
    typeof permissions === "string" ? permissions : (permissions.preset ?? "read-only");
  const read = ["view", "rg", "grep", "glob"];
  const write = ["create", "edit", "apply_patch", "bash", "read_bash", "stop_bash", "list_bash"];
  const names = preset === "read-only" ? read : [...read, ...write];
  return [...names.map((name) => `builtin:${name}`), "custom:*"];
}

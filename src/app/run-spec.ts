/** What a run is, in the engine's terms: the same for every edge. */
import { createHash } from "node:crypto";
import type { RunSpec } from "../engine/plan.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { effectivePermissions } from "../permissions/rules.ts";

/** Of agent-jobs. Kept equal to `package.json` by a test. */
export const version = "0.1.0";

interface SpecOptions {
  readonly entry: PreparedEntry;
  /** The entry before its models were overridden. Default: the same. */
  readonly fingerprintOf?: PreparedEntry;
  /** As the user named it. */
  readonly entryFile?: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  /** Default permissions, and an upper bound for those of the entry. */
  readonly permissions: PermissionPreset | undefined;
}

export function runSpec({ fingerprintOf, permissions, ...options }: SpecOptions): RunSpec {
  const { entry } = options;
  return {
    ...options,
    version,
    entryFingerprint: entryFingerprint(fingerprintOf ?? entry),
    permissionsOf: (taskId) =>
      effectivePermissions(entry.permissions, entry.tasks[taskId]?.permissions, permissions),
  };
}

/**
 * SHA-256 of the content of an entry, in hex. Formatting, comments and the order of fields make no difference, nor do
 * `$schema` and the prompt variables themselves: prompts are hashed with their variables expanded.
 */
export function entryFingerprint(entry: PreparedEntry): string {
  const { $schema: _schema, promptVariables: _variables, ...rest } = entry;
  return createHash("sha256")
    .update(JSON.stringify(sorted(rest)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  // As pairs: in an object, names that are numbers would come first whatever their order.
  return fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, item]) => [name, sorted(item)]);
}

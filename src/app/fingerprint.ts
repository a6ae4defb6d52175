import { createHash } from "node:crypto";
import type { PreparedEntry } from "../entry/model.ts";

/**
 * SHA-256 of what an entry says, in hex. Formatting, comments and the order of fields make no difference, nor do
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

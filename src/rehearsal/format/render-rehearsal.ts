/** Writes a rehearsal as readable text, which `loadScript` reads back unchanged. */
import { stringify } from "yaml";
import type { RehearsalFile } from "./rehearsal-schema.ts";

export function renderRehearsal(
  rehearsal: RehearsalFile,
  format: "yaml" | "json" = "yaml",
): string {
  if (format === "json") return `${JSON.stringify(rehearsal, undefined, 2)}\n`;
  return stringify(rehearsal, {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    blockQuote: "literal",
  });
}

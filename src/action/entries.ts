/** Suggestions for the path of an entry that doesn't exist. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { findEntries } from "../run/find-files.ts";

/** Undefined if there is something at the path, whatever it is. */
export async function missingEntry(workspace: string, path: string): Promise<string | undefined> {
  const found = await stat(resolve(workspace, path)).catch(() => undefined);
  if (found !== undefined) return undefined;
  return `There is no entry ${path} in the workspace (${workspace}). Is \`actions/checkout\` missing before this step? ${await entriesThere(workspace)}`;
}

/** A sentence that names the entries of the workspace. */
export async function entriesThere(workspace: string): Promise<string> {
  const entries = await findEntries(workspace);
  if (entries.length === 0) return "The workspace has no entries.";
  const more = entries.length > SHOWN ? ` and ${entries.length - SHOWN} more` : "";
  return `The workspace has these entries: ${entries.slice(0, SHOWN).join(", ")}${more}.`;
}

const SHOWN = 10;

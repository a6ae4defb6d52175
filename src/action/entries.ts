/** Suggestions for the path of an entry that doesn't exist. */
import { open, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

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
const MAX_DEPTH = 4;
const MAX_FOLDERS = 300;
const MAX_FILES = 300;
const MAX_BYTES = 64 * 1024;

/** Looks for a short while: a repository can be large. Sorted; relative to the workspace, with `/`. */
async function findEntries(workspace: string): Promise<string[]> {
  const entries: string[] = [];
  // Breadth first, so that what is near is found before the bounds are met.
  const folders: { readonly path: string; readonly depth: number }[] = [{ path: "", depth: 0 }];
  let files = 0;
  for (let next = 0; next < folders.length && next < MAX_FOLDERS; next += 1) {
    const { path, depth } = folders[next] ?? { path: "", depth: 0 };
    const children = await readdir(join(workspace, path), { withFileTypes: true }).catch(() => []);
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === "" ? child.name : `${path}/${child.name}`;
      if (child.isDirectory() && depth < MAX_DEPTH && isLookedInto(child.name)) {
        folders.push({ path: name, depth: depth + 1 });
      }
      const isCandidate =
        child.isFile() && /^[\p{L}\p{N} ._@+-]*(?<!\.rehearsal)\.(?:json|ya?ml)$/u.test(child.name);
      if (!isCandidate || files >= MAX_FILES) continue;
      files += 1;
      if (await looksLikeEntry(join(workspace, name))) entries.push(name);
    }
  }
  return entries.toSorted();
}

function isLookedInto(name: string): boolean {
  return name !== ".git" && name !== "node_modules";
}

/** Recognized by the three fields that each entry has, valid or not. */
async function looksLikeEntry(path: string): Promise<boolean> {
  try {
    const handle = await open(path, "r");
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES));
      const text = buffer.toString("utf8", 0, bytesRead);
      return ["models", "tasks", "jobs"].every((field) =>
        new RegExp(`(?:^|[{,])\\s*["']?${field}["']?\\s*:`, "m").test(text),
      );
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}

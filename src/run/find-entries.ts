/** The entries of a folder, for people who have not named one. */
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";

const MAX_DEPTH = 4;
const MAX_FOLDERS = 300;
const MAX_FILES = 300;
const MAX_BYTES = 64 * 1024;

/** Looks for a short while: a repository can be large. Sorted; relative to the workspace, with `/`. */
export async function findEntries(workspace: string, maxDepth = MAX_DEPTH): Promise<string[]> {
  const entries: string[] = [];
  // Breadth first, so that what is near is found before the bounds are met.
  const folders: { readonly path: string; readonly depth: number }[] = [{ path: "", depth: 0 }];
  let files = 0;
  for (let next = 0; next < folders.length && next < MAX_FOLDERS; next += 1) {
    const { path, depth } = folders[next] ?? { path: "", depth: 0 };
    const children = await readdir(join(workspace, path), { withFileTypes: true }).catch(() => []);
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === "" ? child.name : `${path}/${child.name}`;
      if (child.isDirectory() && depth < maxDepth && isLookedInto(child.name)) {
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

/**
 * Sizes and hashes of the files of an installed runtime, noted in its folder when it is installed. Detects damage,
 * not attacks: a process that can write to the folder can change the note as well.
 */
import { createHash } from "node:crypto";
import { createReadStream, promises as fs } from "node:fs";
import { join, sep } from "node:path";
import { errorCode } from "../platform/system-error.ts";

const noteName = "agent-jobs-files.json";

interface NotedFile {
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Must be called before other processes can see the folder. */
export async function noteFiles(root: string): Promise<void> {
  const noted: Record<string, NotedFile> = {};
  for (const child of await fs.readdir(root, { recursive: true, withFileTypes: true })) {
    if (!child.isFile()) continue;
    const path = join(child.parentPath, child.name);
    const { size } = await fs.stat(path);
    noted[path.slice(root.length + 1).replaceAll(sep, "/")] = { size, sha256: await hashOf(path) };
  }
  await fs.writeFile(join(root, noteName), JSON.stringify(noted));
}

/** How the files differ from what was noted; undefined if they don't, or nothing was. Never rejects. */
export async function damageOf(root: string, signal: AbortSignal): Promise<string | undefined> {
  const noted = await readNote(root);
  if (typeof noted !== "object") return noted;
  // Sizes first: they cost next to nothing.
  for (const [name, { size }] of noted) {
    const found = await fs.stat(join(root, name)).catch(() => undefined);
    if (found === undefined) return `${name} is missing`;
    if (found.size !== size) return `${name} has ${found.size} bytes, not ${size}`;
  }
  for (const [name, { sha256 }] of noted) {
    if (signal.aborted) return undefined;
    const found = await hashOf(join(root, name)).catch(() => "unreadable");
    if (found !== sha256) return `${name} has changed since the installation (SHA-256)`;
  }
  return undefined;
}

/** A text explains what is wrong with the note itself. */
async function readNote(root: string): Promise<Map<string, NotedFile> | string | undefined> {
  try {
    const text = await fs.readFile(join(root, noteName), "utf8");
    const note: unknown = JSON.parse(text);
    const files = typeof note === "object" && note !== null ? Object.entries(note) : [];
    const noted = files.filter((file): file is [string, NotedFile] => isNoted(file[1]));
    return noted.length > 0 && noted.length === files.length
      ? new Map(noted)
      : `${noteName} is invalid`;
  } catch (error) {
    // Unpacked manually or by an older version, so there is nothing to compare with.
    if (errorCode(error) === "ENOENT") return undefined;
    return `${noteName} can't be read`;
  }
}

function isNoted(value: unknown): value is NotedFile {
  return (
    typeof value === "object" &&
    value !== null &&
    "size" in value &&
    typeof value.size === "number" &&
    "sha256" in value &&
    typeof value.sha256 === "string"
  );
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest("hex");
}

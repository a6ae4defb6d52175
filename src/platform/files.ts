/** The few things this project does to files, behind one door. */
import { promises as fs } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder of our own under the system's temporary directory and returns its absolute path. */
export async function makeTemporaryDirectory(prefix: string): Promise<string> {
  return fs.mkdtemp(join(tmpdir(), prefix));
}

/** Creates a folder and its parents; one that is there is fine. */
export async function makeDirectory(path: string): Promise<void> {
  await fs.mkdir(path, { recursive: true });
}

/** Removes a folder and all it holds; one that is not there is fine. A writer that is just ending is waited for. */
export async function removeDirectory(path: string): Promise<void> {
  await fs.rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** A folder for the feeds of a host whose owner has none: removed at its end, or by the next run after a crash. */
import { removeDirectory } from "../platform/files.ts";
import { makeRunFolder } from "../platform/run-folder.ts";

export interface FeedsFolder {
  /** Absolute. Only the current user has access. */
  readonly path: string;
  readonly remove: () => Promise<void>;
}

export async function makeFeedsFolder(): Promise<FeedsFolder> {
  const { path } = await makeRunFolder("feeds-");
  return { path, remove: () => removeDirectory(path) };
}

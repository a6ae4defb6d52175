import { constants, realpathSync, statSync } from "node:fs";
import { access, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { makeDirectory } from "../platform/files.ts";
import { errorMessage } from "../platform/system-error.ts";
import { unable, UsageError, type WriteName } from "./options.ts";

export function checkOutputs(
  inputs: readonly (string | undefined)[],
  outputs: Readonly<Record<string, string | undefined>>,
): void {
  const taken = new Map(
    inputs.flatMap((path) => (path === undefined ? [] : [[identity(path), path]])),
  );
  for (const [what, path] of Object.entries(outputs)) {
    if (path === undefined) continue;
    const other = taken.get(identity(path));
    if (other !== undefined) {
      throw new UsageError(`The ${what} ${path} would overwrite ${other}. Choose another file.`);
    }
    taken.set(identity(path), path);
  }
}

/** All names of a file have one identity, hard and symbolic links included. */
function identity(path: string): string {
  const absolute = resolve(path);
  try {
    const found = statSync(absolute, { bigint: true, throwIfNoEntry: false });
    return found === undefined
      ? join(realpathSync(dirname(absolute)), basename(absolute))
      : `${found.dev}:${found.ino}`;
  } catch {
    return absolute;
  }
}

export async function checkWorkingDirectory(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new UsageError(`The working directory ${path} does not exist.`);
  if (!found.isDirectory()) throw new UsageError(`The working directory ${path} is not a folder.`);
  await access(path, constants.R_OK | constants.X_OK).catch(unable(`read ${path}`));
}

/** Writes a report that the user has named. Its folder is made. */
export async function writeTextFile(path: string, text: string, what = ""): Promise<void> {
  const failed = unable(`write ${what}${path}`);
  await makeDirectory(dirname(path)).catch(failed);
  await writeFile(path, text).catch(failed);
}

const MAX_INPUT_BYTES = 10 * 1024 * 1024;

/** `regular`: not a pipe, and not over 10 MB, for a file that another user may have created. */
export async function readUserInputFile(
  path: string,
  write: WriteName,
  { regular = false }: { readonly regular?: boolean } = {},
): Promise<string> {
  try {
    const found = regular ? await stat(path) : undefined;
    if (found?.isFile() === false) throw new Error("it is not a regular file");
    if (found !== undefined && found.size > MAX_INPUT_BYTES)
      throw new Error(`it has ${found.size} bytes, more than the maximum of ${MAX_INPUT_BYTES}`);
    return await readFile(path, "utf8");
  } catch (error) {
    const why = errorMessage(error);
    throw new UsageError(`Can't read ${write("user-input-file")}: ${why}.`);
  }
}

/** `copilot/test/installJobsEntry`: a client gives the server another entry, from a file of one folder. */
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import type { JobHost } from "../live/job-host.ts";
import { DiagnosticsError } from "../document/diagnostic.ts";
import { errorMessage } from "../platform/system-error.ts";

export type Installed =
  | { readonly result: "OK" }
  | {
      readonly result: "InvalidatePath" | "InvalidateEntry" | "Rejected";
      readonly error: string;
    };

/** `path`: as the client sent it. */
export async function installEntry(
  host: JobHost,
  path: string,
  folder: string,
): Promise<Installed> {
  const file = await fileIn(folder, path);
  if (file === undefined) {
    const error = "The path must be the absolute path of a file in the folder of --entries-dir.";
    return { result: "InvalidatePath", error };
  }
  try {
    await host.installEntryFile(file, { checkModels: true });
    return { result: "OK" };
  } catch (error) {
    const result = error instanceof DiagnosticsError ? "InvalidateEntry" : "Rejected";
    return { result, error: errorMessage(error) };
  }
}

/** The file without links, if it is in the folder. */
async function fileIn(folder: string, path: string): Promise<string | undefined> {
  if (!isAbsolute(path) || path.split(/[/\\]/).includes("..")) return undefined;
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(path)]);
    const inside = relative(root, file);
    const isInside = inside !== "" && inside !== ".." && !inside.startsWith(`..${sep}`);
    return isInside && !isAbsolute(inside) ? file : undefined;
  } catch {
    return undefined;
  }
}

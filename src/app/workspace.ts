/** The folder that a rehearsal makes for itself: its files, if it wants a commit of them, then nothing left. */
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory, removeDirectory } from "../platform/files.ts";
import { runGit } from "../platform/git.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import type { Workspace } from "../rehearsal/script.ts";
import type { ModelAccess } from "./options.ts";
import { UsageError } from "./usage-error.ts";

export interface MadeWorkspace {
  /** Absolute, without links. */
  readonly path: string;
  remove(): Promise<void>;
}

/** Throws a `UsageError` if the files can't be written or git fails; then nothing is left either. */
export async function makeWorkspace(
  { files, git: wantsCommit }: Workspace,
  environment: ModelAccess["environment"],
): Promise<MadeWorkspace> {
  const folder = await realpath((await makeRunFolder("workspace-")).path);
  const path = join(folder, "workspace");
  const remove = (): Promise<void> => removeDirectory(folder);
  try {
    await makeDirectory(path);
    for (const [name, content] of Object.entries(files)) {
      const file = join(path, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    if (wantsCommit) await commitAll(path, environment);
    return { path, remove };
  } catch (error) {
    await remove();
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The workspace of the rehearsal can't be made: ${why}`);
  }
}

/** Always the same commit for the same files, whatever git is told on this machine. */
async function commitAll(cwd: string, environment: ModelAccess["environment"]): Promise<void> {
  const date = "2026-01-01T00:00:00Z";
  const variables = {
    GIT_AUTHOR_NAME: "rehearsal",
    GIT_AUTHOR_EMAIL: "rehearsal@example.com",
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: "rehearsal",
    GIT_COMMITTER_EMAIL: "rehearsal@example.com",
    GIT_COMMITTER_DATE: date,
  };
  const options = { cwd, environment, variables };
  await runGit(["init", "--quiet", "--initial-branch=main"], options);
  await runGit(["add", "--all"], options);
  const message = "The workspace of the rehearsal";
  await runGit(["commit", "--quiet", "--allow-empty", `--message=${message}`], options);
}

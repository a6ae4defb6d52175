/** What is checked out. Git is asked in a way in which nothing that is checked out can make it run a program. */
import { runProgram } from "../platform/processes.ts";
import { sha } from "./event.ts";
import type { Environment } from "./inputs.ts";

/** The commit that a folder is at; undefined if it is in no checkout or git is not there. */
export async function checkedOutCommit(
  folder: string,
  environment: Environment,
): Promise<string | undefined> {
  const settings = [
    // Containers run as another user than the one who checked out.
    `safe.directory=*`,
    // A folder of the checkout that looks like a repository without being one.
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
  ].flatMap((setting) => ["-c", setting]);
  const names = ["PATH", "HOME", "SYSTEMROOT"];
  const env = Object.fromEntries(names.map((name) => [name, environment[name]]));
  try {
    const args = [...settings, "rev-parse", "--verify", "HEAD"];
    return sha((await runProgram("git", args, { cwd: folder, env })).trim());
  } catch {
    return undefined;
  }
}

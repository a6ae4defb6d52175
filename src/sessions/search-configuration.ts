/**
 * The configuration of ripgrep for every search of a runtime: a file of credentials is searched as if it were
 * empty. So neither its name nor its content is in any result, and no search needs a check during a session.
 *
 * A glob alone is not enough: a glob of the model comes later, and wins. `--pre` has no such exception: for a
 * file with such a name, ripgrep searches the output of a program instead of its content, and `true` has none.
 * If that program is removed during a run, the search fails.
 */
import type { Environment } from "../platform/environment.ts";
import { findProgram } from "../platform/search-path.ts";
import { orderedPrivateGlobs, privateNamesGlob } from "../permissions/private-files.ts";

/**
 * The content of the file that `RIPGREP_CONFIG_PATH` names: one argument on each line. Undefined where there is no
 * such program: then the hooks of `search-results.ts` filter results.
 */
export function searchConfiguration(environment: Environment): string | undefined {
  const empty = process.platform === "win32" ? undefined : findProgram("true", environment);
  if (empty === undefined) return undefined;
  const lines = [
    `--pre=${empty}`,
    ...orderedPrivateGlobs().map((glob) => `--pre-glob=${glob}`),
    // Only so that a large folder of such a name isn't gone through file by file.
    `--glob=!${privateNamesGlob}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * What ripgrep, by which the runtime searches, is told for every search of a runtime: a file of credentials is
 * searched as if it were empty. So neither its name nor its content is in any form of result, and while a session
 * runs nothing has to be asked of us.
 *
 * A glob alone would not do: one that the model gives comes later, and wins. `--pre` has no such exception: for a
 * file with such a name, the output of a program is searched in place of its content, and `true` has none. Where
 * that program is missing, such a file is an error instead.
 */
import { exactPrivateGlobs, privateNamesGlob } from "../permissions/private-files.ts";

/** The content of the file that `RIPGREP_CONFIG_PATH` names: one argument on each line. */
export function searchConfiguration(): string {
  const lines = [
    "--pre=true",
    ...exactPrivateGlobs().flatMap((glob) => [`--pre-glob=${glob}`, `--pre-glob=${glob}/**`]),
    // Only so that a large folder of such a name isn't gone through file by file.
    `--glob=!${privateNamesGlob}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

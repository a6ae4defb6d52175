/** The names that files of a rehearsal's workspace may have: relative paths, but none that git reserves for itself. */
import { posix, win32 } from "node:path";

/** Why a file can't have this name; undefined if it can. */
export function refusedName(
  name: string,
): { readonly reason: string; readonly hint: string } | undefined {
  if (!isWithin(name)) {
    return {
      reason: "This is not a path inside the workspace.",
      hint: "write a relative path with /, without . and ..",
    };
  }
  if (name.split("/").some(isGitsOwn)) {
    return {
      reason:
        "On some systems, git would read this as a file of the repository, whose settings can start programs.",
      hint: 'set "git: true" to make the workspace a repository',
    };
  }
  return undefined;
}

/** A part of what git takes: no name that an option, a revision or a file of git's own could be taken for. */
export function isBranchName(name: string): boolean {
  return (
    name.length <= 200 &&
    /^[A-Za-z0-9_][A-Za-z0-9._/+=#-]*$/.test(name) &&
    !/\.\.|\/\/|\/\.|[/.]$|\.lock(?:\/|$)/.test(name) &&
    name !== "HEAD"
  );
}

/** A relative path in its shortest form that stays below where it starts, with `/` on every system. */
function isWithin(path: string): boolean {
  return (
    path !== "" &&
    posix.normalize(path) === path &&
    !/^\.{0,2}(?:\/|$)|\/$|\\|\0/.test(path) &&
    !win32.isAbsolute(path)
  );
}

/** What file systems of Windows and macOS take for the same name: case, short names, streams, ends, invisible signs. */
function isGitsOwn(part: string): boolean {
  const plain = part
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toLowerCase()
    .replace(/:.*$/s, "")
    .replace(/(?<![. ])[. ]+$/, "");
  return plain === ".git" || /^git~\d+$/.test(plain);
}

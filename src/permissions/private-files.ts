/** Names of what holds credentials or runs code: as parts of a path, and as globs of a search. One list for both. */

/** Git's own folder, files of passwords and keys. A folder of such a name is private with all it holds. */
const names = [".git", ".git-credentials", ".netrc", "_netrc", ".npmrc", ".pypirc", ".ssh"];

/** Settings are not committed; these are, as `.env.example`. */
const examples = ["example", "sample", "template", "dist", "defaults"];

/** For a regular expression that ignores case. A part ends before a separator, a colon or a hyphen. */
export const privateParts = [
  ...names.map((name) => name.replace(".", String.raw`\.`)),
  String.raw`\.env(?!\.(?:${examples.join("|")})(?:$|[:-]))(?:\.[^\\/:]+?)?`,
  // What google-github-actions/auth writes into the workspace.
  String.raw`gha-creds-[^\\/:]*?\.json`,
].join("|");

const privatePart = new RegExp(`^(?:${privateParts})$`, "i");

/** Whether any part of the path is one of those names. */
export function isPrivate(path: string): boolean {
  return path.split(/[\\/]/).some((part) => privatePart.test(part));
}

/**
 * The same for a search, where these become a part of the conversation: so they are short, and leave a rest
 * to the check of its result. That are names in capitals, and those that begin as an example does.
 */
export const privateGlobs: readonly string[] = [
  `!**/{${[...names, ".env", "gha-creds-*.json"].join(",")}}`,
  `!**/.env.{${notAs(examples).join(",")}}`,
];

/** No glob says “not this word”: globs of all that differs in the first three letters. */
function notAs(words: readonly string[]): string[] {
  const globs = new Set<string>();
  for (const word of words) {
    for (const length of [0, 1, 2]) {
      const start = word.slice(0, length);
      const like = words.filter((other) => other.startsWith(start));
      const next = new Set(like.map((other) => other.charAt(length)));
      globs.add(`${start}[!${[...next].join("")}]*`);
      if (start !== "") globs.add(start);
    }
  }
  return [...globs];
}

/** Git's own folder, files of passwords and keys, settings. A folder of such a name is private with all it holds. */
const names = [
  ".git",
  ".git-credentials",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".ssh",
  ".envrc",
  ".env",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
];

/** The file that google-github-actions/auth writes into the workspace. */
const credentials = { part: String.raw`gha-creds-[^\\/:]{0,200}?\.json`, glob: "gha-creds-*.json" };

/** Endings of what is committed, beside public keys. Only whole endings: `.env.example-prod` is private. */
const examples = ["example", "sample", "template", "dist", "defaults"];

/**
 * For a regular expression that ignores case, and a whole part of a path. What editors leave beside a file is as private
 * as the file: `.npmrc~`, `#.env#`, `.#.env`, `..env.un~`, `._.netrc`, `.netrc.bak`, `~$.env`, `.~lock..env#`, `.env,v`,
 * `.npmrc-old`.
 */
const privateParts = [
  String.raw`(?:\.?#|\._?|~\$?|\.~lock\.)?`,
  `(?:${[...names.map((name) => name.replace(".", String.raw`\.`)), credentials.part].join("|")})`,
  String.raw`(?!\.(?:${examples.join("|")})$|(?<=id_\w+)\.pub$)`,
  String.raw`(?:[~#. ,%][^\\/:]*?|(?<!\.git)[-_][^\\/:]*?)?`,
].join("");

const privatePart = new RegExp(`^(?:${privateParts})$`, "i");

/** Whether any part of the path is one of those names. On Windows, `.env::$DATA` and `.env:x` are streams of `.env`. */
export function isPrivate(path: string): boolean {
  return path.split(/[\\/]/).some((part) => privatePart.test(part.replace(/:.*$/s, "")));
}

export const privateNamesGlob = `**/{${[...names, credentials.glob].join(",")}}`;

/**
 * For ripgrep: in any case, with every ending. A later one wins; `!` says that a file is not private. A folder of the
 * name of an example counts as private, which costs less than to tell it from the others. No list may be empty.
 */
export function orderedPrivateGlobs(): string[] {
  const listed = `{${[...names, credentials.glob].map(anyCase).join(",")}}`;
  const example = `${listed}.{${examples.map(anyCase).join(",")}}`;
  const publicKey = anyCase("id_{rsa,dsa,ecdsa,ed25519}.pub");
  const others = names.filter((name) => name !== ".git");
  const files = `{${[...others, credentials.glob].map(anyCase).join(",")}}`;
  const like = [listed, `${listed}[~#,% ]*`, `${listed}.*`, `${files}[-_]*`];
  const globs = [...like, `!${example}`, `!${publicKey}`, ...like.map((glob) => `${glob}/**`)];
  return globs.flatMap((glob) =>
    ["", "{#,.#,.,._,~,~$,.~lock.}"].map((prefix) =>
      glob.replace(/^!?/, (not) => `${not}**/${prefix}`),
    ),
  );
}

function anyCase(text: string): string {
  return text.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Files of a repository at a commit, read through GitHub's API: those of the base, and entries of other repositories. */
import { formatOfFile } from "../document/read-document.ts";
import type { GithubApi } from "./github-api.ts";
import { sha } from "./webhook-event.ts";

export interface CommitFiles {
  readonly commit: string;
  /** For the log and errors: `the base`, or the repository. */
  readonly called: string;
  /** The advice if a file can't be read. */
  readonly help: string;
  readonly read: (path: string) => Promise<Uint8Array>;
}

export function filesOfBase(api: GithubApi, commit: string, help: string): CommitFiles {
  return { commit, called: "the base", help, read: (path) => api.readFile(path, commit) };
}

/** `api` has a token that may read the repository. */
export function filesOfCentral(
  api: GithubApi,
  { repository, path, commit }: CentralEntry,
  tokenName: string,
): CentralFiles {
  const help = `Either ${repository} has no such file at that commit, or the token may not read it. The token needs \`contents: read\` for ${repository}; the built-in token of a job has that for its own repository and for public ones only. Give ${tokenName} a token of a GitHub App, or a fine-grained personal token, with “Contents: read” for ${repository}.`;
  const read = (file: string): Promise<Uint8Array> => api.readFile(file, commit, repository);
  return { commit, called: repository, help, path, name: `${repository}/${path}`, read };
}

export interface CentralFiles extends CommitFiles, Pick<CentralEntry, "path"> {
  /** Names the entry in comments, which have to be found again after its commit was changed. */
  readonly name: string;
}

export interface CentralEntry {
  readonly repository: string;
  /** In the repository. */
  readonly path: string;
  readonly commit: string;
}

/** Reads `owner/repo/path@SHA`. Undefined: it is a file, whatever folders it is in. */
export function parseCentral(
  text: string,
): { kind: "value"; value: CentralEntry | undefined } | { kind: "wrong"; problem: string } {
  const wrong = (reason: string) =>
    ({ kind: "wrong", problem: `is ${JSON.stringify(text)}. ${reason}` }) as const;
  const isFile = formatOfFile(text) !== undefined || /\.md$/i.test(text);
  const at = text.lastIndexOf("@");
  if (isFile || at === -1) return { kind: "value", value: undefined };
  const [place, ref] = [text.slice(0, at), text.slice(at + 1)];
  const [owner, repo, ...path] = place.split("/");
  const isNamed = /^[\w.-]+\/[\w.-]+\/./.test(place);
  if (!isNamed || /(?:^|\/)\.{0,2}(?:\/|$)/.test(place))
    return wrong(
      `An entry of another repository is written owner/repo/path@SHA, with the path of the file in that repository. A file of the workspace has no @SHA`,
    );
  const commit = sha(ref.toLowerCase());
  if (commit === undefined)
    return wrong(
      `After the @ must be a full commit SHA of 40 digits, not ${JSON.stringify(ref)}: a branch or a tag can be moved to files that nobody here has reviewed, and a short SHA can get ambiguous. \`git ls-remote https://github.com/${owner}/${repo}\` shows the SHA of each branch and tag`,
    );
  const repository = `${owner}/${repo}`;
  return { kind: "value", value: { repository, path: path.join("/"), commit } };
}

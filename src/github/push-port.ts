/** The branch of a pull request, and commits on it, over GitHub's API. Every method rejects with an Error whose message can be shown to users. */
import type { ProposedFile } from "../events/output-shapes.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { at, sameRepository, sha, textAt } from "./webhook-event.ts";

export interface PullBranch {
  /** Its head. Undefined: nobody was asked, for a rehearsal. */
  readonly head: string | undefined;
  readonly branch: string;
  /** Its head is in another repository, or that is unknown. */
  readonly isFork: boolean;
  readonly isDefault: boolean;
}

export interface CommitOnBranch {
  readonly branch: string;
  /** The commit that the branch must be at. */
  readonly head: string;
  readonly headline: string;
  readonly body: string;
  readonly files: readonly ProposedFile[];
}

/** The trailer in the message of each pushed commit: how many there are in a row, and the key of this one. */
export const trailer = "Agent-Jobs-Push";

export function readTrailer(
  message: string,
): { readonly count: number; readonly key: string } | undefined {
  const all = [...message.matchAll(/^Agent-Jobs-Push: (\d{1,3}) \(([\w/-]+)\)$/gm)];
  const [, count = "", key = ""] = all.at(-1) ?? [];
  return key === "" ? undefined : { count: Number(count), key };
}

const mutation =
  "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid url } } }";

export function createPushPort(
  api: GithubApi,
  repository: string,
  redact: (text: string) => string,
) {
  return {
    async branchOf(pull_number: number): Promise<PullBranch> {
      const pull = await api.get("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number });
      const [head, base] = [at(pull, "head"), at(pull, "base", "repo")];
      const branch = textAt(head, "ref");
      if (branch === undefined)
        throw new GithubFailure(`GitHub names no branch of #${pull_number}`, 404);
      return {
        head: sha(at(head, "sha")),
        branch,
        isFork: !sameRepository(at(head, "repo"), base),
        isDefault: branch === (textAt(base, "default_branch") ?? branch),
      };
    },
    async messageOf(commit_sha: string): Promise<string> {
      const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
      return textAt(await api.get(route, { commit_sha }), "message") ?? "";
    },
    /** GitHub signs it, and refuses it unless `head` is the head of the branch. */
    async commitOnBranch({
      branch,
      head,
      headline,
      body,
      files,
    }: CommitOnBranch): Promise<{ readonly url?: string | undefined }> {
      const additions = files.flatMap(({ path, content, encoding }) =>
        content === null
          ? []
          : [{ path, contents: Buffer.from(content, encoding).toString("base64") }],
      );
      const deletions = files.flatMap(({ path, content }) => (content === null ? [{ path }] : []));
      const input = {
        branch: { repositoryNameWithOwner: repository, branchName: branch },
        expectedHeadOid: head,
        message: { headline: redact(headline), body: redact(body) },
        fileChanges: { additions, deletions },
      };
      const made = await api.graphql(mutation, { input }, "once");
      const commit = at(made, "createCommitOnBranch", "commit");
      if (sha(at(commit, "oid")) === undefined)
        throw new GithubFailure("GitHub's answer names no commit");
      return { url: textAt(commit, "url") };
    },
  };
}

/** For a rehearsal, which asks nobody and writes nothing. */
export const offlinePushPort: ReturnType<typeof createPushPort> = {
  branchOf: () => Promise.resolve({ head: undefined, branch: "", isFork: false, isDefault: false }),
  messageOf: () => Promise.resolve(""),
  commitOnBranch: () => Promise.reject(new GithubFailure("a rehearsal writes nothing")),
};

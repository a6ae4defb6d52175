/** Commits on the branch of a pull request, over GitHub's API. */
import type { ProposedFile } from "../events/output-shapes.ts";
import { GithubFailure } from "./github-api.ts";
import type { Calls, Made } from "./graphql.ts";
import { at, sha, textAt } from "./webhook-event.ts";

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

export function createPushCalls({ api, redact }: Calls, repository: string) {
  return {
    async messageOf(commit_sha: string): Promise<string> {
      const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
      return textAt(await api.get(route, { commit_sha }), "message") ?? "";
    },
    /** GitHub signs it, and refuses it unless `head` is the head of the branch. */
    async commitOnBranch({ branch, head, headline, body, files }: CommitOnBranch): Promise<Made> {
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

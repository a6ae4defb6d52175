/** Further facts about a thread from GitHub: who in it has write access, and whether its line still exists. */
import { hasLine } from "../outputs/check-finding.ts";
import { NotFoundError, type GithubApi } from "./github-api.ts";
import type { ReviewThread } from "./review-threads.ts";
import { mayWrite } from "./trust.ts";

export type ThreadFacts = ReturnType<typeof createThreadFacts>;

/** `head`: of the pull request. Everybody and every file is asked for once. Rejects with a `GithubFailure`. */
export function createThreadFacts(
  api: Pick<GithubApi, "get" | "permissionOf" | "readFile">,
  head: string,
) {
  const writers = new Map<string, Promise<boolean>>();
  const files = new Map<string, Promise<readonly string[] | undefined>>();
  let commit: Promise<unknown> | undefined;

  async function linesOf(path: string): Promise<readonly string[] | undefined> {
    try {
      return new TextDecoder().decode(await api.readFile(path, head)).split(/\r?\n/);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // GitHub also answers so to a token that may not read the repository.
      commit ??= api.get("GET /repos/{owner}/{repo}/git/commits/{commit_sha}", {
        commit_sha: head,
      });
      await commit;
      return undefined;
    }
  }

  /** `login`: of a user, not of a bot. */
  function canWrite(login: string): Promise<boolean> {
    const known = writers.get(login);
    if (known !== undefined) return known;
    const asked = api.permissionOf(login).then(mayWrite, (error: unknown) => {
      if (error instanceof NotFoundError) return false;
      throw error;
    });
    writers.set(login, asked);
    return asked;
  }

  return {
    canWrite,
    /** A person with write access has closed it: not a run of ours, nor the author of a pull request who can only read. */
    async isClosedByPerson({ isResolved, resolvedBy }: ReviewThread): Promise<boolean> {
      if (!isResolved || resolvedBy === undefined) return false;
      return !resolvedBy.isUs && !resolvedBy.isBot && (await canWrite(resolvedBy.login));
    },
    /** `digest`: a `lineDigest`. */
    async isGone(path: string, digest: string): Promise<boolean> {
      const lines = files.get(path) ?? linesOf(path);
      files.set(path, lines);
      return !hasLine((await lines) ?? [], digest);
    },
  };
}

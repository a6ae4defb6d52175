/** For a rehearsal, which asks nobody: a repository in which nothing was written yet, and in which nothing is. */
import type { Origin } from "../events/output-shapes.ts";
import { GithubFailure, type GithubPort, type Made } from "./github-port.ts";

export function offlinePort({ head }: Pick<Origin, "head">): GithubPort {
  const none = (): Promise<readonly never[]> => Promise.resolve([]);
  const never = (): Promise<Made> =>
    Promise.reject(new GithubFailure("a rehearsal writes nothing"));
  return {
    headOf: () => Promise.resolve({ sha: head }),
    ownComments: none,
    ownReviews: none,
    ownThreads: none,
    ownItems: none,
    isOnDefaultBranch: () => Promise.resolve(true),
    diffOf: none,
    createComment: never,
    createReview: never,
    createIssue: never,
    createPullRequest: never,
    updateComment: never,
    minimize: never,
    resolveThread: never,
    addLabels: never,
    requestReviewers: never,
    close: never,
    commit: never,
  };
}

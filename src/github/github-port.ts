/** GitHub, as far as delivery needs it. Every method rejects with an Error whose message can be shown to users. */
import type { Origin, ProposedFile } from "../events/output-shapes.ts";

export interface OwnComment {
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  readonly isMinimized: boolean;
}

/** Of the comments of a review at one place, ours is the first. */
export interface OwnThread {
  readonly nodeId: string;
  readonly body: string;
  readonly isResolved: boolean;
}

export interface OwnItem {
  readonly number: number;
  readonly body: string;
  readonly url: string;
}

export interface DiffFile {
  readonly path: string;
  /** Its hunks. GitHub gives none of a binary or a very large file. */
  readonly patch: string | undefined;
}

export interface NewReview {
  readonly head: string;
  readonly body: string;
  readonly comments: readonly {
    readonly path: string;
    /** The last one, in the head of the pull request. */
    readonly line: number;
    readonly startLine?: number;
    readonly body: string;
  }[];
}

export interface NewCommit {
  readonly base: string;
  readonly branch: string;
  readonly message: string;
  readonly files: readonly ProposedFile[];
}

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  readonly isDraft: boolean;
}

export interface Made {
  readonly url?: string;
}

export interface GithubPort {
  /** The commit that the head of a pull request is at now, and the repository that it is in, as GitHub names it by id. */
  headOf(pullRequest: number): Promise<{ readonly sha: string; readonly repositoryId?: number }>;
  /** What the owner of the token wrote, the newest first. */
  ownComments(number: number): Promise<readonly OwnComment[]>;
  ownReviews(pullRequest: number): Promise<readonly string[]>;
  ownThreads(pullRequest: number): Promise<readonly OwnThread[]>;
  /** The latest ones, open or closed. */
  ownItems(kind: "issue" | "pull_request"): Promise<readonly OwnItem[]>;
  isOnDefaultBranch(commit: string): Promise<boolean>;
  diffOf(pullRequest: number): Promise<readonly DiffFile[]>;

  /** Not repeated if it may have been done: see `GithubFailure.isUncertain`. */
  createComment(number: number, body: string): Promise<Made>;
  createReview(pullRequest: number, review: NewReview): Promise<Made>;
  createIssue(issue: { readonly title: string; readonly body: string }): Promise<Made>;
  createPullRequest(pull: NewPullRequest): Promise<Made>;

  /** The same if it is done twice. */
  updateComment(id: number, body: string): Promise<Made>;
  minimize(nodeId: string): Promise<Made>;
  resolveThread(nodeId: string): Promise<Made>;
  addLabels(number: number, labels: readonly string[]): Promise<Made>;
  requestReviewers(pullRequest: number, reviewers: readonly string[]): Promise<Made>;
  close(number: number): Promise<Made>;
  /** On a branch that is made (`isNew`), or that is set to it. */
  commit(commit: NewCommit): Promise<{ readonly isNew: boolean }>;
  deleteBranch(branch: string): Promise<Made>;
}

/** GitHub has refused a request, or has not answered it. */
export class GithubFailure extends Error {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }

  /** Whether the request may have been carried out. */
  get isUncertain(): boolean {
    return this.status === undefined || this.status >= 500 || this.status === 408;
  }
}

/** For a rehearsal, which asks nobody: a repository in which nothing was written yet, and in which nothing is. */
export function offlinePort({ head }: Pick<Origin, "head">): GithubPort {
  const none = (): Promise<readonly never[]> => Promise.resolve([]);
  const never = (): Promise<never> =>
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
    deleteBranch: never,
  };
}

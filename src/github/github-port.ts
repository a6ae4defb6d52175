/** Reads and writes for deliveries over GitHub's API. Every method rejects with an Error whose message can be shown to users. */
import type { Origin, ProposedFile } from "../events/output-shapes.ts";
import { isList } from "../text/guards.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { createCheckCalls } from "./check-port.ts";
import { createGraphql } from "./graphql.ts";
import { createPushPort, offlinePushPort } from "./push-port.ts";
import { createDecisionCalls } from "./decision-port.ts";
import { createThreadCalls } from "./review-threads.ts";
import { createThreadFacts, type ThreadFacts } from "./thread-facts.ts";
import { at, sha, textAt } from "./webhook-event.ts";

export interface OwnComment {
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  readonly isMinimized: boolean;
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
  /** May be empty if there are comments. */
  readonly body: string;
  readonly comments: readonly {
    readonly path: string;
    /** The last one, in the head of the pull request. */
    readonly line: number;
    readonly startLine?: number;
    readonly body: string;
  }[];
}

interface NewCommit {
  readonly base: string;
  readonly branch: string;
  readonly message: string;
  readonly files: readonly ProposedFile[];
}

interface Titled {
  readonly title: string;
  readonly body: string;
}

interface NewPullRequest extends Titled {
  readonly branch: string;
  readonly isDraft: boolean;
}

export interface Made {
  readonly url?: string | undefined;
}

export type GithubPort = ReturnType<typeof createGithubPort>;

const perPage = 100;

/** `redact`: a text of an agent may spell a secret in a way that only shows when it has been parsed. */
export function createGithubPort(
  api: GithubApi,
  repository: string,
  redact: (text: string) => string,
) {
  api.beginDelivery();
  const write = async (route: string, values: object, times?: "once"): Promise<Made> => ({
    url: textAt(await api.write(route, { ...values }, times), "html_url"),
  });
  const graphql = createGraphql(api, repository);
  let facts: ThreadFacts | undefined;

  const own = (all: readonly unknown[]): unknown[] =>
    all.filter((one) => at(one, "viewerDidAuthor") === true);

  async function pages(route: string, values: object): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    for (let page = 1; page <= 30; page += 1) {
      const some = await api.get(route, {
        ...values,
        per_page: String(perPage),
        page: String(page),
      });
      if (!isList(some)) break;
      found.push(...some);
      if (some.length < perPage) break;
    }
    return found;
  }

  /** Commits to a branch that is made (`isNew`), or that is set to it. */
  async function commit({ base, branch, message, files }: NewCommit) {
    const tree = [];
    for (const { path, mode, content, encoding } of files) {
      if (content === null) {
        tree.push({ path, mode, type: "blob", sha: null });
        continue;
      }
      const blob = await api.write("POST /repos/{owner}/{repo}/git/blobs", { content, encoding });
      tree.push({ path, mode, type: "blob", sha: shaOf(blob) });
    }
    const parent = await api.get("GET /repos/{owner}/{repo}/git/commits/{commit_sha}", {
      commit_sha: base,
    });
    const made = await api.write("POST /repos/{owner}/{repo}/git/trees", {
      base_tree: shaOf(at(parent, "tree")),
      tree,
    });
    const commit = shaOf(
      await api.write("POST /repos/{owner}/{repo}/git/commits", {
        message: redact(message),
        tree: shaOf(made),
        parents: [base],
      }),
    );
    const ref = `heads/${branch}`;
    try {
      await write("POST /repos/{owner}/{repo}/git/refs", { ref: `refs/${ref}`, sha: commit });
      return { isNew: true };
    } catch (error) {
      if (!(error instanceof GithubFailure) || !/already exists/i.test(error.message)) throw error;
      // An earlier attempt of this run has made it: the name is of this run alone.
      await write(`PATCH /repos/{owner}/{repo}/git/refs/${ref}`, { sha: commit, force: true });
      return { isNew: false };
    }
  }

  return {
    ...createThreadCalls({ write, graphql, redact }),
    ...createCheckCalls(api, redact),
    ...createDecisionCalls({ api, write, graphql, redact }),
    /** The commit that the head of a pull request is at now, and the id of the repository that it is in. */
    async headOf(
      pull_number: number,
    ): Promise<{ readonly sha: string; readonly repositoryId?: number }> {
      const pull = await api.get("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number });
      const repositoryId = at(pull, "head", "repo", "id");
      return {
        sha: shaOf(at(pull, "head")),
        ...(typeof repositoryId === "number" && { repositoryId }),
      };
    },
    /** Facts about threads. Each is requested once. */
    facts: (head: string) => (facts ??= createThreadFacts(api, head)),
    /** Comments of the owner of the token, the newest first. */
    async ownComments(number: number): Promise<readonly OwnComment[]> {
      const fields = "id databaseId body isMinimized viewerDidAuthor";
      const all = await graphql.nodes({ kind: "issueOrPullRequest", number }, "comments", fields);
      return own(all).map((one): OwnComment => ({
        id: Number(at(one, "databaseId")),
        nodeId: textAt(one, "id") ?? "",
        body: textAt(one, "body") ?? "",
        isMinimized: at(one, "isMinimized") === true,
      }));
    },
    async ownReviews(number: number): Promise<readonly string[]> {
      const fields = "body viewerDidAuthor";
      const all = await graphql.nodes({ kind: "pullRequest", number }, "reviews", fields);
      return own(all).map((one) => textAt(one, "body") ?? "");
    },
    /** The latest ones, open or closed. */
    async ownItems(kind: "issue" | "pull_request"): Promise<readonly OwnItem[]> {
      const list = kind === "issue" ? "issues" : "pullRequests";
      const all = await graphql.nodes("all", list, "number url body viewerDidAuthor");
      return own(all).map((one): OwnItem => ({
        number: Number(at(one, "number")),
        body: textAt(one, "body") ?? "",
        url: textAt(one, "url") ?? "",
      }));
    },
    async isOnDefaultBranch(commit: string): Promise<boolean> {
      const branch = textAt(await api.get("GET /repos/{owner}/{repo}", {}), "default_branch");
      const basehead = `${commit}...${branch}`;
      try {
        const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
        const compared = textAt(await api.get(route, { basehead, per_page: "1" }), "status");
        return compared === "ahead" || compared === "identical";
      } catch (error) {
        if (error instanceof GithubFailure && error.status === 404) return false;
        throw error;
      }
    },
    async diffOf(pull_number: number): Promise<readonly DiffFile[]> {
      const all = await pages("GET /repos/{owner}/{repo}/pulls/{pull_number}/files", {
        pull_number,
      });
      return all.map((one): DiffFile => ({
        path: textAt(one, "filename") ?? "",
        patch: textAt(one, "patch"),
      }));
    },
    /** Creations are not repeated if they may have been done: see `GithubFailure.isUncertain`. */
    createComment: (issue_number: number, body: string) =>
      write(
        "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
        { issue_number, body: redact(body) },
        "once",
      ),
    createReview: (pull_number: number, { head, body, comments }: NewReview) =>
      write(
        "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        {
          pull_number,
          commit_id: head,
          event: "COMMENT",
          ...(body !== "" && { body: redact(body) }),
          comments: comments.map(({ path, line, startLine, body: text }) => ({
            path,
            line,
            side: "RIGHT",
            body: redact(text),
            ...(startLine !== undefined && { start_line: startLine, start_side: "RIGHT" }),
          })),
        },
        "once",
      ),
    createIssue: ({ title, body }: Titled) =>
      write(
        "POST /repos/{owner}/{repo}/issues",
        { title: redact(title), body: redact(body) },
        "once",
      ),
    async createPullRequest({ title, body, branch, isDraft }: NewPullRequest): Promise<Made> {
      const base = textAt(await api.get("GET /repos/{owner}/{repo}", {}), "default_branch");
      const texts = { title: redact(title), body: redact(body) };
      const values = { ...texts, head: branch, base, draft: isDraft };
      return write("POST /repos/{owner}/{repo}/pulls", values, "once");
    },
    /** The result is equal if it is done twice, here and below. */
    updateComment: (comment_id: number, body: string) =>
      write("PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", {
        comment_id,
        body: redact(body),
      }),
    minimize: (id: string) =>
      graphql.mutate(
        "minimizeComment",
        "subjectId: $id, classifier: OUTDATED",
        ["minimizedComment", "isMinimized", true],
        id,
      ),
    addLabels: (issue_number: number, labels: readonly string[]) =>
      write("POST /repos/{owner}/{repo}/issues/{issue_number}/labels", { issue_number, labels }),
    requestReviewers: (pull_number: number, all: readonly string[]) =>
      write("POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", {
        pull_number,
        reviewers: all.filter((one) => !one.includes("/")),
        team_reviewers: all.flatMap((one) => (one.includes("/") ? [one.split("/")[1]] : [])),
      }),
    close: (issue_number: number) =>
      write("PATCH /repos/{owner}/{repo}/issues/{issue_number}", { issue_number, state: "closed" }),
    commit,
    ...createPushPort(api, repository, redact),
    deleteBranch: (branch: string) =>
      write(`DELETE /repos/{owner}/{repo}/git/refs/heads/${branch}`, {}),
  };
}

function shaOf(value: unknown): string {
  const found = sha(at(value, "sha"));
  if (found !== undefined) return found;
  throw new GithubFailure("GitHub's answer names no commit", 422);
}

/** A repository without any comments, for a rehearsal, which asks nobody and writes nothing. */
export function offlinePort({ head }: Pick<Origin, "head">): GithubPort {
  const none = (): Promise<readonly never[]> => Promise.resolve([]);
  const never = (): Promise<never> =>
    Promise.reject(new GithubFailure("a rehearsal writes nothing"));
  return {
    threads: none,
    facts: () => ({
      canWrite: () => Promise.resolve(false),
      isClosedByPerson: () => Promise.resolve(false),
      isGone: () => Promise.resolve(false),
    }),
    resolveThread: never,
    reopenThread: never,
    reply: never,
    updateReviewComment: never,
    ownChecks: none,
    checkAt: never,
    createCheck: never,
    updateCheck: never,
    ownDecisions: none,
    writtenByAgent: never,
    decide: never,
    withdraw: never,
    headOf: () => Promise.resolve({ sha: head }),
    ownComments: none,
    ownReviews: none,
    ownItems: none,
    isOnDefaultBranch: () => Promise.resolve(true),
    diffOf: none,
    createComment: never,
    createReview: never,
    createIssue: never,
    createPullRequest: never,
    updateComment: never,
    minimize: never,
    addLabels: never,
    requestReviewers: never,
    close: never,
    commit: never,
    ...offlinePushPort,
    deleteBranch: never,
  };
}

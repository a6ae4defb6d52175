/** Reads and writes for deliveries over GitHub's API. Every method rejects with an Error whose message can be shown to users. */
import type { Origin, ProposedFile } from "../events/output-shapes.ts";
import { GithubFailure, pagesOf, type GithubApi } from "./github-api.ts";
import { createCheckCalls } from "./check-port.ts";
import { createGraphql, type Calls, type Made } from "./graphql.ts";
import { createPushCalls } from "./push-port.ts";
import { createDecisionCalls } from "./decision-port.ts";
import { createThreadCalls } from "./review-threads.ts";
import { createThreadFacts, type ThreadFacts } from "./review-threads.ts";
import { at, sameRepository, sha, textAt } from "./webhook-event.ts";

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

/** A pull request as it is now. */
export interface Pull {
  /** Undefined: nobody was asked, for a rehearsal. */
  readonly head: string | undefined;
  readonly repositoryId: unknown;
  readonly branch: string;
  /** Its head is in another repository, or that is unknown. */
  readonly isFork: boolean;
  readonly isDefault: boolean;
}

export type GithubPort = ReturnType<typeof createGithubPort>;

/** `redact`: a text of an agent may spell a secret in a way that only shows when it has been parsed. */
export function createGithubPort(
  api: GithubApi,
  repository: string,
  redact: (text: string) => string,
) {
  api.beginDelivery();
  const write: Calls["write"] = async (route, values, times) => ({
    url: textAt(await api.write(route, { ...values }, times), "html_url"),
  });
  const graphql = createGraphql(api, repository);
  const calls: Calls = { api, graphql, write, redact };
  let facts: ThreadFacts | undefined;

  const own = (all: readonly unknown[]): unknown[] =>
    all.filter((one) => at(one, "viewerDidAuthor") === true);

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
    ...createThreadCalls(calls),
    ...createCheckCalls(calls),
    ...createDecisionCalls(calls),
    ...createPushCalls(calls, repository),
    async pullOf(pull_number: number): Promise<Pull> {
      const pull = await api.get("GET /repos/{owner}/{repo}/pulls/{pull_number}", { pull_number });
      const [head, base] = [at(pull, "head"), at(pull, "base", "repo")];
      const branch = textAt(head, "ref") ?? "";
      return {
        head: shaOf(head),
        repositoryId: at(head, "repo", "id"),
        branch,
        isFork: !sameRepository(at(head, "repo"), base),
        isDefault: branch === (textAt(base, "default_branch") ?? branch),
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
      const all: DiffFile[] = [];
      const listed = "GET /repos/{owner}/{repo}/pulls/{pull_number}/files";
      for await (const some of pagesOf(api.get, listed, { pull_number }))
        for (const one of some)
          all.push({ path: textAt(one, "filename") ?? "", patch: textAt(one, "patch") });
      return all;
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
export function offlinePort({ repository }: Pick<Origin, "repository">): GithubPort {
  const none = (): Promise<readonly never[]> => Promise.resolve([]);
  const never = (): Promise<never> =>
    Promise.reject(new GithubFailure("a rehearsal writes nothing"));
  const calls = { get: never, write: never, graphql: never };
  const asked = { permissionOf: never, isForkPullRequest: never, readFile: never };
  const pull = { head: undefined, repositoryId: undefined, branch: "" };
  return {
    ...createGithubPort({ beginDelivery() {}, ...calls, ...asked }, repository, (text) => text),
    threads: none,
    ownChecks: none,
    ownDecisions: none,
    ownComments: none,
    ownReviews: none,
    ownItems: none,
    diffOf: none,
    pullOf: () => Promise.resolve({ ...pull, isFork: false, isDefault: false }),
    messageOf: () => Promise.resolve(""),
    isOnDefaultBranch: () => Promise.resolve(true),
  };
}

/** Reads and writes for deliveries over GitHub's API. Every method rejects with an Error whose message can be shown to users. */
import type { ProposedFile } from "../events/output-shapes.ts";
import { isList, isRecord } from "../text/guards.ts";
import { createCheckCalls } from "./check-port.ts";
import { allOf, GithubFailure, type GithubApi } from "./github-api.ts";
import { createThreadFacts, threadsOf, type ThreadFacts } from "./review-threads.ts";
import { at, isBot, sameRepository, sha, textAt } from "./webhook-event.ts";

/** What a request has made. */
export interface Made {
  readonly url?: string | undefined;
}

export interface OwnComment {
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  readonly isMinimized: boolean;
}

export interface OwnItem {
  readonly body: string;
  readonly url: string;
}

/** A review of the token's user. */
export interface OwnReview {
  readonly id: number;
  readonly body: string;
  readonly head: string;
  /** As GraphQL names it, such as `APPROVED`. */
  readonly state: string;
}

export interface DiffFile {
  readonly path: string;
  /** Its hunks. GitHub gives none of a binary or a very large file. */
  readonly patch: string | undefined;
}

export interface NewReview {
  readonly head: string;
  readonly event: "COMMENT" | "APPROVE" | "REQUEST_CHANGES";
  /** May be empty if there are comments. */
  readonly body: string;
  readonly comments?: readonly {
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

interface CommitOnBranch {
  readonly branch: string;
  /** The commit that the branch must be at. */
  readonly head: string;
  readonly headline: string;
  readonly body: string;
  readonly files: readonly ProposedFile[];
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

const pulls = "/repos/{owner}/{repo}/pulls/{pull_number}";
const issues = "/repos/{owner}/{repo}/issues/{issue_number}";
const git = "/repos/{owner}/{repo}/git";

/** Fields whose values GitHub gave: commits, and the default branch. A text that looks like a commit may be a secret. */
const ofGithub = new Set(["commit_id", "sha", "base"]);

/** `redact`: a text of an agent may spell a secret in a way that only shows when it has been parsed. */
export function createGithubPort(api: GithubApi, redact: (text: string) => string) {
  const redacted = (value: unknown): unknown => {
    if (typeof value === "string") return redact(value);
    if (isList(value)) return value.map(redacted);
    return isRecord(value) ? redactedFields(value) : value;
  };
  const redactedFields = (fields: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        ofGithub.has(name) ? value : redacted(value),
      ]),
    );
  const write = async (route: string, values: object, times?: "once"): Promise<Made> => ({
    url: textAt(await api.write(route, redactedFields(values), times), "html_url"),
  });
  /** Creations are not repeated if they may have been done: see `GithubFailure.isUncertain`. */
  const create = (route: string, values: object): Promise<Made> => write(route, values, "once");
  /** GitHub may answer without an error although it has done nothing: `field` of `object` tells. */
  const mutate = async (
    id: string,
    mutation: string,
    input: string,
    [object, field, expected]: readonly [object: string, field: string, expected: boolean],
  ): Promise<Made> => {
    const query = `mutation($id: ID!) { ${mutation}(input: { ${input} }) { ${object} { ${field} } } }`;
    if (at(await api.graphql(query, { id }), mutation, object, field) === expected) return {};
    throw new GithubFailure(`GitHub accepted ${mutation}, but didn't apply it`, 403);
  };
  const own = async (...asked: Parameters<GithubApi["nodes"]>): Promise<readonly unknown[]> => {
    const [list, fields, ...of] = asked;
    const all = await api.nodes(list, `body viewerDidAuthor ${fields}`, ...of);
    return all.filter((one) => at(one, "viewerDidAuthor") === true);
  };
  const bodyOf = (value: unknown): string => textAt(value, "body") ?? "";
  const defaultBranch = async (): Promise<string | undefined> =>
    textAt(await api.get("GET /repos/{owner}/{repo}", {}), "default_branch");
  let facts: ThreadFacts | undefined;

  return {
    beginDelivery: api.beginDelivery,
    ...createCheckCalls(api, redact),
    /** Anybody may begin any number of threads, in which ours would not be found, as if they were closed. */
    threads: (number: number) => threadsOf(api, number, "whole"),
    /** Facts about threads. Each is requested once. */
    facts: (head: string) => (facts ??= createThreadFacts(api, head)),
    async pullOf(pull_number: number): Promise<Pull> {
      const pull = await api.get(`GET ${pulls}`, { pull_number });
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
    /** Comments of the owner of the token, the newest first. */
    async ownComments(number: number): Promise<readonly OwnComment[]> {
      const of = { kind: "issueOrPullRequest", number } as const;
      return (await own("comments", "id databaseId isMinimized", of)).map((one) => ({
        id: Number(at(one, "databaseId")),
        nodeId: textAt(one, "id") ?? "",
        body: bodyOf(one),
        isMinimized: at(one, "isMinimized") === true,
      }));
    },
    /** The newest first. `whole`: rejects if there are too many to be looked through. */
    async ownReviews(number: number, most?: "whole"): Promise<readonly OwnReview[]> {
      const of = { kind: "pullRequest", number } as const;
      return (await own("reviews", "databaseId state commit { oid }", of, most)).map((one) => ({
        id: Number(at(one, "databaseId")),
        body: bodyOf(one),
        head: textAt(at(one, "commit"), "oid") ?? "",
        state: textAt(one, "state") ?? "",
      }));
    },
    /** The latest ones, open or closed. */
    async ownItems(list: "issues" | "pullRequests"): Promise<readonly OwnItem[]> {
      const all = await own(list, "url");
      return all.map((one) => ({ body: bodyOf(one), url: textAt(one, "url") ?? "" }));
    },
    /** The account that opened a pull request, and its commits. */
    async authorsOf(pull_number: number) {
      const pull = await api.get(`GET ${pulls}`, { pull_number });
      const commits = await allOf(api.get, `GET ${pulls}/commits`, { pull_number });
      return {
        bot: loginOfBot(at(pull, "user")),
        body: bodyOf(pull),
        commitCount: Number(at(pull, "commits") ?? 0),
        commits: commits.map((one) => ({
          bot: loginOfBot(at(one, "author")),
          message: textAt(at(one, "commit"), "message") ?? "",
        })),
      };
    },
    async messageOf(commit_sha: string): Promise<string> {
      const commit = await api.get(`GET ${git}/commits/{commit_sha}`, { commit_sha });
      return textAt(commit, "message") ?? "";
    },
    async isOnDefaultBranch(commit: string): Promise<boolean> {
      const basehead = `${commit}...${await defaultBranch()}`;
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
      const all = await allOf(api.get, `GET ${pulls}/files`, { pull_number });
      return all.map((one) => ({
        path: textAt(one, "filename") ?? "",
        patch: textAt(one, "patch"),
      }));
    },

    createComment: (issue_number: number, body: string) =>
      create(`POST ${issues}/comments`, { issue_number, body }),
    createReview: (pull_number: number, { head, event, body, comments = [] }: NewReview) =>
      create(`POST ${pulls}/reviews`, {
        pull_number,
        commit_id: head,
        event,
        ...(body !== "" && { body }),
        comments: comments.map(({ path, line, startLine, body: text }) => ({
          path,
          line,
          side: "RIGHT",
          body: text,
          ...(startLine !== undefined && { start_line: startLine, start_side: "RIGHT" }),
        })),
      }),
    /** GitHub refuses to dismiss a review twice. */
    dismissReview: (pull_number: number, review_id: number, message: string) =>
      create(`PUT ${pulls}/reviews/{review_id}/dismissals`, {
        pull_number,
        review_id,
        message,
        event: "DISMISS",
      }),
    reply: (pull_number: number, comment_id: number, body: string) =>
      create(`POST ${pulls}/comments/{comment_id}/replies`, { pull_number, comment_id, body }),
    createIssue: (values: { readonly title: string; readonly body: string }) =>
      create("POST /repos/{owner}/{repo}/issues", values),
    createPullRequest: async (values: {
      readonly title: string;
      readonly body: string;
      /** The branch. */
      readonly head: string;
      readonly draft: boolean;
    }) => create("POST /repos/{owner}/{repo}/pulls", { ...values, base: await defaultBranch() }),
    /** GitHub signs it, and refuses it unless `head` is the head of the branch. */
    async commitOnBranch({ branch, head, headline, body, files }: CommitOnBranch): Promise<Made> {
      const additions = files.flatMap(({ path, content, encoding }) =>
        content === null
          ? []
          : [{ path, contents: Buffer.from(content, encoding).toString("base64") }],
      );
      const deletions = files.flatMap(({ path, content }) => (content === null ? [{ path }] : []));
      const input = {
        branch: { repositoryNameWithOwner: api.repository, branchName: branch },
        expectedHeadOid: head,
        message: { headline: redact(headline), body: redact(body) },
        fileChanges: { additions, deletions },
      };
      const mutation =
        "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid url } } }";
      const made = await api.graphql(mutation, { input }, "once");
      const commit = at(made, "createCommitOnBranch", "commit");
      if (sha(at(commit, "oid")) === undefined)
        throw new GithubFailure("GitHub's answer names no commit");
      return { url: textAt(commit, "url") };
    },
    /** Commits to a branch that is made (`isNew`), or that is set to it. */
    async commit({ base, branch, message, files }: NewCommit): Promise<{ isNew: boolean }> {
      const tree = [];
      for (const { path, mode, content, encoding } of files) {
        const entry = { path, mode, type: "blob" };
        if (content === null) tree.push({ ...entry, sha: null });
        else {
          const blob = await api.write(`POST ${git}/blobs`, { content, encoding });
          tree.push({ ...entry, sha: shaOf(blob) });
        }
      }
      const parent = await api.get(`GET ${git}/commits/{commit_sha}`, { commit_sha: base });
      const made = await api.write(`POST ${git}/trees`, {
        base_tree: shaOf(at(parent, "tree")),
        tree,
      });
      const commit = await api.write(`POST ${git}/commits`, {
        message: redact(message),
        tree: shaOf(made),
        parents: [base],
      });
      const ref = `heads/${branch}`;
      try {
        await write(`POST ${git}/refs`, { ref: `refs/${ref}`, sha: shaOf(commit) });
        return { isNew: true };
      } catch (error) {
        if (!(error instanceof GithubFailure) || !/already exists/i.test(error.message))
          throw error;
        // An earlier attempt of this run has made it: the name is of this run alone.
        await write(`PATCH ${git}/refs/${ref}`, { sha: shaOf(commit), force: true });
        return { isNew: false };
      }
    },

    /** The result of each of the following is equal if it is done twice. */
    updateComment: (comment_id: number, body: string) =>
      write("PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", { comment_id, body }),
    updateReviewComment: (comment_id: number, body: string) =>
      write("PATCH /repos/{owner}/{repo}/pulls/comments/{comment_id}", { comment_id, body }),
    minimize: (id: string) =>
      mutate(id, "minimizeComment", "subjectId: $id, classifier: OUTDATED", [
        "minimizedComment",
        "isMinimized",
        true,
      ]),
    resolveThread: (id: string) =>
      mutate(id, "resolveReviewThread", "threadId: $id", ["thread", "isResolved", true]),
    reopenThread: (id: string) =>
      mutate(id, "unresolveReviewThread", "threadId: $id", ["thread", "isResolved", false]),
    addLabels: (issue_number: number, labels: readonly string[]) =>
      write(`POST ${issues}/labels`, { issue_number, labels }),
    requestReviewers: (pull_number: number, all: readonly string[]) =>
      write(`POST ${pulls}/requested_reviewers`, {
        pull_number,
        reviewers: all.filter((one) => !one.includes("/")),
        team_reviewers: all.flatMap((one) => (one.includes("/") ? [one.split("/")[1]] : [])),
      }),
    close: (issue_number: number) => write(`PATCH ${issues}`, { issue_number, state: "closed" }),
    deleteBranch: (branch: string) => write(`DELETE ${git}/refs/heads/${branch}`, {}),
  };
}

function shaOf(value: unknown): string {
  const found = sha(at(value, "sha"));
  if (found !== undefined) return found;
  throw new GithubFailure("GitHub's answer names no commit", 422);
}

function loginOfBot(account: unknown): string | undefined {
  return isBot(account) ? (textAt(account, "login") ?? "a bot") : undefined;
}

/** A repository without any comments, for a rehearsal, which asks nobody and writes nothing. */
export function offlinePort(): GithubPort {
  const never = (): Promise<never> =>
    Promise.reject(new GithubFailure("a rehearsal writes nothing"));
  const api: GithubApi = {
    repository: "",
    beginDelivery() {},
    get: () => Promise.resolve({ status: "identical" }),
    nodes: () => Promise.resolve([]),
    write: never,
    graphql: never,
    permissionOf: never,
    isForkPullRequest: never,
    readFile: never,
  };
  const pull = { head: undefined, repositoryId: undefined, branch: "" };
  return {
    ...createGithubPort(api, (text) => text),
    pullOf: () => Promise.resolve({ ...pull, isFork: false, isDefault: false }),
  };
}

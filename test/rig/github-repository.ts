/** A server that speaks the part of GitHub's API that delivery uses, with the state of one repository behind it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { GithubBranch, type BranchOptions } from "./github-branch.ts";
import { GithubChecks, type Refusal } from "./github-checks.ts";
import type { GithubRuns } from "./github-runs.ts";
import { authorOf, GithubThreads } from "./github-threads.ts";
import { listen } from "./listen.ts";
import { unconfinedFile } from "./sandbox.ts";

interface Comment {
  readonly id: number;
  body: string;
  /** Default: the owner of the token. */
  readonly author: string;
  isMinimized: boolean;
}

interface Item {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  readonly isPullRequest: boolean;
  readonly head?: string;
  readonly isDraft?: boolean;
}

interface Review {
  readonly id: number;
  readonly body: string;
  readonly author: string;
  readonly head: string;
  /** As GraphQL names it. */
  state: "COMMENTED" | "CHANGES_REQUESTED" | "APPROVED" | "DISMISSED";
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The header. */
  readonly authorization?: string | undefined;
}

export type Permission = "checks" | "contents" | "issues" | "pull-requests";

const needed: readonly (readonly [request: RegExp, lists: readonly (readonly Permission[])[]])[] = [
  [/resolveReviewThread/i, [["contents", "pull-requests"]]],
  [/createCommitOnBranch/, [["contents"]]],
  [/minimizeComment/, [["issues"], ["pull-requests"]]],
  [/ \/repos\/octo\/shop\/check-runs/, [["checks"]]],
  [/ \/repos\/octo\/shop\/git\//, [["contents"]]],
  [/ \/repos\/octo\/shop\/pulls/, [["pull-requests"]]],
  [/^POST \/repos\/octo\/shop\/issues$/, [["issues"]]],
  [/ \/repos\/octo\/shop\/issues\//, [["issues"], ["pull-requests"]]],
];

export interface RepositoryOptions extends BranchOptions {
  /** Its workflow runs. Default: none is known. */
  readonly runs?: GithubRuns;
  readonly head: string;
  /** Default: 1001, that of the repository itself. */
  readonly headRepository?: number;
  readonly diff?: Readonly<Record<string, string>>;
  /** `REF:PATH`, in another repository `OWNER/REPO@REF:PATH`, → content. */
  readonly files?: Readonly<Record<string, string>>;
  /** More fields of the pull request, and its commits. */
  readonly pull?: object;
  readonly commits?: readonly object[];
  /** Scopes that the token may write, named as in a job's `permissions`. Default: all. */
  readonly writes?: readonly Permission[];
  /** Default: true. */
  readonly mayProposePulls?: boolean;
  /** The answer that replaces the effect. `isDone`: the effect happens, too. */
  readonly breaks?: (call: Call) =>
    | {
        readonly status: number;
        readonly headers?: Readonly<Record<string, string>>;
        readonly isDone?: true;
        /** Default: a message. */
        readonly answer?: object;
      }
    | undefined;
}

export class GithubRepository {
  readonly me = "github-actions[bot]";
  readonly comments: Comment[] = [];
  readonly reviews: Review[] = [];
  readonly items: Item[] = [];
  readonly labels: string[] = [];
  readonly reviewers: string[] = [];
  readonly closed: number[] = [];
  /** Branch → path → text or bytes of what was committed. */
  readonly branches = new Map<string, Readonly<Record<string, Buffer | null>>>();
  /** That of the pull request. */
  readonly branch: GithubBranch;
  readonly tokens = new Set<unknown>();
  /** The path of every request. */
  readonly asked: string[] = [];
  readonly calls: Call[] = [];
  head: string;
  url = "";
  readonly #options: RepositoryOptions;
  readonly #blobs = new Map<string, Buffer>();
  readonly #trees = new Map<string, Readonly<Record<string, Buffer | null>>>();
  readonly #commits = new Map<string, string>();
  #ids = 100;
  readonly conversation = new GithubThreads(this.me, () => (this.#ids += 1));
  readonly threads = this.conversation.all;
  readonly checks = new GithubChecks(this.me.replace("[bot]", ""), () => (this.#ids += 1));

  private constructor(options: RepositoryOptions) {
    this.#options = options;
    this.head = options.head;
    this.branch = new GithubBranch(options);
  }

  static async start(
    test: Pick<TestContext, "after">,
    options: RepositoryOptions,
  ): Promise<GithubRepository> {
    const repository = new GithubRepository(options);
    const server = createServer((incoming, response) => {
      const parts: Buffer[] = [];
      incoming.on("data", (part: Buffer) => parts.push(part));
      incoming.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        const body: Record<string, unknown> = text === "" ? {} : JSON.parse(text);
        const path = decodeURIComponent(incoming.url ?? "");
        repository.tokens.add(incoming.headers.authorization);
        const { authorization } = incoming.headers;
        const call = { method: incoming.method ?? "", path, body, authorization };
        const { status, answer, headers } = repository.#answer(call);
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(answer));
      });
    });
    repository.url = await listen(test, server);
    return repository;
  }

  /** By somebody else, if `author` is given. */
  comment(body: string, author = this.me): void {
    this.comments.push({ id: (this.#ids += 1), body, author, isMinimized: false });
  }

  #answer(call: Call): {
    readonly status: number;
    readonly answer: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  } {
    const isWrite =
      call.path === "/graphql"
        ? String(call.body["query"]).startsWith("mutation")
        : call.method !== "GET";
    this.asked.push(call.path);
    if (isWrite) this.calls.push(call);
    const forbidden = isWrite ? this.#forbidden(call) : undefined;
    if (forbidden !== undefined) return forbidden;
    const broken = this.#options.breaks?.(call);
    if (broken?.isDone === true) this.#do(call);
    if (broken !== undefined) return { answer: { message: "scripted" }, ...broken };
    const ofRuns = this.#options.runs?.answer(call.path);
    if (ofRuns !== undefined) return ofRuns;
    const answer = this.#do(call);
    if (answer === "exists")
      return { status: 422, answer: { message: "Reference already exists" } };
    if (isRefusal(answer)) return { status: answer.refused, answer };
    return answer === undefined
      ? { status: 404, answer: { message: "Not Found" } }
      : { status: call.method === "POST" ? 201 : 200, answer };
  }

  #forbidden({ method, path, body }: Call) {
    const { writes, mayProposePulls = true } = this.#options;
    const isGraphql = path === "/graphql";
    const request = isGraphql ? String(body["query"]) : `${method} ${path}`;
    const [, lists = []] = needed.find(([words]) => words.test(request)) ?? [];
    if (writes !== undefined && !lists.some((list) => list.every((one) => writes.includes(one)))) {
      const message = "Resource not accessible by integration";
      const errors = [{ type: "FORBIDDEN", message }];
      return isGraphql
        ? { status: 200, answer: { data: {}, errors } }
        : { status: 403, answer: { message } };
    }
    const isApproval = body["event"] === "APPROVE";
    if (mayProposePulls || (request !== "POST /repos/octo/shop/pulls" && !isApproval))
      return undefined;
    const message = "GitHub Actions is not permitted to create or approve pull requests.";
    return { status: 403, answer: { message } };
  }

  #do({ method, path, body }: Call): unknown {
    if (path === "/graphql" && String(body["query"]).includes("createCommitOnBranch")) {
      const { answer, head } = this.branch.commit(body["variables"], this.head);
      this.head = head;
      return answer;
    }
    if (path === "/graphql") return { data: this.#graphql(body) };
    const ofCheck = this.checks.answer({ method, path, body });
    if (ofCheck !== undefined) return ofCheck;
    const found = /^\/repos\/octo\/shop(?<rest>.*)$/.exec(path);
    const rest = found?.groups?.["rest"] ?? "none";
    const { files = {}, diff = {}, headRepository = 1001 } = this.#options;
    const text = (name: string): string => String(body[name]);
    const made = { html_url: `${this.url}/made/${(this.#ids += 1)}` };
    const hash = (value: unknown): string =>
      createHash("sha1").update(JSON.stringify(value)).digest("hex");
    switch (`${method} ${rest.replace(/\?.*$/, "").replace(/(?<=\/)\d+(?=\/|$)/g, "N")}`) {
      case "GET ":
        return { default_branch: "main" };
      case "GET /pulls/N":
        return {
          number: 7,
          head: { sha: this.head, ref: this.branch.name, repo: { id: headRepository } },
          base: { repo: { id: 1001, default_branch: "main" } },
          ...this.#options.pull,
        };
      case "GET /pulls/N/commits":
        return this.#options.commits ?? [];
      case "GET /pulls/N/files":
        return Object.entries(diff).map(([filename, patch]) => ({ filename, patch }));
      case "POST /issues/N/comments":
        this.comment(text("body"));
        return made;
      case "PATCH /issues/comments/N": {
        const comment = this.comments.find(({ id }) => rest.endsWith(`/${id}`));
        assert.ok(comment?.author === this.me, "a comment of somebody else is updated");
        comment.body = text("body");
        return made;
      }
      case "POST /pulls/N/reviews":
        return this.#review(body, made);
      case "PUT /pulls/N/reviews/N/dismissals": {
        const review = this.reviews.find(({ id }) => rest.includes(`/reviews/${id}/`));
        if (review?.state === "DISMISSED") return { refused: 422, message: "Can not dismiss" };
        if (review !== undefined) review.state = "DISMISSED";
        return review && made;
      }
      case "POST /pulls/N/comments/N/replies":
        return this.conversation.reply(rest, text("body")) && made;
      case "PATCH /pulls/comments/N":
        return this.conversation.update(rest, text("body")) && made;
      case "POST /issues/N/labels":
        this.labels.push(
          ...[...Object(body["labels"])].filter((label) => !this.labels.includes(label)),
        );
        return made;
      case "POST /pulls/N/requested_reviewers":
        this.reviewers.push(...Object(body["reviewers"]), ...Object(body["team_reviewers"]));
        return made;
      case "PATCH /issues/N":
        this.closed.push(Number(/\d+$/.exec(rest)?.[0]));
        return made;
      case "POST /issues":
      case "POST /pulls": {
        const isPullRequest = rest === "/pulls";
        if (isPullRequest && this.items.some((item) => item.head === body["head"])) return "exists";
        this.items.push({
          number: (this.#ids += 1),
          title: text("title"),
          body: text("body"),
          author: this.me,
          isPullRequest,
          ...(isPullRequest && { head: text("head"), isDraft: body["draft"] === true }),
        });
        return made;
      }
      case "POST /git/blobs": {
        const encoding = body["encoding"] === "base64" ? "base64" : "utf8";
        const sha = hash(body);
        this.#blobs.set(sha, Buffer.from(text("content"), encoding));
        return { sha };
      }
      case "POST /git/trees": {
        const entries: readonly Readonly<Record<string, unknown>>[] = Object(body["tree"]);
        const sha = hash(body);
        const content = entries.map(({ path: file, sha: blob }): [string, Buffer | null] => [
          String(file),
          typeof blob === "string" ? (this.#blobs.get(blob) ?? assert.fail("no such blob")) : null,
        ]);
        this.#trees.set(sha, Object.fromEntries(content));
        return { sha };
      }
      case "POST /git/commits": {
        const sha = hash(body);
        this.#commits.set(sha, text("tree"));
        return { sha };
      }
      case "POST /git/refs": {
        const branch = text("ref").replace("refs/heads/", "");
        if (this.branches.has(branch)) return "exists";
        this.branches.set(branch, this.#filesOf(text("sha")));
        return made;
      }
      default:
    }
    const [, moved] = /^\/git\/refs\/heads\/(.+)$/.exec(rest) ?? [];
    if (method === "DELETE" && moved !== undefined) return this.branches.delete(moved) && made;
    if (method === "PATCH" && moved !== undefined && this.branches.has(moved)) {
      this.branches.set(moved, this.#filesOf(text("sha")));
      return made;
    }
    const [, login] = /^\/collaborators\/(maintainer|stranger)\/permission$/.exec(rest) ?? [];
    if (login !== undefined) return { permission: login === "maintainer" ? "write" : "read" };
    const [, from] = /^\/compare\/(\w+)\.\.\.\w+/.exec(rest) ?? [];
    if (from !== undefined) {
      if (from === "f".repeat(40)) return { status: "diverged" };
      const changed = Object.entries(diff).map(([filename, patch]) => {
        const additions = patch.split("\n+").length - 1;
        return { filename, status: "modified", additions, deletions: 0, patch };
      });
      const sha = { sha: from };
      return { status: "ahead", merge_base_commit: sha, base_commit: sha, files: changed };
    }
    if (/^\/commits\/\w+\/pulls$/.test(rest))
      return [
        {
          number: 7,
          head: { sha: this.head, repo: { id: headRepository } },
          base: { sha: "b".repeat(40) },
        },
      ];
    if (method === "GET" && rest.startsWith("/git/commits/"))
      return { tree: { sha: "e".repeat(40) }, message: this.branch.messageOf(rest.slice(13)) };
    const [, repo, file, ref] =
      /^\/repos\/([^/]+\/[^/]+)\/contents\/(.+)\?ref=(\w+)$/.exec(path) ?? [];
    const content = files[`${repo === "octo/shop" ? "" : `${repo}@`}${ref}:${file}`];
    if (content === undefined) return undefined;
    const encoded = Buffer.from(unconfinedFile(file ?? "", content)).toString("base64");
    return { type: "file", encoding: "base64", content: encoded };
  }

  #filesOf(commit: string): Readonly<Record<string, Buffer | null>> {
    return this.#trees.get(this.#commits.get(commit) ?? "") ?? {};
  }

  #review(body: Readonly<Record<string, unknown>>, made: object): object {
    const states = { APPROVE: "APPROVED", REQUEST_CHANGES: "CHANGES_REQUESTED" } as const;
    const state = Object.entries(states).find(([event]) => event === body["event"])?.[1];
    const comments = Object(body["comments"] ?? []);
    const text = typeof body["body"] === "string" ? body["body"] : "";
    // GitHub takes a review without a text only if it approves, or has comments and asks for nothing.
    if (text === "" && state !== "APPROVED" && (state !== undefined || comments.length === 0))
      return { refused: 422, message: "body is required" } satisfies Refusal;
    this.reviews.push({
      id: (this.#ids += 1),
      body: text,
      author: this.me,
      head: String(body["commit_id"]),
      state: state ?? "COMMENTED",
    });
    this.conversation.add(comments);
    return made;
  }

  #graphql({ query, variables }: Readonly<Record<string, unknown>>): unknown {
    const asked = String(query);
    const { id, before } = Object(variables);
    if (asked.startsWith("mutation")) {
      const comment = this.comments.find((one) => `C${one.id}` === id);
      if (asked.includes("minimizeComment")) {
        if (comment !== undefined) comment.isMinimized = true;
        return { minimizeComment: { minimizedComment: comment ?? null } };
      }
      return this.conversation.mutate(asked, String(id));
    }
    const viewer = (author: string): object => ({ viewerDidAuthor: author === this.me });
    const page = (nodes: readonly object[]): object => {
      const end = typeof before === "string" ? Number(before) : nodes.length;
      const start = Math.max(0, end - 100);
      return {
        pageInfo: { hasPreviousPage: start > 0, startCursor: String(start) },
        nodes: nodes.slice(start, end),
      };
    };
    const comments = page(
      this.comments.map(({ id: number, body, author, isMinimized }) => ({
        id: `C${number}`,
        databaseId: number,
        body,
        isMinimized,
        ...viewer(author),
        author: authorOf(author),
      })),
    );
    const reviews = page(
      this.reviews.map(({ id: databaseId, body, author, state, head: oid }) => {
        return { databaseId, body, state, commit: { oid }, ...viewer(author) };
      }),
    );
    const reviewThreads = page(this.conversation.nodes());
    const items = (isPullRequest: boolean): object =>
      page(
        this.items
          .filter((item) => item.isPullRequest === isPullRequest)
          .map(({ number, body, author }) => ({
            number,
            body,
            url: `${this.url}/${number}`,
            ...viewer(author),
          })),
      );
    return {
      viewer: { login: this.me },
      repository: {
        issueOrPullRequest: { comments },
        pullRequest: { reviews, reviewThreads },
        issues: items(false),
        pullRequests: items(true),
      },
    };
  }
}

function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === "object" && answer !== null && "refused" in answer;
}

/** The threads of reviews of the fake repository. */
import assert from "node:assert/strict";

interface ThreadComment {
  readonly id: number;
  body: string;
  readonly author: string;
}

export interface Thread extends ThreadComment {
  readonly nodeId: string;
  readonly path: string;
  readonly line: number;
  readonly replies: ThreadComment[];
  isOutdated: boolean;
  isResolved: boolean;
  resolvedBy: string | undefined;
}

export class GithubThreads {
  readonly all: Thread[] = [];
  readonly #me: string;
  readonly #nextId: () => number;

  constructor(me: string, nextId: () => number) {
    this.#me = me;
    this.#nextId = nextId;
  }

  /** By somebody else, if `author` is given. */
  add(comments: readonly Readonly<Record<string, unknown>>[], author = this.#me): void {
    for (const { path, line, body } of comments) {
      const id = this.#nextId();
      this.all.push({
        id,
        nodeId: `T${id}`,
        path: String(path),
        line: Number(line),
        body: String(body),
        author,
        replies: [],
        isOutdated: false,
        isResolved: false,
        resolvedBy: undefined,
      });
    }
  }

  replyTo(thread: Thread | undefined, body: string, author = this.#me): void {
    thread?.replies.push({ id: this.#nextId(), body, author });
  }

  /** The answer of `POST /pulls/N/comments/N/replies`; undefined: there is no such comment. */
  reply(path: string, body: string): true | undefined {
    const thread = this.all.find(({ id }) => path.endsWith(`/${id}/replies`));
    this.replyTo(thread, body);
    return thread && true;
  }

  update(path: string, body: string): true | undefined {
    const comment = this.all
      .flatMap((thread) => [thread, ...thread.replies])
      .find(({ id }) => path.endsWith(`/${id}`));
    if (comment === undefined) return undefined;
    assert.equal(comment.author, this.#me, "a comment of somebody else is updated");
    comment.body = body;
    return true;
  }

  close(thread: Thread | undefined, by = this.#me): void {
    if (thread !== undefined) Object.assign(thread, { isResolved: true, resolvedBy: by });
  }

  mutate(query: string, nodeId: string): object {
    const thread = this.all.find((one) => one.nodeId === nodeId);
    const shown = { thread: thread ?? null };
    if (query.includes("unresolveReviewThread")) {
      if (thread !== undefined) Object.assign(thread, { isResolved: false, resolvedBy: undefined });
      return { unresolveReviewThread: shown };
    }
    this.close(thread);
    return { resolveReviewThread: shown };
  }

  nodes(): readonly object[] {
    return this.all.map((thread) => {
      const { nodeId, path, line, isOutdated, isResolved, resolvedBy, replies } = thread;
      return {
        id: nodeId,
        path,
        line: isOutdated ? null : line,
        isOutdated,
        isResolved,
        resolvedBy: resolvedBy && { login: resolvedBy, isViewer: resolvedBy === this.#me },
        comments: { nodes: [this.#node(thread)] },
        latest: { nodes: [thread, ...replies].slice(-50).map((one) => this.#node(one)) },
      };
    });
  }

  #node({ id, body, author }: ThreadComment): object {
    return {
      databaseId: id,
      body,
      viewerDidAuthor: author === this.#me,
      author: authorOf(author),
    };
  }
}

/** GraphQL names programs without `[bot]`. */
export function authorOf(name: string): object {
  const login = name.replace(/\[bot\]$/, "");
  return { login, __typename: login === name ? "User" : "Bot" };
}

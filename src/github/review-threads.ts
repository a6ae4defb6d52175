/** Threads of reviews, and further facts about them. Whether a thread is ours is for the caller to judge. */
import { hasLine } from "../outputs/check-finding.ts";
import { NotFoundError, type GithubApi } from "./github-api.ts";
import type { Marker } from "./markers.ts";
import { mayWrite } from "./trust.ts";
import { at, listAt, textAt } from "./webhook-event.ts";

export interface ThreadComment {
  readonly id: number;
  readonly body: string;
  /** The login without `[bot]`. Undefined: the account is deleted. */
  readonly author: string | undefined;
  readonly isBot: boolean;
  /** Whether the owner of the token wrote it. */
  readonly isOurs: boolean;
}

export interface ReviewThread {
  readonly nodeId: string;
  readonly path: string;
  /** The line in the head of the pull request. Undefined: it is no longer in the diff. */
  readonly line: number | undefined;
  /** GitHub says that the lines around it have changed. */
  readonly isOutdated: boolean;
  readonly isResolved: boolean;
  /** Undefined: nobody, or GitHub doesn't say who. */
  readonly resolvedBy: Resolver | undefined;
  readonly first: ThreadComment;
  /** The latest ones, the oldest first. */
  readonly replies: readonly ThreadComment[];
}

export interface OwnThread extends ReviewThread {
  /** The fingerprint of its finding. */
  readonly key: string;
  readonly marker: Marker;
}

interface Resolver {
  /** Has no `[bot]`. */
  readonly login: string;
  readonly isBot: boolean;
  /** Whether it is the owner of the token. */
  readonly isUs: boolean;
}

const replies = 50;

const commentFields = "databaseId body viewerDidAuthor author { login __typename }";

type Nodes = Pick<GithubApi, "nodes">;

/** The threads of a pull request, the newest first. `whole`: rejects if there are too many to be looked through. */
export async function threadsOf(
  api: Nodes,
  number: number,
  most?: "whole",
): Promise<readonly ReviewThread[]> {
  const fields = `id path line isOutdated isResolved resolvedBy { login isViewer } comments(first: 1) { nodes { ${commentFields} } } latest: comments(last: ${replies}) { nodes { ${commentFields} } }`;
  const all = await api.nodes("reviewThreads", fields, { kind: "pullRequest", number }, most);
  return all.flatMap((thread) => threadOf(thread) ?? []);
}

/** The comments below a pull request, the newest first. */
export async function commentsOf(api: Nodes, number: number): Promise<readonly ThreadComment[]> {
  return commentsIn(
    await api.nodes("comments", commentFields, { kind: "issueOrPullRequest", number }),
  );
}

/** `threads`: the newest first. `markerOf`: of a comment, if it is ours. If several have the same key, an open one counts, or else the newest. */
export function ownThreads(
  threads: readonly ReviewThread[],
  markerOf: (comment: ThreadComment) => Marker | undefined,
): ReadonlyMap<string, OwnThread> {
  const found = new Map<string, OwnThread>();
  for (const thread of threads) {
    const marker = markerOf(thread.first);
    const key = marker?.key;
    if (marker === undefined || key === undefined) continue;
    const other = found.get(key);
    if (other === undefined || (other.isResolved && !thread.isResolved))
      found.set(key, { ...thread, key, marker });
  }
  return found;
}

function threadOf(thread: unknown): ReviewThread | undefined {
  const [first] = commentsIn(listAt(thread, "comments", "nodes"));
  if (first === undefined) return undefined;
  const line = at(thread, "line");
  return {
    nodeId: textAt(thread, "id") ?? "",
    path: textAt(thread, "path") ?? "",
    line: typeof line === "number" ? line : undefined,
    isOutdated: at(thread, "isOutdated") === true,
    isResolved: at(thread, "isResolved") === true,
    resolvedBy: resolverOf(at(thread, "resolvedBy"), first),
    first,
    replies: commentsIn(listAt(thread, "latest", "nodes")).filter(({ id }) => id !== first.id),
  };
}

/** The field is of the type User, which has `isViewer`, also for an App, whose login it may give with `[bot]`. */
function resolverOf(user: unknown, first: ThreadComment): Resolver | undefined {
  const given = textAt(user, "login");
  if (given === undefined) return undefined;
  const login = withoutSuffix(given);
  const isUs = at(user, "isViewer") === true || (first.isOurs && login === first.author);
  return { login, isBot: login !== given, isUs };
}

function commentsIn(nodes: readonly unknown[]): readonly ThreadComment[] {
  return nodes.map((one) => {
    const login = textAt(at(one, "author"), "login");
    return {
      id: Number(at(one, "databaseId")),
      body: textAt(one, "body") ?? "",
      author: login && withoutSuffix(login),
      isBot: at(one, "author", "__typename") === "Bot" || login?.endsWith("[bot]") === true,
      isOurs: at(one, "viewerDidAuthor") === true,
    };
  });
}

/** GraphQL names the author of a comment without it, REST and events with it. */
function withoutSuffix(login: string): string {
  return login.replace(/\[bot\]$/, "");
}

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

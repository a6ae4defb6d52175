/**
 * Makes the threads of a pull request those of the findings that hold. What a run reports has an open thread, unless a
 * person with write access closed it. A thread is closed if the run says so or if its line is gone: a finding that is not
 * reported proves nothing. Where a person has written, the thread stays open, and is answered.
 */
import type { Finding, GivenReply, ResolvedFinding } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { defined } from "../text/guards.ts";
import { firstOf } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import {
  attempt,
  reasonOf,
  refused,
  skipped,
  write,
  type Delivering,
  type Delivery,
} from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import type { Made } from "./graphql.ts";
import { closedBody, commentBody, linesInDiff, replyBody, reviewOf } from "./review-body.ts";
import {
  countsOf,
  countsText,
  isPerson,
  listedInReviews,
  ownThreads,
  type OwnThread,
  type ReviewCounts,
  type ReviewState,
  type Standing,
} from "./review-state.ts";

const needs = "`pull-requests: write`";
const needsToClose = "`contents: write` and `pull-requests: write`";

export interface DeliveredReview {
  readonly deliveries: readonly Delivery[];
  readonly counts: ReviewCounts;
  /** Whether all new findings are on GitHub, or will be in the report comment. */
  readonly isWhole: boolean;
  /** The findings without a thread, which the report comment lists. */
  readonly elsewhere: readonly Finding[];
  /** The fingerprints of those that get no thread later either: they have no line, or GitHub refuses it. */
  readonly placeless: ReadonlySet<string>;
  /** The fingerprints of those that are fixed, also where the token may not close their threads. */
  readonly closed: ReadonlySet<string>;
}

/** `isListed`: findings without a line are in the report comment, so the review needs no body. */
export async function deliverReview(
  delivering: Delivering,
  collected: CollectedOutputs,
  state: ReviewState,
  { number, isListed }: { readonly number: number; readonly isListed: boolean },
): Promise<DeliveredReview> {
  const { standings, threads } = state;
  const what = `review of #${number}`;
  const fresh = standings.flatMap(({ kind, finding }) => (kind === "new" ? [finding] : []));
  const posted = new Set<string>();
  const placeless = new Set<string>();
  const made = await attempt(delivering, { what, needs }, () => {
    if (fresh.length > 0)
      return postNew(delivering, fresh, { number, isListed, posted, placeless });
    const none = standings.length === 0 ? "no findings" : "no new findings";
    return Promise.resolve(skipped(what, none));
  });
  const others: Delivery[] = [];
  for (const standing of standings) {
    const delivery = await refreshed(delivering, standing, number);
    if (delivery !== undefined) others.push(delivery);
  }
  for (const reply of collected.replies)
    others.push(await answered(delivering, threads.get(reply.key), reply, number));
  const closing: Closing = { number, closed: new Map(), obstacle: undefined };
  const handled = new Set(standings.map(({ finding }) => finding.fingerprint));
  for (const resolved of collected.resolved) {
    if (handled.has(resolved.key)) continue;
    handled.add(resolved.key);
    others.push(await close(delivering, threads.get(resolved.key), resolved, closing));
  }
  for (const thread of threads.values()) {
    // A finding that was left out of the list may be the one of this thread.
    if (handled.has(thread.key) || collected.omitted > 0) continue;
    const delivery = await closeIfGone(delivering, thread, closing);
    if (delivery !== undefined) others.push(delivery);
  }
  const counts = countsOf(state, delivering.about.origin.head, closing.closed);
  const elsewhere = standings.flatMap(({ kind, finding }) => {
    if (kind === "listed") placeless.add(finding.fingerprint);
    return kind === "listed" || (kind === "new" && !posted.has(finding.fingerprint))
      ? [finding]
      : [];
  });
  const reason = [made.reason ?? "", countsText(counts)].filter((text) => text !== "").join("; ");
  const counted = made.status === "refused" || reason === "" ? made : { ...made, reason };
  return {
    deliveries: [counted, ...others],
    isWhole: made.status !== "refused",
    counts,
    elsewhere,
    placeless,
    closed: new Set(closing.closed.keys()),
  };
}

interface Posting {
  readonly number: number;
  readonly isListed: boolean;
  /** Filled with the fingerprints of what is on GitHub. */
  readonly posted: Set<string>;
  /** Filled, too: see `DeliveredReview`. */
  readonly placeless: Set<string>;
}

async function postNew(
  delivering: Delivering,
  findings: readonly Finding[],
  { number, isListed, posted, placeless }: Posting,
): Promise<Delivery> {
  const { about, github, options } = delivering;
  const { head } = about.origin;
  const what = `review of #${number}`;
  const isInDiff = linesInDiff(await github.diffOf(number));
  /** The places that GitHub refuses, although they seem to be in the diff. */
  const refusals = new Map<string, string>();
  const missing = () => {
    const left = findings.filter(({ fingerprint }) => !posted.has(fingerprint));
    const { comments, others, body } = reviewOf({ ...about, findings: left, isInDiff, refusals });
    for (const { fingerprint } of others) placeless.add(fingerprint);
    return { comments, others: isListed ? [] : others, body: isListed ? "" : body };
  };
  const isComplete = (): boolean => {
    const { comments, others } = missing();
    return comments.length + others.length === 0;
  };
  const send = async (review: ReturnType<typeof missing>): Promise<Made> => {
    const { comments, others, body } = review;
    const made = await github.createReview(number, { head, body, comments });
    for (const { key } of comments) posted.add(key);
    for (const { fingerprint } of others) posted.add(fingerprint);
    return made;
  };
  const first = missing();
  if (isComplete()) return skipped(what, "no new finding has a line in the diff");
  if (options.staged) for (const { key } of first.comments) posted.add(key);
  return write(
    delivering,
    { what, needs, preview: [first.body, ...first.comments.map((one) => one.body)].join("\n\n") },
    async () => {
      const review = missing();
      const isAlone = review.comments.length === 0;
      const made = await (isAlone ? send(review) : unlessInvalid(send(review)));
      if (made !== undefined) return made;
      // GitHub doesn't say which of the lines it refuses, so each of them is sent by itself.
      let last: Made = {};
      for (const comment of review.comments) {
        const one = await unlessInvalid(send({ comments: [comment], others: [], body: "" }));
        if (one === undefined) refusals.set(comment.key, `${comment.path}:${comment.line}`);
        else last = one;
      }
      if (!isComplete()) last = await send(missing());
      return { ...last, ...(refusals.size > 0 && { reason: placesText([...refusals.values()]) }) };
    },
    async () => {
      for (const key of (await ownThreads(delivering, number)).keys()) posted.add(key);
      if (!isListed) for (const key of await listedInReviews(delivering, number)) posted.add(key);
      return isComplete() ? {} : undefined;
    },
  );
}

const MAX_PLACES = 10;

function placesText(places: readonly string[]): string {
  return `GitHub refuses comments at ${firstOf(places, MAX_PLACES)}, so these findings are listed without a thread`;
}

/** Returns undefined if GitHub refuses the content of a request. */
async function unlessInvalid(sent: Promise<Made>): Promise<Made | undefined> {
  return sent.catch((error: unknown) => {
    if (error instanceof GithubFailure && error.status === 422) return undefined;
    throw error;
  });
}

function named({ path, first: { id } }: OwnThread): string {
  return `the finding at ${path} (comment ${id})`;
}

/** Opens a thread again. The comment of an open one is updated if it says something that no longer holds. */
async function refreshed(
  delivering: Delivering,
  standing: Standing,
  number: number,
): Promise<Delivery | undefined> {
  if (standing.kind !== "open" && standing.kind !== "reopened") return undefined;
  const { kind, thread } = standing;
  const { marker, first, nodeId } = thread;
  const { lineDigest = marker.text, ...rest } = standing.finding;
  // In another file, its line would be looked for in vain.
  const text = rest.path === thread.path ? lineDigest : undefined;
  const isStale = text !== marker.text || marker.closed !== undefined;
  if (kind === "open" && !isStale) return undefined;
  const { about, github } = delivering;
  const finding = { ...rest, ...defined({ lineDigest: text }) };
  const body = commentBody(finding, about, { isWhole: false, head: marker.head });
  const what = `${named(thread)} of #${number}, ${kind === "open" ? "updated" : "opened again"}`;
  const writing = { what, needs: kind === "open" ? needs : needsToClose, preview: body };
  return attempt(delivering, writing, () =>
    write(delivering, writing, async () => {
      if (kind === "reopened") await github.reopenThread(nodeId);
      return isStale ? github.updateReviewComment(first.id, body) : {};
    }),
  );
}

const MAX_KEY = 80;

/** A journal may name anything. */
function notOurs(key: string, number: number, doing: string): Delivery {
  const what = `${doing} finding ${JSON.stringify(truncate(key, MAX_KEY))} of #${number}`;
  return refused(what, "no thread that this job began on the pull request has it");
}

/** Answers the last comment of a person with write access, once: prompts show those of nobody else. */
async function answered(
  delivering: Delivering,
  thread: OwnThread | undefined,
  { key, message }: GivenReply,
  number: number,
): Promise<Delivery> {
  if (thread === undefined) return notOurs(key, number, "a reply to");
  const { about, github } = delivering;
  const facts = github.facts(about.origin.head);
  const isOpenQuestion = async ({ replies }: OwnThread): Promise<boolean> => {
    for (const { isOurs, isBot, author } of replies.toReversed()) {
      if (isOurs) return false;
      if (!isBot && author !== undefined && (await facts.canWrite(author))) return true;
    }
    return false;
  };
  const what = `a reply to ${named(thread)} of #${number}`;
  const body = replyBody(message, key, about);
  const writing = { what, needs, preview: body };
  return attempt(delivering, writing, async () => {
    if (!(await isOpenQuestion(thread)))
      return skipped(what, "nobody with write access has written since our last comment");
    return write(
      delivering,
      writing,
      () => github.reply(number, thread.first.id, body),
      async () => {
        const now = (await ownThreads(delivering, number)).get(key);
        return now !== undefined && (await isOpenQuestion(now)) ? undefined : {};
      },
    );
  });
}

interface Closing {
  readonly number: number;
  readonly closed: Map<string, "fixed" | "known">;
  /** The reason why the token may not close threads. */
  obstacle: string | undefined;
}

/** The reason is noted in the comment, once. That is enough where the token may not close threads, as few should. */
async function close(
  delivering: Delivering,
  thread: OwnThread | undefined,
  { key, reason }: ResolvedFinding,
  closing: Closing,
): Promise<Delivery> {
  const { number } = closing;
  if (thread === undefined) return notOurs(key, number, "closing");
  const { about, github, options } = delivering;
  const what = `${named(thread)} of #${number}, closed`;
  const { first, nodeId, isResolved, replies, marker } = thread;
  if (isResolved) return skipped(what, "its thread is closed already");
  if (replies.some(isPerson))
    return skipped(what, "a person has written in its thread and may close it");
  const body = closedBody(first.body, reason, about);
  const writing = { what, needs: needsToClose, preview: body };
  if (options.staged) closing.closed.set(key, "fixed");
  return attempt(delivering, writing, () =>
    write(delivering, writing, async () => {
      if (marker.closed === undefined) await github.updateReviewComment(first.id, body);
      if (closing.obstacle === undefined)
        await github.resolveThread(nodeId).catch((error: unknown) => {
          if (!(error instanceof GithubFailure) || error.status !== 403) throw error;
          closing.obstacle = reasonOf(error, needsToClose);
        });
      const { obstacle } = closing;
      const isKnown =
        obstacle !== undefined && ![undefined, about.origin.head].includes(marker.closed);
      closing.closed.set(key, isKnown ? "known" : "fixed");
      return obstacle === undefined
        ? {}
        : { reason: `its comment says so, but its thread stays open: ${obstacle}` };
    }),
  );
}

/** A line is gone if GitHub calls the thread outdated, and no line of the file at the head has its text. */
async function closeIfGone(
  delivering: Delivering,
  thread: OwnThread,
  closing: Closing,
): Promise<Delivery | undefined> {
  const { isResolved, isOutdated, replies, path, key, marker } = thread;
  const { text } = marker;
  if (isResolved || !isOutdated || text === undefined || replies.some(isPerson)) return undefined;
  const { about, github } = delivering;
  const writing = {
    what: `${named(thread)} of #${closing.number}, closed`,
    needs: "`contents: read`",
  };
  const isGone = await attempt(delivering, writing, () =>
    github.facts(about.origin.head).isGone(path, text),
  );
  if (typeof isGone !== "boolean") return isGone;
  if (!isGone) return undefined;
  return close(delivering, thread, { key, reason: "its line is gone." }, closing);
}

/**
 * Makes the threads of a pull request those of the findings that hold. What a run reports has an open thread, unless a
 * person with write access closed it. A thread is closed if the run says so or if its line is gone: a finding that is not
 * reported proves nothing. Where a person has written, the thread stays open, and is answered.
 *
 * The findings that are there are read from GitHub right before: a journal is never believed about them. Only threads that
 * the owner of the token began, with a marker of this job and leg, are ours.
 */
import { severities } from "../entry/outputs.ts";
import type { Finding } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { defined } from "../text/guards.ts";
import { firstOf } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import { closedBody, commentBody, linesInDiff, replyBody, reviewOf } from "./comments.ts";
import { reasonOf, refused, skipped, type Delivering, type Outcome } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import type { Made } from "./github-port.ts";
import type { Marker } from "./markers.ts";
import { ownThreads, type OwnThread, type ThreadComment } from "./review-threads.ts";

/** A finding of the run, and what it needs. */
type Standing =
  | { readonly kind: "new"; readonly finding: Finding }
  /** The report comment or the body of a review has it already. */
  | { readonly kind: "listed"; readonly finding: Finding }
  /** Its thread is open, or we or a program closed it and it is opened again. */
  | { readonly kind: "open" | "reopened"; readonly finding: Finding; readonly thread: OwnThread }
  /** A person with write access closed its thread. */
  | { readonly kind: "dismissed"; readonly finding: Finding }
  /** It is below the severity that new findings need in this round. */
  | { readonly kind: "held-back"; readonly finding: Finding };

interface Read {
  readonly pull: number;
  readonly head: string;
  readonly threads: ReadonlyMap<string, OwnThread>;
  readonly standings: readonly Standing[];
  /** The number of heads that were reviewed before this one. */
  readonly earlierHeads: number;
}

/** What was found on GitHub, and what the delivery makes of it. Findings are named by their fingerprints. */
export type ReviewState = ReturnType<typeof stateOf>;

function stateOf(read: Read) {
  const { head, threads, standings } = read;
  const of = (...kinds: readonly Standing["kind"][]): readonly Finding[] =>
    standings.flatMap(({ kind, finding }) => (kinds.includes(kind) ? [finding] : []));
  const posted = new Set<string>();
  const closed = new Map<string, "fixed" | "known">();
  return {
    ...read,
    fresh: of("new"),
    /** The findings that are neither dismissed nor held back. */
    shown: of("new", "listed", "open", "reopened"),
    /** New findings that are on GitHub now. */
    posted,
    /** Those that get no thread later either: they have no line, or GitHub refuses it. */
    placeless: new Set(of("listed").map(({ fingerprint }) => fingerprint)),
    /** Those whose threads are closed now, or may not be closed; `known`: at an earlier head already. */
    closed,
    /** All new findings are on GitHub, or will be in the report comment. */
    isWhole: true,
    /** The findings without a thread, which the report comment lists. */
    unplaced: (): readonly Finding[] =>
      of("new", "listed").filter(({ fingerprint }) => !posted.has(fingerprint)),
    /** After the delivery: `2 new, 1 still open`. Empty if there is nothing to count. */
    countsText(): string {
      const all = [...threads.values()];
      const open = all.filter(({ isResolved, key }) => !isResolved && !closed.has(key));
      // Threads of this head were begun or closed by an earlier attempt.
      const begun = open.filter(({ marker }) => marker.head === head).length;
      const fixed = all.filter(({ isResolved, marker, key }) =>
        closed.has(key) ? closed.get(key) === "fixed" : isResolved && marker.closed === head,
      );
      const counts: readonly (readonly [count: number, word: string])[] = [
        [of("new").length + begun, "new"],
        [of("listed", "reopened").length + open.length - begun, "still open"],
        [fixed.length, "fixed"],
        [of("dismissed").length, "dismissed"],
        [of("held-back").length, "held back"],
      ];
      return counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : [])).join(", ");
    },
  };
}

/** `report`: the marker of the report comment. */
export async function readReviewState(
  delivering: Delivering,
  { findings, dismissed }: CollectedOutputs,
  pull: number,
  report: Marker | undefined,
): Promise<ReviewState> {
  const { about, github } = delivering;
  const { findings: wanted, report: reporting } = about.outputs;
  const { head } = about.origin;
  const isReviewing = wanted?.review !== undefined;
  const threads = isReviewing ? await threadsOnPull(delivering, pull) : new Map<string, never>();
  const listed =
    isReviewing && reporting?.comment === undefined
      ? await listedInReviews(delivering, pull)
      : new Set(report?.fingerprints);
  const earlierHeads = headsBefore(head, report, [...threads.values()]);
  const { rounds = Infinity, severity = "error" } = wanted?.quietAfter ?? {};
  const standingOf = async (finding: Finding): Promise<Standing> => {
    const thread = threads.get(finding.fingerprint);
    if (thread !== undefined) {
      if (!thread.isResolved) return { kind: "open", finding, thread };
      const isDismissed = await github.facts(head).isClosedByPerson(thread);
      return isDismissed ? { kind: "dismissed", finding } : { kind: "reopened", finding, thread };
    }
    if (listed.has(finding.fingerprint)) return { kind: "listed", finding };
    const isLow = severities.indexOf(finding.severity) < severities.indexOf(severity);
    return { kind: earlierHeads >= rounds && isLow ? "held-back" : "new", finding };
  };
  const standings: Standing[] = [];
  for (const finding of findings) standings.push(await standingOf(finding));
  // The person who closed a thread may have opened it again since the run began.
  for (const finding of dismissed)
    standings.push(isReviewing ? await standingOf(finding) : { kind: "dismissed", finding });
  return stateOf({ pull, head, threads, standings, earlierHeads });
}

export async function threadsOnPull(
  delivering: Delivering,
  pull: number,
): Promise<ReadonlyMap<string, OwnThread>> {
  return ownThreads(await delivering.github.threads(pull), ({ isOurs, body }) =>
    isOurs ? delivering.ours(body, "finding") : undefined,
  );
}

export function isPerson({ isOurs, isBot }: ThreadComment): boolean {
  return !isOurs && !isBot;
}

/** The report counts them. Without one, only heads at which something was found have left a trace. */
function headsBefore(
  head: string,
  report: Marker | undefined,
  threads: readonly OwnThread[],
): number {
  const heads = new Set(threads.flatMap(({ marker }) => marker.head ?? []));
  heads.delete(head);
  const counted = Number(report?.round ?? 0) - (report?.reviewed === head ? 1 : 0);
  return Math.max(heads.size, counted || 0);
}

/** The fingerprints of the findings that the bodies of reviews list. */
async function listedInReviews(delivering: Delivering, pull: number): Promise<ReadonlySet<string>> {
  const reviews = await delivering.github.ownReviews(pull);
  return new Set(
    reviews.flatMap(({ body }) => delivering.ours(body, "review")?.fingerprints ?? []),
  );
}

const needs = "`pull-requests: write`";
const needsToClose = "`contents: write` and `pull-requests: write`";
const MAX_PLACES = 10;
const MAX_KEY = 80;

/** Notes in the state what it has done. */
export async function deliverReview(
  delivering: Delivering,
  { replies, resolved, omitted }: CollectedOutputs,
  state: ReviewState,
): Promise<void> {
  const { about, github, options } = delivering;
  const { pull, threads, standings, posted, placeless, closed, fresh } = state;
  const { head } = about.origin;
  const facts = github.facts(head);
  /** Findings without a line are in the report comment, so the review needs no body. */
  const isListed = about.outputs.report?.comment !== undefined;
  /** The reason why the token may not close threads. */
  let obstacle: string | undefined;
  const named = ({ path, first: { id } }: OwnThread): string =>
    `the finding at ${path} (comment ${id}) of #${pull}`;

  async function postNew(): Promise<Outcome> {
    const isInDiff = linesInDiff(await github.diffOf(pull));
    /** The places that GitHub refuses, although they seem to be in the diff. */
    const refusals = new Map<string, string>();
    const missing = () => {
      const findings = fresh.filter(({ fingerprint }) => !posted.has(fingerprint));
      const { comments, others, body } = reviewOf({ ...about, findings, isInDiff, refusals });
      for (const { fingerprint } of others) placeless.add(fingerprint);
      return isListed ? { comments, others: [], body: "" } : { comments, others, body };
    };
    const isComplete = (): boolean => {
      const { comments, others } = missing();
      return comments.length + others.length === 0;
    };
    const send = async ({ comments, others, body }: ReturnType<typeof missing>): Promise<Made> => {
      const made = await github.createReview(pull, { head, event: "COMMENT", body, comments });
      for (const { key } of comments) posted.add(key);
      for (const { fingerprint } of others) posted.add(fingerprint);
      return made;
    };
    /** Undefined if GitHub refuses the content. */
    const unlessInvalid = (sent: Promise<Made>): Promise<Made | undefined> =>
      sent.catch((error: unknown) => {
        if (error instanceof GithubFailure && error.status === 422) return undefined;
        throw error;
      });
    const first = missing();
    if (isComplete()) return skipped("no new finding has a line in the diff");
    if (options.staged) for (const { key } of first.comments) posted.add(key);
    return delivering.write(
      [first.body, ...first.comments.map((one) => one.body)].join("\n\n"),
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
        if (refusals.size === 0) return last;
        const places = firstOf([...refusals.values()], MAX_PLACES);
        const reason = `GitHub refuses comments at ${places}, so these findings are listed without a thread`;
        return { ...last, reason };
      },
      async () => {
        for (const key of (await threadsOnPull(delivering, pull)).keys()) posted.add(key);
        if (!isListed) for (const key of await listedInReviews(delivering, pull)) posted.add(key);
        return isComplete() ? {} : undefined;
      },
    );
  }

  /** Opens a thread again. The comment of an open one is updated if it says something that no longer holds. */
  async function refresh(standing: Standing): Promise<void> {
    if (standing.kind !== "open" && standing.kind !== "reopened") return;
    const { thread, finding } = standing;
    const { marker, first, nodeId } = thread;
    const isOpen = standing.kind === "open";
    const { lineDigest = marker.text, ...rest } = finding;
    // In another file, its line would be looked for in vain.
    const text = rest.path === thread.path ? lineDigest : undefined;
    const isStale = text !== marker.text || marker.closed !== undefined;
    if (isOpen && !isStale) return;
    const content = { ...rest, ...defined({ lineDigest: text }) };
    const body = commentBody(content, about, { isWhole: false, head: marker.head });
    await delivering.deliver(
      `${named(thread)}, ${isOpen ? "updated" : "opened again"}`,
      isOpen ? needs : needsToClose,
      () =>
        delivering.write(body, async () => {
          if (!isOpen) await github.reopenThread(nodeId);
          return isStale ? github.updateReviewComment(first.id, body) : {};
        }),
    );
  }

  /** The thread of a key. A journal may name any, so that of one that isn't ours is refused. */
  function threadOf(key: string, doing: string): OwnThread | undefined {
    const thread = threads.get(key);
    if (thread === undefined)
      delivering.log(
        `${doing} finding ${JSON.stringify(truncate(key, MAX_KEY))} of #${pull}`,
        refused("no thread that this job began on the pull request has it"),
      );
    return thread;
  }

  /** The last comment of a person with write access is answered once: prompts show those of nobody else. */
  async function isOpenQuestion({ replies: all }: OwnThread): Promise<boolean> {
    for (const { isOurs, isBot, author } of all.toReversed()) {
      if (isOurs) return false;
      if (!isBot && author !== undefined && (await facts.canWrite(author))) return true;
    }
    return false;
  }

  async function reply(thread: OwnThread, message: string): Promise<void> {
    const body = replyBody(message, thread.key, about);
    await delivering.deliver(`a reply to ${named(thread)}`, needs, async () => {
      if (!(await isOpenQuestion(thread)))
        return skipped("nobody with write access has written since our last comment");
      return delivering.write(
        body,
        () => github.reply(pull, thread.first.id, body),
        async () => {
          const now = (await threadsOnPull(delivering, pull)).get(thread.key);
          return now !== undefined && (await isOpenQuestion(now)) ? undefined : {};
        },
      );
    });
  }

  /** The reason is noted in the comment, once. That is enough where the token may not close threads, as few should. */
  async function close(thread: OwnThread, reason: string): Promise<void> {
    const { key, first, nodeId, isResolved, replies: written, marker } = thread;
    const body = closedBody(first.body, reason, about);
    await delivering.deliver(`${named(thread)}, closed`, needsToClose, async () => {
      if (isResolved) return skipped("its thread is closed already");
      if (written.some(isPerson))
        return skipped("a person has written in its thread and may close it");
      if (options.staged) closed.set(key, "fixed");
      return delivering.write(body, async () => {
        if (marker.closed === undefined) await github.updateReviewComment(first.id, body);
        if (obstacle === undefined)
          await github.resolveThread(nodeId).catch((error: unknown) => {
            if (!(error instanceof GithubFailure) || error.status !== 403) throw error;
            obstacle = reasonOf(error, needsToClose);
          });
        if (obstacle === undefined) {
          closed.set(key, "fixed");
          return {};
        }
        const isKnown = marker.closed !== undefined && marker.closed !== head;
        closed.set(key, isKnown ? "known" : "fixed");
        return { reason: `its comment says so, but its thread stays open: ${obstacle}` };
      });
    });
  }

  /** A line is gone if GitHub calls the thread outdated, and no line of the file at the head has its text. */
  async function closeIfGone(thread: OwnThread): Promise<void> {
    const { isResolved, isOutdated, replies: written, path, marker } = thread;
    const { text } = marker;
    if (isResolved || !isOutdated || text === undefined || written.some(isPerson)) return;
    const what = `${named(thread)}, closed`;
    const isGone = await delivering.read(what, "`contents: read`", () => facts.isGone(path, text));
    if (isGone === true) await close(thread, "its line is gone.");
  }

  const made = await delivering.attempt(needs, async () => {
    if (fresh.length > 0) return postNew();
    return skipped(standings.length === 0 ? "no findings" : "no new findings");
  });
  state.isWhole = made.status !== "refused";
  const review = { what: `review of #${pull}`, ...made };
  delivering.deliveries.push(review);
  for (const standing of standings) await refresh(standing);
  for (const { key, message } of replies) {
    const thread = threadOf(key, "a reply to");
    if (thread !== undefined) await reply(thread, message);
  }
  const handled = new Set(standings.map(({ finding }) => finding.fingerprint));
  for (const { key, reason } of resolved) {
    if (handled.has(key)) continue;
    handled.add(key);
    const thread = threadOf(key, "closing");
    if (thread !== undefined) await close(thread, reason);
  }
  // A finding that was left out of the list may be the one of a thread.
  if (omitted === 0)
    for (const thread of threads.values()) if (!handled.has(thread.key)) await closeIfGone(thread);
  const reason = [made.reason, state.countsText()].filter(Boolean).join("; ");
  if (state.isWhole && reason !== "") review.reason = reason;
}

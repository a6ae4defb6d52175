/**
 * The findings of a job that are on a pull request, read from GitHub right before a delivery: a journal is never believed
 * about them. Only threads that the owner of the token began, with a marker of this job and leg, are ours.
 */
import { severities } from "../entry/outputs.ts";
import type { Finding } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import type { Delivering } from "./delivery.ts";
import type { Marker } from "./markers.ts";
import type { ReviewThread, ThreadComment } from "./review-threads.ts";

export interface OwnThread extends ReviewThread {
  readonly key: string;
  readonly marker: Marker;
}

/** A finding of the run, and what it needs. */
export type Standing =
  | { readonly kind: "new"; readonly finding: Finding }
  /** The report comment or the body of a review has it already. */
  | { readonly kind: "listed"; readonly finding: Finding }
  /** Its thread is open, or we or a program closed it and it is opened again. */
  | { readonly kind: "open" | "reopened"; readonly finding: Finding; readonly thread: OwnThread }
  /** A person with write access closed its thread. */
  | { readonly kind: "dismissed"; readonly finding: Finding }
  /** It is below the severity that new findings need in this round. */
  | { readonly kind: "held-back"; readonly finding: Finding };

export interface ReviewState {
  readonly threads: ReadonlyMap<string, OwnThread>;
  readonly standings: readonly Standing[];
  /** The number of heads that were reviewed before this one. */
  readonly earlierHeads: number;
}

interface Seen {
  /** The pull request. Undefined: the job makes no reviews. */
  readonly number: number | undefined;
  /** The marker of the report comment. */
  readonly report: Marker | undefined;
  /** The fingerprints of the findings that a text lists. */
  readonly listed: ReadonlySet<string>;
}

export async function readReviewState(
  delivering: Delivering,
  { findings, dismissed }: CollectedOutputs,
  { number, report, listed }: Seen,
): Promise<ReviewState> {
  const { about, github } = delivering;
  const facts = github.facts(about.origin.head);
  const threads =
    number === undefined ? new Map<string, OwnThread>() : await ownThreads(delivering, number);
  const earlierHeads = headsBefore(about.origin.head, report, [...threads.values()]);
  const { rounds = Infinity, severity = "error" } = about.outputs.findings?.quietAfter ?? {};
  const isQuiet = earlierHeads >= rounds;
  const standingOf = async (finding: Finding): Promise<Standing> => {
    const thread = threads.get(finding.fingerprint);
    if (thread !== undefined) {
      if (!thread.isResolved) return { kind: "open", finding, thread };
      const isDismissed = await facts.isClosedByPerson(thread);
      return isDismissed ? { kind: "dismissed", finding } : { kind: "reopened", finding, thread };
    }
    if (listed.has(finding.fingerprint)) return { kind: "listed", finding };
    const isLow = severities.indexOf(finding.severity) < severities.indexOf(severity);
    return { kind: isQuiet && isLow ? "held-back" : "new", finding };
  };
  const standings: Standing[] = [];
  for (const finding of findings) standings.push(await standingOf(finding));
  // The person who closed a thread may have opened it again since the run began.
  for (const finding of dismissed)
    standings.push(
      number === undefined ? { kind: "dismissed", finding } : await standingOf(finding),
    );
  return { threads, standings, earlierHeads };
}

/** Threads by the fingerprint of their finding. If several have the same, an open one counts, or else the newest. */
export async function ownThreads(
  { github, ours }: Delivering,
  number: number,
): Promise<Map<string, OwnThread>> {
  const found = new Map<string, OwnThread>();
  for (const thread of await github.threads(number)) {
    const marker = thread.first.isOurs ? ours(thread.first.body, "finding") : undefined;
    const key = marker?.key;
    if (marker === undefined || key === undefined) continue;
    if (found.get(key)?.isResolved !== false && (!found.has(key) || !thread.isResolved))
      found.set(key, { ...thread, key, marker });
  }
  return found;
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

export async function listedInReviews(
  { github, ours }: Delivering,
  number: number,
): Promise<ReadonlySet<string>> {
  const bodies = await github.ownReviews(number);
  return new Set(bodies.flatMap((body) => ours(body, "review")?.fingerprints ?? []));
}

export interface ReviewCounts {
  readonly fresh: number;
  readonly open: number;
  readonly fixed: number;
  readonly dismissed: number;
  readonly heldBack: number;
}

/** Threads that are closed now, or may not be closed, by the key of their finding; `known`: at an earlier head already. */
type ClosedThreads = ReadonlyMap<string, "fixed" | "known">;

/** Counts after a delivery. `closed`: the threads that it has closed. */
export function countsOf(
  { threads, standings }: ReviewState,
  head: string,
  closed: ClosedThreads = new Map(),
): ReviewCounts {
  const count = (...kinds: readonly Standing["kind"][]): number =>
    standings.filter(({ kind }) => kinds.includes(kind)).length;
  const all = [...threads.values()];
  const isOpen = ({ isResolved, key }: OwnThread): boolean => !isResolved && !closed.has(key);
  // Threads of this head were begun or closed by an earlier attempt.
  const begun = all.filter((one) => isOpen(one) && one.marker.head === head).length;
  const fixed = all.filter(({ isResolved, marker, key }) =>
    closed.has(key) ? closed.get(key) === "fixed" : isResolved && marker.closed === head,
  ).length;
  return {
    fresh: count("new") + begun,
    open: count("listed", "reopened") + all.filter(isOpen).length - begun,
    fixed,
    dismissed: count("dismissed"),
    heldBack: count("held-back"),
  };
}

/** `2 new, 1 still open`; empty if there is nothing to count. */
export function countsText({ fresh, open, fixed, dismissed, heldBack }: ReviewCounts): string {
  const parts: readonly (readonly [number, string])[] = [
    [fresh, "new"],
    [open, "still open"],
    [fixed, "fixed"],
    [dismissed, "dismissed"],
    [heldBack, "held back"],
  ];
  return parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : [])).join(", ");
}

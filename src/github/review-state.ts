/**
 * The findings of a job that are on a pull request, read from GitHub right before a delivery: a journal is never believed
 * about them. Only threads that the owner of the token began, with a marker of this job and leg, are ours.
 */
import { severities } from "../entry/outputs.ts";
import type { Finding } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import type { Delivering } from "./delivery.ts";
import type { Marker } from "./markers.ts";
import { ownThreads, type OwnThread, type ThreadComment } from "./review-threads.ts";

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
export async function listedInReviews(
  delivering: Delivering,
  pull: number,
): Promise<ReadonlySet<string>> {
  const reviews = await delivering.github.ownReviews(pull);
  return new Set(
    reviews.flatMap(({ body }) => delivering.ours(body, "review")?.fingerprints ?? []),
  );
}

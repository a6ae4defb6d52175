/**
 * Delivers the findings of a run: first at lines, then in the report comment, which counts them and lists those that have
 * no line. So each is shown once.
 */
import type { RunOutcome } from "../events/event.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { reportComment, type ReportComment } from "./comments.ts";
import { deliverReview, type DeliveredReview } from "./deliver-review.ts";
import { attempt, skipped, write, type Delivering, type Delivery } from "./delivery.ts";
import type { OwnComment } from "./github-port.ts";
import {
  countsOf,
  countsText,
  listedInReviews,
  readReviewState,
  type ReviewState,
} from "./review-state.ts";

const needs = "`pull-requests: write`";

interface Wanted {
  readonly report: boolean;
  /** Never set for a failed job. */
  readonly review: boolean;
}

interface DeliveredFindings {
  readonly deliveries: readonly Delivery[];
  /** The findings that are neither dismissed nor held back. */
  readonly shown: readonly Finding[];
  /** The fingerprints of earlier findings that are fixed, although their threads may be open. */
  readonly closed: ReadonlySet<string>;
}

export async function deliverFindings(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
  { report, review }: Wanted,
): Promise<DeliveredFindings> {
  const { isPullRequest, number } = delivering.about.origin;
  const names = [...(review ? ["review"] : []), ...(report ? ["report comment"] : [])];
  if (names.length === 0) return { deliveries: [], shown: collected.findings, closed: new Set() };
  if (isPullRequest !== true || number === undefined) {
    const deliveries = names.map((name) => skipped(name, "the run has no pull request"));
    return { deliveries, shown: collected.findings, closed: new Set() };
  }
  const [reviewName = "", reportName = ""] = ["review", "report comment"].map(
    (name) => `${name} of #${number}`,
  );
  const reports = report
    ? await attempt(delivering, { what: reportName, needs }, () => findReports(delivering, number))
    : [];
  const last = "status" in reports ? undefined : reports[0];
  const marker = delivering.ours(last?.body ?? "", "report");
  const deliveries: Delivery[] = [];
  let state: ReviewState | undefined;
  let delivered: DeliveredReview | undefined;
  if (outcome.kind === "succeeded") {
    const read = await attempt(delivering, { what: reviewName, needs }, async () => {
      const listed = review && !report ? await listedInReviews(delivering, number) : undefined;
      return readReviewState(delivering, collected, {
        number: review ? number : undefined,
        report: marker,
        listed: listed ?? new Set(marker?.fingerprints),
      });
    });
    if ("status" in read) deliveries.push(read);
    else state = read;
  }
  if (review && state !== undefined) {
    delivered = await deliverReview(delivering, collected, state, { number, isListed: report });
    deliveries.push(...delivered.deliveries);
  }
  const shown = state === undefined ? collected.findings : shownOf(state);
  const closed = delivered?.closed ?? new Set();
  if ("status" in reports) return { deliveries: [...deliveries, reports], shown, closed };
  if (report) {
    const reporting: Reporting = { number, outcome, reports, state, delivered };
    deliveries.push(
      ...(await deliverReport(delivering, { ...collected, findings: shown }, reporting)),
    );
  }
  return { deliveries, shown, closed };
}

function shownOf({ standings }: ReviewState): readonly Finding[] {
  return standings.flatMap(({ kind, finding }) =>
    kind === "held-back" || kind === "dismissed" ? [] : [finding],
  );
}

interface Reporting {
  readonly number: number;
  readonly outcome: RunOutcome;
  /** The newest first. */
  readonly reports: readonly OwnComment[];
  /** Undefined: the job failed, or the threads can't be read. */
  readonly state: ReviewState | undefined;
  readonly delivered: DeliveredReview | undefined;
}

async function findReports(
  { about, github, ours }: Delivering,
  number: number,
): Promise<readonly OwnComment[]> {
  const all = (await github.ownComments(number)).filter(({ body }) => ours(body, "report"));
  const ofLeg = all.filter(({ body }) => ours(body, "report")?.leg === about.origin.leg);
  // The first leg takes over the comment of an earlier version, and minimizes older ones.
  return ofLeg.length > 0 ? ofLeg : all.filter(({ isMinimized }) => !isMinimized);
}

function isLater(key: string | undefined, { workflowRun, attempt }: Origin): boolean {
  const [run = 0, tried = 0] = (key ?? "").split("/").map(Number);
  const own = Number(workflowRun);
  return run > own || (run === own && tried >= attempt);
}

/** The content that every view of the report shares. */
export function reportContent(
  { about }: Delivering,
  { findings, omitted, verdict }: CollectedOutputs,
  outcome: RunOutcome,
): ReportComment {
  const { view } = about;
  return {
    ...about,
    outcome,
    verdict,
    findings,
    omitted,
    fingerprints: [],
    totals: view.totals,
    durationMs: (view.endedAt ?? 0) - (view.startedAt ?? 0),
  };
}

async function deliverReport(
  delivering: Delivering,
  collected: CollectedOutputs,
  { number, outcome, reports, state, delivered }: Reporting,
): Promise<readonly Delivery[]> {
  const { about, github, ours } = delivering;
  const { origin } = about;
  const what = `report comment on #${number}`;
  const [newest, ...rest] = reports;
  const last = ours(newest?.body ?? "", "report");
  if (last?.head === origin.head && isLater(last.key, origin))
    return [skipped(what, "already published by this run or a later one")];
  const { findings } = collected;
  const listed = delivered?.elsewhere ?? findings;
  const current = delivered?.placeless ?? new Set(listed.map(({ fingerprint }) => fingerprint));
  // A later review will give a thread to findings that are listed only because something failed.
  const mayKeep = delivered !== undefined || about.outputs.findings?.review === undefined;
  const earlier = state === undefined ? (last?.fingerprints ?? []) : [];
  const isReviewed =
    about.reviewed !== undefined && state !== undefined && delivered?.isWhole !== false;
  const body = reportComment({
    ...reportContent(delivering, collected, outcome),
    listed,
    counts: state && countsText(delivered?.counts ?? countsOf(state, origin.head)),
    fingerprints: [...new Set([...(mayKeep ? current : []), ...earlier])],
    ...(isReviewed
      ? { round: String(state.earlierHeads + 1) }
      : { reviewed: last?.reviewed, round: last?.round }),
  });
  const older: Delivery[] = [];
  for (const { nodeId, isMinimized } of rest) {
    if (isMinimized) continue;
    const writing = { what: `an older ${what}, minimized`, needs };
    const minimize = (): Promise<Delivery> =>
      write(delivering, writing, () => github.minimize(nodeId));
    older.push(await attempt(delivering, writing, minimize));
  }
  const writing =
    newest === undefined
      ? { what, needs, preview: body }
      : { what: `${what}, updated`, needs, preview: body };
  const made = await attempt(delivering, writing, () =>
    newest === undefined
      ? write(
          delivering,
          writing,
          () => github.createComment(number, body),
          async () => ((await findReports(delivering, number)).length > 0 ? {} : undefined),
        )
      : write(delivering, writing, () => github.updateComment(newest.id, body)),
  );
  return [made, ...older];
}

/** Delivers outputs of untrusted agents. A hidden marker finds each delivery again, so that none is made twice. */
import { proposalKinds, type Outputs } from "../entry/outputs.ts";
import { endWords, type RunOutcome } from "../events/event.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { collectOutputs, type CollectedOutputs } from "../outputs/collect.ts";
import { deliverCheck } from "./deliver-check.ts";
import { deliverDecision } from "./deliver-decision.ts";
import { reportComment } from "./comments.ts";
import { deliverReview, readReviewState, type ReviewState } from "./deliver-review.ts";
import { deliverProposals, isPush } from "./deliver-proposal.ts";
import {
  Delivering,
  refused,
  skipped,
  type Deliverable,
  type Delivery,
  type DeliveryOptions,
  type Outcome,
} from "./delivery.ts";
import type { GithubPort, OwnComment } from "./github-port.ts";

export function asksForDelivery(outputs: Outputs): boolean {
  return outputs.check !== undefined || writesOnSubject(outputs);
}

/** Proposals on the issue or pull request, or new ones. */
function writesOnSubject({ report, findings, proposals = {} }: Outputs): boolean {
  return (
    report?.comment !== undefined ||
    findings?.review !== undefined ||
    findings?.approve === true ||
    proposalKinds.some((kind) => proposals[kind] !== undefined)
  );
}

export async function deliver(
  about: Deliverable,
  github: GithubPort,
  options: DeliveryOptions,
): Promise<readonly Delivery[]> {
  const { outputs, origin, view } = about;
  const outcome = outcomeOf(view);
  const collected = collectOutputs(view, outputs);
  const isWhole = outcome.kind === "succeeded" && collected.complete;
  const reviewed = isWhole ? origin.head : undefined;
  const delivering = new Delivering({ ...about, reviewed }, github, options);
  github.beginDelivery();
  const shown = writesOnSubject(outputs)
    ? await deliverOutputs(delivering, collected, outcome)
    : collected.findings;
  // A canceled step has no time: it completes the check run that it has begun at once.
  const isEnded = outcome.kind === "canceled" && options.checkId !== undefined;
  // When it is completed, a merge that waits for it may go on.
  if (outputs.check !== undefined && !isEnded)
    await deliverCheck(delivering, collected, outcome, shown);
  return delivering.deliveries;
}

/** Returns the findings that are neither dismissed nor held back. */
async function deliverOutputs(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
): Promise<readonly Finding[]> {
  const { findings: wanted, report } = delivering.about.outputs;
  const isFailed = outcome.kind === "failed";
  if (outcome.kind !== "succeeded" && !(isFailed && report?.when === "always")) {
    delivering.log("everything", skipped(`the job ${endWords[outcome.kind]}`));
    return collected.findings;
  }
  const moved = await outdated(delivering);
  if (moved !== undefined) {
    delivering.log("everything", moved);
    // Their changes are nowhere else, so a push is refused, which is a warning.
    if (moved.status === "skipped" && !isFailed)
      await deliverProposals(delivering, collected.proposals.filter(isPush));
    return collected.findings;
  }
  const { shown, closed } = await deliverFindings(delivering, collected, outcome);
  if (isFailed) return shown;
  if (wanted?.review === "request-changes" || wanted?.approve === true)
    await deliverDecision(delivering, { ...collected, findings: shown }, closed);
  await deliverProposals(delivering, collected.proposals);
  return shown;
}

function outcomeOf({ status, reason = "" }: RunView): RunOutcome {
  switch (status) {
    case "succeeded":
      return { kind: status };
    case "failed":
    case "skipped":
      return { kind: status, reason };
    case "canceled":
    case "pending":
    case "running":
      return { kind: "canceled", reason };
  }
}

async function outdated(delivering: Delivering): Promise<Outcome | undefined> {
  const { about, github, pull } = delivering;
  const { head } = about.origin;
  if (pull === undefined) return undefined;
  const found = await delivering.attempt("`pull-requests: read`", () => github.pullOf(pull));
  if ("status" in found) return refused(`the head of #${pull} is unknown: ${found.reason}`);
  const { head: now = head } = found;
  if (now === head) return undefined;
  return skipped(`outdated: the head of #${pull} is ${now} by now, not ${head}`);
}

const needs = "`pull-requests: write`";

interface DeliveredFindings {
  /** The findings that are neither dismissed nor held back. */
  readonly shown: readonly Finding[];
  /** The fingerprints of earlier findings that are fixed, although their threads may be open. */
  readonly closed: { has(fingerprint: string): boolean };
}

/** First at lines, then in the report comment, which counts them and lists those that have no line. So each is shown once. */
async function deliverFindings(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
): Promise<DeliveredFindings> {
  const { pull, about } = delivering;
  const isFailed = outcome.kind === "failed";
  const hasReport = about.outputs.report?.comment !== undefined;
  const hasReview = !isFailed && about.outputs.findings?.review !== undefined;
  const all = { shown: collected.findings, closed: new Set<string>() };
  if (!hasReport && !hasReview) return all;
  if (pull === undefined) {
    const none = skipped("the run has no pull request");
    if (hasReview) delivering.log("review", none);
    if (hasReport) delivering.log("report comment", none);
    return all;
  }
  const reports = hasReport
    ? await delivering.read(`report comment of #${pull}`, needs, () =>
        findReports(delivering, pull),
      )
    : [];
  const report = delivering.ours(reports?.[0]?.body ?? "", "report");
  const state = isFailed
    ? undefined
    : await delivering.read(`review of #${pull}`, needs, () =>
        readReviewState(delivering, collected, pull, report),
      );
  if (hasReview && state !== undefined) await deliverReview(delivering, collected, state);
  const { shown, closed } = state ?? all;
  if (hasReport && reports !== undefined)
    await deliverReport(delivering, { ...collected, findings: shown }, outcome, {
      pull,
      reports,
      state,
    });
  return { shown, closed };
}

/** The newest first. */
async function findReports(delivering: Delivering, pull: number): Promise<readonly OwnComment[]> {
  const all = (await delivering.github.ownComments(pull)).flatMap((comment) => {
    const marker = delivering.ours(comment.body, "report");
    return marker === undefined ? [] : [{ ...comment, leg: marker.leg }];
  });
  const ofLeg = all.filter(({ leg }) => leg === delivering.about.origin.leg);
  // The first leg takes over the comment of an earlier version, and minimizes older ones.
  return ofLeg.length > 0 ? ofLeg : all.filter(({ isMinimized }) => !isMinimized);
}

function isLater(key: string | undefined, { workflowRun, attempt }: Origin): boolean {
  const [run = 0, tried = 0] = (key ?? "").split("/").map(Number);
  const own = Number(workflowRun);
  return run > own || (run === own && tried >= attempt);
}

interface Reporting {
  readonly pull: number;
  /** The newest first. */
  readonly reports: readonly OwnComment[];
  /** Undefined: the job failed, or the threads can't be read. */
  readonly state: ReviewState | undefined;
}

async function deliverReport(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
  { pull, reports, state }: Reporting,
): Promise<void> {
  const { about, github } = delivering;
  const { origin } = about;
  const what = `report comment on #${pull}`;
  const [newest, ...older] = reports;
  const last = delivering.ours(newest?.body ?? "", "report");
  if (last?.head === origin.head && isLater(last.key, origin)) {
    delivering.log(what, skipped("already published by this run or a later one"));
    return;
  }
  const { findings } = collected;
  const listed = state?.unplaced() ?? findings;
  const isReviewing = about.outputs.findings?.review !== undefined;
  // A later review will give a thread to findings that are listed only because something failed.
  const kept = isReviewing
    ? (state?.placeless ?? [])
    : listed.map(({ fingerprint }) => fingerprint);
  const earlier = state === undefined ? (last?.fingerprints ?? []) : [];
  const isReviewed = about.reviewed !== undefined && state?.isWhole === true;
  const body = reportComment({
    ...about,
    outcome,
    collected,
    listed,
    counts: state?.countsText(),
    fingerprints: [...new Set([...kept, ...earlier])],
    ...(isReviewed
      ? { round: String(state.earlierHeads + 1) }
      : { reviewed: last?.reviewed, round: last?.round }),
  });
  if (newest === undefined)
    await delivering.deliver(what, needs, () =>
      delivering.write(
        body,
        () => github.createComment(pull, body),
        async () => ((await findReports(delivering, pull)).length > 0 ? {} : undefined),
      ),
    );
  else
    await delivering.deliver(`${what}, updated`, needs, () =>
      delivering.write(body, () => github.updateComment(newest.id, body)),
    );
  for (const { nodeId, isMinimized } of older)
    if (!isMinimized)
      await delivering.deliver(`an older ${what}, minimized`, needs, () =>
        delivering.write(undefined, () => github.minimize(nodeId)),
      );
}

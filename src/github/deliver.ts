/** Delivers outputs of untrusted agents. A hidden marker finds each delivery again, so that none is made twice. */
import { proposalKinds, type Outputs } from "../entry/outputs.ts";
import { endWords, type RunOutcome } from "../events/event.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import {
  collectOutputs,
  type CollectedOutputs,
  type CollectedProposal,
} from "../outputs/collect.ts";
import { deliverProposal, withKeys } from "./deliver-proposal.ts";
import { deliverFindings, reportContent } from "./deliver-findings.ts";
import {
  deadlineOf,
  reasonOf,
  refused,
  skipped,
  type Deliverable,
  type Delivering,
  type Delivery,
  type DeliveryOptions,
} from "./delivery.ts";
import type { GithubPort } from "./github-port.ts";
import { GithubFailure } from "./github-api.ts";
import { readMarkerOf } from "./markers.ts";
import { reportComment } from "./comments.ts";
import { deliverCheck } from "./deliver-check.ts";
import { deliverDecision } from "./review-event.ts";

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

/** Proposals that are handled. A journal can have any number, and each refusal costs a few requests. */
const mostProposals = 200;

export async function deliver(
  about: Deliverable,
  github: GithubPort,
  options: DeliveryOptions,
): Promise<readonly Delivery[]> {
  const { outputs, origin, view } = about;
  const outcome = outcomeOf(view);
  const collected = collectOutputs(view, outputs);
  const isWhole = outcome.kind === "succeeded" && collected.complete;
  const delivering: Delivering = {
    about: { ...about, reviewed: isWhole ? origin.head : undefined },
    github,
    options,
    deadline: deadlineOf(options),
    published: new Map(),
    ours: (body, kind) => readMarkerOf(body, kind, { ...about, leg: origin.leg }),
  };
  const { deliveries, shown } = writesOnSubject(outputs)
    ? await deliverOutputs(delivering, collected, outcome)
    : { deliveries: [] };
  // A canceled step has no time: it completes the check run that it has begun at once.
  const isEnded = outcome.kind === "canceled" && options.checkId !== undefined;
  // When it is completed, a merge that waits for it may go on.
  if (outputs.check === undefined || isEnded) return deliveries;
  const visible = { ...collected, findings: shown ?? collected.findings };
  const report = reportComment(reportContent(delivering, visible, outcome));
  return [...deliveries, await deliverCheck(delivering, collected, outcome, { visible, report })];
}

interface DeliveredOutputs {
  readonly deliveries: readonly Delivery[];
  /** Absent: all findings. */
  readonly shown?: readonly Finding[];
}

async function deliverOutputs(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
): Promise<DeliveredOutputs> {
  const { about, github } = delivering;
  const { outputs, origin } = about;
  const isFailed = outcome.kind === "failed";
  if (outcome.kind !== "succeeded" && !(isFailed && outputs.report?.when === "always"))
    return { deliveries: [skipped("everything", `the job ${endWords[outcome.kind]}`)] };
  const isPush = ({ proposal }: CollectedProposal): boolean => proposal.kind === "push";
  const moved = await outdated(origin, github);
  // The review is about the head that a push replaces. The last push has the changes of those before it.
  const proposals = [
    ...collected.proposals.filter((one) => !isPush(one)),
    ...collected.proposals.filter(isPush).slice(-1),
  ];
  const keyed = withKeys(proposals, about);
  if (moved?.status === "skipped" && !isFailed) {
    // The changes of the agents are nowhere else.
    const lost = keyed.filter(isPush).map((one) => deliverProposal(delivering, one));
    return { deliveries: [moved, ...(await Promise.all(lost))] };
  }
  if (moved !== undefined) return { deliveries: [moved] };
  const delivered = await deliverFindings(delivering, collected, outcome, {
    report: outputs.report?.comment !== undefined,
    review: !isFailed && outputs.findings?.review !== undefined,
  });
  const { shown } = delivered;
  const deliveries = [...delivered.deliveries];
  if (isFailed) return { deliveries, shown };
  if (outputs.findings?.review === "request-changes" || outputs.findings?.approve === true)
    deliveries.push(
      ...(await deliverDecision(delivering, { ...collected, findings: shown }, delivered.closed)),
    );
  const { length } = keyed;
  if (length > mostProposals)
    deliveries.push(skipped(`${length - mostProposals} of ${length} proposals`, "too many"));
  for (const proposed of keyed.slice(0, mostProposals))
    deliveries.push(await deliverProposal(delivering, proposed));
  return { deliveries, shown };
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

async function outdated(origin: Origin, github: GithubPort): Promise<Delivery | undefined> {
  const { isPullRequest, number, head } = origin;
  if (isPullRequest !== true || number === undefined) return undefined;
  try {
    const { head: now = head } = await github.pullOf(number);
    if (now === head) return undefined;
    return skipped("everything", `outdated: the head of #${number} is ${now} by now, not ${head}`);
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    return refused(
      "everything",
      `the head of #${number} is unknown: ${reasonOf(error, "`pull-requests: read`")}`,
    );
  }
}

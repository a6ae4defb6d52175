/** Delivers outputs of untrusted agents. A hidden marker finds each delivery again, so that none is made twice. */
import { proposalKinds, type Outputs } from "../entry/outputs.ts";
import { endWords, type RunOutcome } from "../events/event.ts";
import type { Finding } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { collectOutputs, type CollectedOutputs } from "../outputs/collect.ts";
import { deliverCheck } from "./deliver-check.ts";
import { deliverDecision } from "./deliver-decision.ts";
import { deliverFindings } from "./deliver-findings.ts";
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
import type { GithubPort } from "./github-port.ts";

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

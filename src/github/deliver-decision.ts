/**
 * Reviews that merge rules count: one asks for changes while findings are open, and is withdrawn when none is; one
 * approves, if the entry says so. They have no comments: findings stand elsewhere. The threads on GitHub
 * decide what is open, never the journal.
 */
import { severities, type Severity } from "../entry/outputs.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { plural } from "../text/numbers.ts";
import { bodyOf, markerLine, runLink, safeText } from "./comments.ts";
import { readTrailer } from "./deliver-proposal.ts";
import { skipped, type Delivering, type Outcome } from "./delivery.ts";
import type { OwnReview } from "./github-port.ts";
import { codeText } from "./markdown.ts";
import { readMarker } from "./markers.ts";
import { isPerson, threadsOnPull } from "./deliver-review.ts";

const needs = "`pull-requests: write`";
const MAX_NAME = 100;
const MAX_REASON = 2_000;
/** GitHub lists no more. */
const MAX_COMMITS = 250;

const kinds = { APPROVED: "approval", CHANGES_REQUESTED: "request for changes" } as const;
type Decision = keyof typeof kinds;

/** `closed`: findings that this delivery has marked as fixed. The token may not be allowed to close their threads. */
export async function deliverDecision(
  delivering: Delivering,
  collected: CollectedOutputs,
  closed: { has(fingerprint: string): boolean },
): Promise<void> {
  const { about, github, pull } = delivering;
  if (pull === undefined) return;
  const { head } = about.origin;
  const { review, approve, failOn = "never" } = about.outputs.findings ?? {};
  const from: Severity = failOn === "never" ? "error" : failOn;
  const { verdict, complete, proposals } = collected;

  const decisions = async (): Promise<readonly OwnReview[]> =>
    (await github.ownReviews(pull, "whole")).filter(({ state }) => Object.hasOwn(kinds, state));

  const isOwn = ({ body }: OwnReview): boolean => delivering.ours(body, "decision") !== undefined;

  const withdraw = async (
    standing: readonly OwnReview[],
    decision: Decision,
    why: string,
  ): Promise<void> => {
    for (const { id } of standing.filter((one) => isOwn(one) && one.state === decision))
      await delivering.deliver(`${kinds[decision]} of #${pull}, withdrawn`, needs, () =>
        delivering.write(
          undefined,
          () => github.dismissReview(pull, id, why),
          async () => ((await decisions()).some((one) => one.id === id) ? undefined : {}),
        ),
      );
  };

  const decide = async (
    standing: readonly OwnReview[],
    decision: Decision,
    text: string,
  ): Promise<Outcome> => {
    const isThere = (one: OwnReview): boolean =>
      isOwn(one) &&
      one.state === decision &&
      // An approval is one of a commit. A request for changes stands until it is withdrawn.
      (decision === "CHANGES_REQUESTED" || one.head === head);
    if (standing.some(isThere)) return skipped("it stands already");
    const event = decision === "APPROVED" ? "APPROVE" : "REQUEST_CHANGES";
    const body = bodyOf(markerLine(about, { kind: "decision" }), [
      `Job ${codeText(about.job, MAX_NAME)} ${text}`,
      `<sub>${runLink(about.origin, "run")}</sub>`,
    ]);
    return delivering.write(
      body,
      () => github.createReview(pull, { head, event, body }),
      async () => ((await decisions()).some(isThere) ? {} : undefined),
    );
  };

  /** Why an approval is not given. Undefined: it is. */
  const obstacle = async (standing: readonly OwnReview[]): Promise<string | undefined> => {
    if (standing.some((one) => one.state === "CHANGES_REQUESTED" && !isOwn(one)))
      return "another job of this token's user asks for changes";
    if (proposals.some(({ proposal }) => proposal.kind === "push"))
      return "the run pushes a commit";
    const { bot, body, commits, commitCount } = await github.authorsOf(pull);
    if (bot !== undefined) return `its author is ${bot}`;
    if (readMarker(body) !== undefined) return "an agent has proposed it";
    if (commitCount > MAX_COMMITS) return "it has more commits than GitHub lists";
    const byBot = commits.find((one) => one.bot !== undefined)?.bot;
    if (byBot !== undefined) return `a commit is by ${byBot}`;
    // A push with a person's token has that person as its author.
    const isPushed = commits.some(({ message }) => readTrailer(message) !== undefined);
    return isPushed ? "an agent has pushed to it" : undefined;
  };

  let what = `decision about #${pull}`;
  const outcome = await delivering.attempt(needs, async () => {
    const open = await openFindings(delivering, collected, pull, closed);
    const { length } = open.filter((one) => severities.indexOf(one) >= severities.indexOf(from));
    const standing = await decisions();
    if (review === "request-changes" && length > 0) {
      await withdraw(standing, "APPROVED", "Findings are open.");
      what = `${kinds.CHANGES_REQUESTED} of #${pull}`;
      const count = plural(length, "finding is", "findings are");
      const text = `asks for changes: ${count} open, of severity ${from} or worse.`;
      return decide(standing, "CHANGES_REQUESTED", text);
    }
    if (!complete) return skipped("findings may be missing, so nothing is withdrawn");
    const none = `No finding of severity ${from} or worse is open any more.`;
    await withdraw(standing, "CHANGES_REQUESTED", none);
    const isPass = approve === true && open.length === 0 && verdict?.verdict === "pass";
    const why = isPass
      ? await obstacle(standing)
      : open.length > 0
        ? "findings are open"
        : "the verdict is not pass";
    if (why !== undefined)
      await withdraw(standing, "APPROVED", "The last run of the job gives no approval.");
    if (approve !== true) return skipped("nothing to decide");
    what = `${kinds.APPROVED} of #${pull}`;
    if (why !== undefined) return skipped(why);
    return decide(
      standing,
      "APPROVED",
      `approves.\n\n${safeText(verdict?.reason ?? "", MAX_REASON, about)}`,
    );
  });
  delivering.log(what, outcome);
}

/** The severities of all findings that nobody with write access has closed: those in threads, and those that this run reports. */
async function openFindings(
  delivering: Delivering,
  { findings }: CollectedOutputs,
  pull: number,
  closed: { has(fingerprint: string): boolean },
): Promise<readonly Severity[]> {
  const facts = delivering.github.facts(delivering.about.origin.head);
  const open: Severity[] = [];
  const judged = new Set<string>();
  for (const thread of (await threadsOnPull(delivering, pull)).values()) {
    const { isResolved, resolvedBy, marker, key, replies } = thread;
    // The author of a pull request may close threads without write access, and delete the account.
    const isByUs = resolvedBy === undefined ? marker.closed !== undefined : resolvedBy.isUs;
    const isDismissed = await facts.isClosedByPerson(thread);
    // One that we have closed is open if it is reported again, whether or not GitHub has opened it.
    if (!isResolved && closed.has(key) && marker.closed !== undefined && !replies.some(isPerson))
      continue;
    const isOpen = !isDismissed && (!isResolved || !isByUs);
    if (isOpen || isDismissed) judged.add(key);
    if (isOpen) open.push(severities.find((one) => one === marker.severity) ?? "error");
  }
  const reported = findings.filter(({ fingerprint }) => !judged.has(fingerprint));
  return [...open, ...reported.map(({ severity }) => severity)];
}

/**
 * Reviews that merge rules count: one asks for changes while findings are open, and is withdrawn when none is; one
 * approves, if the entry says so. They have no comments: findings stand elsewhere. The threads on GitHub
 * decide what is open, never the journal.
 */
import { severities, type Severity } from "../entry/outputs.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { plural } from "../text/numbers.ts";
import { bodyOf, markerLine, runLink, safeText } from "./comments.ts";
import { attempt, skipped, write, type Delivering, type Delivery } from "./delivery.ts";
import type { OwnDecision } from "./decision-port.ts";
import { codeText } from "./markdown.ts";
import { isPerson, ownThreads, type OwnThread } from "./review-state.ts";

const needs = "`pull-requests: write`";
const MAX_NAME = 100;
const MAX_REASON = 2_000;

/** `closed`: findings that this delivery has marked as fixed. The token may not be allowed to close their threads. */
export async function deliverDecision(
  delivering: Delivering,
  collected: CollectedOutputs,
  closed: ReadonlySet<string>,
): Promise<readonly Delivery[]> {
  const { about, github, ours } = delivering;
  const { isPullRequest, number, head } = about.origin;
  if (isPullRequest !== true || number === undefined) return [];
  const { review, approve, failOn = "never" } = about.outputs.findings ?? {};
  const from: Severity = failOn === "never" ? "error" : failOn;
  const what = `decision about #${number}`;
  const withdrawn: Delivery[] = [];
  const obstacleOf = async (isRefusedByOther: boolean): Promise<string | undefined> => {
    if (isRefusedByOther) return "another job of this token's user asks for changes";
    const pushes = collected.proposals.some(({ proposal }) => proposal.kind === "push");
    return pushes ? "the run pushes a commit" : github.writtenByAgent(number);
  };
  const made = await attempt(delivering, { what, needs }, async () => {
    const open = await openFindings(delivering, collected, number, closed);
    const blocking = open.filter((one) => severities.indexOf(one) >= severities.indexOf(from));
    const standing = await github.ownDecisions(number);
    const own = standing.filter(({ body }) => ours(body, "decision"));
    const asksForChanges = review === "request-changes" && blocking.length > 0;
    const isWhole = collected.complete;
    const withdraw = async (isApproval: boolean, why: string): Promise<void> => {
      for (const { id } of own.filter((one) => one.isApproval === isApproval)) {
        const kind = isApproval ? "approval" : "request for changes";
        const writing = { what: `${kind} of #${number}, withdrawn`, needs };
        const send = (): Promise<Delivery> =>
          write(
            delivering,
            writing,
            () => github.withdraw(number, id, why),
            async () =>
              (await github.ownDecisions(number)).some((one) => one.id === id) ? undefined : {},
          );
        withdrawn.push(await attempt(delivering, writing, send));
      }
    };
    const decide = async (isApproval: boolean, body: string): Promise<Delivery> => {
      const kind = isApproval ? "approval" : "request for changes";
      const isThere = (one: OwnDecision): boolean =>
        ours(one.body, "decision") !== undefined &&
        one.isApproval === isApproval &&
        // An approval is one of a commit. A request for changes stands until it is withdrawn.
        (!isApproval || one.head === head);
      if (standing.some(isThere)) return skipped(`${kind} of #${number}`, "it stands already");
      const marker = markerLine(about, { kind: "decision" });
      const text = bodyOf(marker, [body, `<sub>${runLink(about.origin, "run")}</sub>`]);
      return write(
        delivering,
        { what: `${kind} of #${number}`, needs, preview: text },
        () => github.decide(number, head, isApproval, text),
        async () => ((await github.ownDecisions(number)).some(isThere) ? {} : undefined),
      );
    };
    const job = `Job ${codeText(about.job, MAX_NAME)}`;
    if (asksForChanges) {
      await withdraw(true, "Findings are open.");
      const counts = `${plural(blocking.length, "finding is", "findings are")} open`;
      return decide(false, `${job} asks for changes: ${counts}, of severity ${from} or worse.`);
    }
    if (!isWhole) return skipped(what, "findings may be missing, so nothing is withdrawn");
    await withdraw(false, `No finding of severity ${from} or worse is open any more.`);
    const verdict = collected.verdict;
    const isPass = approve === true && open.length === 0 && verdict?.verdict === "pass";
    const others = standing.some((one) => !one.isApproval && !own.includes(one));
    const obstacle = isPass ? await obstacleOf(others) : undefined;
    if (!isPass || obstacle !== undefined) {
      await withdraw(true, "The last run of the job gives no approval.");
      if (approve !== true) return skipped(what, "nothing to decide");
      return skipped(
        `approval of #${number}`,
        obstacle ?? (open.length > 0 ? "findings are open" : "the verdict is not pass"),
      );
    }
    return decide(
      true,
      `${job} approves.\n\n${safeText(verdict?.reason ?? "", MAX_REASON, about)}`,
    );
  });
  return [made, ...withdrawn];
}

/** The severities of all findings that nobody with write access has closed: those in threads, and those that this run reports. */
async function openFindings(
  delivering: Delivering,
  { findings }: CollectedOutputs,
  number: number,
  closed: ReadonlySet<string>,
): Promise<readonly Severity[]> {
  const facts = delivering.github.facts(delivering.about.origin.head);
  const open: OwnThread[] = [];
  const judged = new Set<string>();
  for (const thread of (await ownThreads(delivering, number)).values()) {
    const { isResolved, resolvedBy, marker, key, replies } = thread;
    // The author of a pull request may close threads without write access, and delete the account.
    const isByUs = resolvedBy === undefined ? marker.closed !== undefined : resolvedBy.isUs;
    const isDismissed = await facts.isClosedByPerson(thread);
    // One that we have closed is open if it is reported again, whether or not GitHub has opened it.
    if (!isResolved && closed.has(key) && marker.closed !== undefined && !replies.some(isPerson))
      continue;
    if (isDismissed || !isResolved || !isByUs) judged.add(key);
    if (!isDismissed && (!isResolved || !isByUs)) open.push(thread);
  }
  return [
    ...open.map(({ marker }) => severities.find((one) => one === marker.severity) ?? "error"),
    ...findings.filter((one) => !judged.has(one.fingerprint)).map(({ severity }) => severity),
  ];
}

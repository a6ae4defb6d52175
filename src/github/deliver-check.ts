/** The check run of a job: made when the job begins, or with its end; completed with the verdict on the commit. */
import { createHash } from "node:crypto";
import type { Outputs } from "../entry/outputs.ts";
import { endWords, type RunOutcome } from "../events/event.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { headLines } from "../outputs/line-address.ts";
import { judge, verdictLine, verdictTitle } from "../outputs/verdict.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import { harmless, oneLine, withoutReferences } from "../text/harmless-text.ts";
import { truncate } from "../text/truncate.ts";
import {
  annotationsPerRequest,
  type CheckAnnotation,
  type CheckText,
  type Conclusion,
  type NewCheck,
} from "./check-port.ts";
import { countsText, reportComment, runUrl, type Publisher } from "./comments.ts";
import { skipped, type Delivering, type Outcome } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import { safeCell } from "./markdown.ts";

export const checkNeeds = "`checks: write`";

const conclusions = {
  succeeded: "success",
  failed: "failure",
  canceled: "cancelled",
  skipped: "neutral",
} as const satisfies Record<RunOutcome["kind"], Conclusion>;

/** Events whose `GITHUB_SHA` is the subject of the job. Others are about an issue, or about another run. */
const ofCommit = new Set([
  "push",
  "merge_group",
  "schedule",
  "workflow_dispatch",
  "repository_dispatch",
  "release",
]);

export function mayHaveCheck({ isPullRequest, event }: Origin): boolean {
  return isPullRequest === true || ofCommit.has(event);
}

/** The check run of this job and leg. GitHub shows the latest of a name on a commit. Undefined: it has none. */
export function newCheck(about: Publisher, check: Outputs["check"]): NewCheck | undefined {
  const { head, legName } = about.origin;
  if (check === undefined || !mayHaveCheck(about.origin)) return undefined;
  const name = check === true ? `agent-jobs: ${about.job}` : check.name;
  return {
    head,
    name: truncate(legName === undefined ? name : `${name} (${legName})`, MAX_NAME),
    externalId: externalIdOf(about),
    url: runUrl(about.origin),
  };
}

/** Each attempt has a check run of its own, because GitHub can't remove the annotations of an earlier one. */
function externalIdOf({ entry, job, origin: { workflowRun, attempt, leg } }: Publisher): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([entry, job, leg]))
    .digest("hex");
  return `agent-jobs/${workflowRun}/${attempt}/${digest.slice(0, 16)}`;
}

/** It has the result of the step, which counts all findings. `shown`: those that are neither dismissed nor held back. */
export async function deliverCheck(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
  shown: readonly Finding[],
): Promise<void> {
  const { about, github, options } = delivering;
  const check = newCheck(about, about.outputs.check);
  if (check === undefined) {
    delivering.log("check", skipped("the event is about no commit"));
    return;
  }
  const { faults = [] } = options;
  const visible = { ...collected, findings: shown };
  const judgement = judge(collected, about.outputs);
  const reason = faults[0] ?? (judgement.kind === "failed" ? judgement.reason : "");
  const isFailed = outcome.kind === "succeeded" && reason !== "";
  const conclusion = isFailed ? "failure" : conclusions[outcome.kind];
  const why = isFailed ? `**Failure:** ${safeCell(reason, { maxLength: MAX_REASON })}\n\n` : "";
  const isUnseen = isFailed && shown.length < collected.findings.length;
  const text: CheckText = {
    title: titleText(faults[0] ?? (isUnseen ? reason : titleOf(visible, outcome))),
    summary: why + reportComment({ ...about, outcome, collected: visible }),
  };
  const annotations = annotationsOf(shown, about.origin);

  async function complete(): Promise<Outcome> {
    if (check === undefined || options.staged)
      return { status: "staged", preview: `${text.title}\n\n${text.summary}` };
    let known =
      options.checkId === undefined
        ? await github.checkOf(check)
        : { id: options.checkId, isCompleted: false, annotations: 0 };
    if (known?.isCompleted === true) return skipped("already published by this run or a later one");
    if (known === undefined)
      await delivering.write(
        undefined,
        async () => {
          const id = await github.createCheck(check, text);
          known = { id, isCompleted: false, annotations: 0 };
          return {};
        },
        async () => (known = await github.checkOf(check)) && {},
      );
    const { id = 0, annotations: there = 0 } = known ?? {};
    const send = async (from: number): Promise<Outcome> => {
      const to = from + annotationsPerRequest;
      const isLast = to >= annotations.length;
      const output = { ...text, annotations: annotations.slice(from, to) };
      const sent = await delivering.write(
        undefined,
        () => github.updateCheck(id, output, isLast ? conclusion : undefined),
        async () => {
          const now = await github.checkAt(id);
          const isDone = isLast ? now.isCompleted : now.annotations >= to;
          return isDone ? {} : undefined;
        },
      );
      return isLast ? sent : send(to);
    };
    try {
      // An attempt that was killed may have sent the first ones.
      return await send(there - (there % annotationsPerRequest));
    } catch (error) {
      if (!(error instanceof GithubFailure) || error.status !== 422) throw error;
      // A check that is never completed would block the merge.
      const { url } = await github.updateCheck(id, text, conclusion);
      return { status: "done", url, reason: "GitHub refuses its annotations" };
    }
  }

  const what = `check ${JSON.stringify(oneLine(check.name, 100))}: ${conclusion}`;
  await delivering.deliver(what, checkNeeds, complete);
}

const MAX_NAME = 255;
const MAX_REASON = 800;
const MAX_TITLE = 200;
const MAX_MESSAGE = 4_000;

/** The title in merge boxes, as plain text. */
export function titleText(text: string): string {
  return withoutReferences(oneLine(text, MAX_TITLE));
}

function titleOf({ verdict, findings }: CollectedOutputs, outcome: RunOutcome): string {
  if (outcome.kind !== "succeeded") return `The job ${endWords[outcome.kind]}: ${outcome.reason}`;
  const counts = countsText(findings) || "No findings";
  if (verdict === undefined) return counts;
  return findings.length === 0
    ? verdictLine(verdict)
    : `${verdictTitle(verdict)} · ${counts}: ${verdict.reason}`;
}

const levels = { error: "failure", warning: "warning", notice: "notice" } as const;

function annotationsOf(findings: readonly Finding[], origin: Origin): CheckAnnotation[] {
  return findings.map((finding) => {
    const { path, line, endLine = line, severity, rule, title = rule, message } = finding;
    const { from, to } = headLines(finding, origin) ?? { from: line, to: endLine };
    return {
      path,
      start_line: from,
      end_line: Math.max(from, to),
      annotation_level: levels[severity],
      title: titleText(title),
      message: withoutReferences(truncate(harmless(message), MAX_MESSAGE, "…")),
    };
  });
}

/** The check run of a job: made when the job begins, or with its end; completed with the verdict on the commit. */
import type { RunOutcome } from "../events/event.ts";
import { endWords } from "../events/event.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { headLines } from "../outputs/line-address.ts";
import { judge, verdictLine, verdictTitle } from "../outputs/verdict.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import { harmless, oneLine, withoutReferences } from "../text/harmless-text.ts";
import { truncate } from "../text/truncate.ts";
import {
  annotationsPerRequest,
  checkNeeds,
  newCheck,
  type CheckAnnotation,
  type CheckText,
  type Conclusion,
  type OwnCheck,
} from "./check-port.ts";
import { countsText } from "./comments.ts";
import { attempt, skipped, write, type Delivering, type Delivery } from "./delivery.ts";
import { GithubFailure } from "./github-api.ts";
import { safeCell } from "./markdown.ts";

const conclusions = {
  succeeded: "success",
  failed: "failure",
  canceled: "cancelled",
  skipped: "neutral",
} as const satisfies Record<RunOutcome["kind"], Conclusion>;

interface Shown {
  /** Without findings that are dismissed or held back. */
  readonly visible: CollectedOutputs;
  /** The text of the report comment on a pull request. */
  readonly report: string;
}

/** It has the result of the step, which counts all findings. */
export async function deliverCheck(
  delivering: Delivering,
  collected: CollectedOutputs,
  outcome: RunOutcome,
  { visible, report }: Shown,
): Promise<Delivery> {
  const { about, github, options } = delivering;
  const check = newCheck(about, about.outputs.check);
  if (check === undefined) return skipped("check", "the event is about no commit");
  const { faults = [] } = options;
  const judgement = judge(collected, about.outputs);
  const reason = faults[0] ?? (judgement.kind === "failed" ? judgement.reason : "");
  const isFailed = outcome.kind === "succeeded" && reason !== "";
  const conclusion = isFailed ? "failure" : conclusions[outcome.kind];
  const why = isFailed ? `**Failure:** ${safeCell(reason, { maxLength: MAX_REASON })}\n\n` : "";
  const isUnseen = isFailed && visible.findings.length < collected.findings.length;
  const text: CheckText = {
    title: titleText(faults[0] ?? (isUnseen ? reason : titleOf(visible, outcome))),
    summary: why + report,
  };
  const what = `check ${JSON.stringify(oneLine(check.name, 100))}: ${conclusion}`;
  const writing = { what, needs: checkNeeds, preview: `${text.title}\n\n${text.summary}` };
  return attempt(delivering, writing, async () => {
    if (options.staged) return write(delivering, writing, () => Promise.resolve({}));
    let known: Omit<OwnCheck, "externalId"> | undefined =
      options.checkId === undefined
        ? await github.checkOf(check)
        : { id: options.checkId, isCompleted: false, annotations: 0 };
    if (known?.isCompleted === true)
      return skipped(what, "already published by this run or a later one");
    const found = async () => {
      known = await github.checkOf(check);
      return known === undefined ? undefined : {};
    };
    if (known === undefined)
      await write(
        delivering,
        writing,
        async () => {
          const id = await github.createCheck(check, text);
          known = { id, isCompleted: false, annotations: 0 };
          return {};
        },
        found,
      );
    const { id = 0, annotations: there = 0 } = known ?? {};
    const annotations = annotationsOf(visible.findings, about.origin);
    const send = async (from: number): Promise<Delivery> => {
      const to = from + annotationsPerRequest;
      const isLast = to >= annotations.length;
      const sent = await write(
        delivering,
        writing,
        () =>
          github.updateCheck(
            id,
            { ...text, annotations: annotations.slice(from, to) },
            isLast ? conclusion : undefined,
          ),
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
      return { what, status: "done", url, reason: `GitHub refuses its annotations` };
    }
  });
}

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

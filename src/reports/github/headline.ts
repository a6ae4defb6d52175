/** What the job summary begins with: how the run ended and why, or what its agents think, and its figures. */
import { statusSign } from "../../entry/mermaid.ts";
import { wentBadly, worksOf, type RunView, type WorkView } from "../../events/view.ts";
import { changeText, plural } from "../text.ts";
import { code, inline } from "./escape.ts";
import { amountText, costText, durationText, resultText } from "./layout.ts";
import { judgementText, verdictText } from "./result-sections.ts";
import { durationMs } from "./step-outputs.ts";

const MAX_REASON = 1000;

export function headline(view: RunView, entryFile: string): string {
  const job = code(view.jobName === "" ? "(unnamed)" : view.jobName, 100);
  const facts = factsOf(view, entryFile);
  const reason = shownReason(view);
  const advice = adviceOf(view, reason);
  const why = [
    reason === undefined ? "" : `**Why:** ${inline(reason, MAX_REASON)}`,
    advice === undefined ? "" : `**What to do:** ${inline(advice, MAX_REASON)}`,
  ];
  const result = `${statusSign(view.status)} ${resultText(view, job)}`;
  const verdict = verdictText(view);
  const threshold = judgementText(view);
  const paragraphs =
    verdict === undefined
      ? [`## ${result}`, ...why, threshold, `<sub>${facts}</sub>`]
      : // That agents failed is more than what they think.
        view.status === "succeeded"
        ? [`## ${verdict.title}`, verdict.more, threshold, `<sub>${result} · ${facts}</sub>`]
        : [`## ${result}`, ...why, `### ${verdict.title}`, verdict.more, `<sub>${facts}</sub>`];
  return paragraphs.filter((text) => text !== "").join("\n\n");
}

function factsOf(view: RunView, entryFile: string): string {
  const { totals } = view;
  return [
    code(entryFile, 200),
    plural(view.works.size, "work"),
    ...(view.plan?.change === undefined ? [] : [inline(changeText(view.plan.change), 100)]),
    durationText(durationMs(view)),
    plural(totals.modelCalls, "model call"),
    `${amountText(totals.inputTokens)} tokens in (${amountText(totals.cacheReadTokens)} cached)`,
    `${amountText(totals.outputTokens)} out`,
    ...(totals.cost > 0 ? [costText(totals.cost)] : []),
    ...(view.failedCommandCount > 0 ? [plural(view.failedCommandCount, "failed command")] : []),
  ].join(" · ");
}

/** Of a rehearsal: why it failed itself, which the job's failures don't say. */
function shownReason(view: RunView): string | undefined {
  return view.jobOutcome === undefined ? (groupedReason(view) ?? view.reason) : view.reason;
}

/** Of the first failure that has some, if the reason that is shown doesn't contain it. */
function adviceOf(view: RunView, shown = ""): string | undefined {
  if (view.status === "succeeded") return undefined;
  const advice = view.advice ?? failed(view).find((work) => work.advice !== undefined)?.advice;
  return advice === undefined || shown.slice(0, MAX_REASON).includes(advice) ? undefined : advice;
}

/** Undefined: nothing failed for the same reason as something else. */
function groupedReason(view: RunView): string | undefined {
  const groups = failureGroups(view);
  if (view.status !== "failed" || groups.every(({ works }) => works.length === 1)) return undefined;
  return groups
    .slice(0, 3)
    .map(({ works, first: { taskId, status, reason } }) => {
      const who =
        works.length === 1 ? `task "${taskId}"` : `${works.length} of ${view.works.size} tasks`;
      return `${who} ${status}: ${reason ?? "no reason given"}`;
    })
    .join("; ");
}

/** Crashes, which stop the job, come before other failures; then what failed first. */
function failed(view: RunView): WorkView[] {
  const last = ({ status }: WorkView): number => Number(status !== "crashed");
  return worksOf(view)
    .filter(wentBadly)
    .sort((a, b) => last(a) - last(b) || (a.endedAt ?? 0) - (b.endedAt ?? 0));
}

export interface FailureGroup {
  readonly first: WorkView;
  readonly works: readonly WorkView[];
}

/** The works that failed, those for the same reason together. */
export function failureGroups(view: RunView): readonly FailureGroup[] {
  const groups = new Map<string, { first: WorkView; works: WorkView[] }>();
  for (const work of failed(view)) {
    const key = JSON.stringify([work.status, work.reason]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: work, works: [work] });
    else group.works.push(work);
  }
  return [...groups.values()];
}

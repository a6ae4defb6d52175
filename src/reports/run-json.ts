/** `run.json`: the result of a run for programs. `schema/run.schema.json` describes its stable shape. */
import type { Finding, Proposal } from "../events/output-shapes.ts";
import { collectOutputs, resultsOf, previousOutcomes } from "../outputs/collect.ts";
import { endReason } from "../outputs/verdict.ts";
import {
  elapsedMs,
  givenInOrder,
  itemsOf,
  knownCost,
  type Counters,
  type GivenView,
  type RunView,
  type WorkStatus,
  type WorkView,
} from "../events/view.ts";

/** Raised when a field changes its meaning or goes away. Further fields may come at any time. */
const runJsonVersion = 1;

const results: Readonly<Record<WorkStatus, string>> = {
  succeeded: "success",
  failed: "failure",
  crashed: "failure",
  "answered-no": "failure",
  canceled: "canceled",
  skipped: "skipped",
  pending: "canceled",
  running: "canceled",
};

export function runJson(view: RunView, files: ReadonlyMap<string, string> = new Map()): object {
  const { plan } = view;
  const start = view.startedAt ?? 0;
  const end = view.endedAt ?? start;
  const { findings, omitted, verdict, proposals } = collectOutputs(view);
  return {
    version: runJsonVersion,
    agentJobs: plan?.version ?? null,
    runId: view.runId,
    job: view.jobName,
    entry: view.entryFile ?? null,
    result: results[view.status],
    rehearsed: view.rehearsed,
    reason: endReason(view) || null,
    startedAt: time(view.startedAt),
    endedAt: time(view.endedAt),
    seconds: seconds(end - start),
    userInput: plan?.userInput || null,
    inputs: plan?.inputs ?? null,
    change: changeOf(view),
    instructions: plan?.instructions?.files ?? null,
    ...counters(view.totals),
    works: [...view.works.values()].map((work) => ({
      id: work.workId,
      task: work.taskId,
      model: work.modelId || null,
      condition: work.condition,
      result: results[work.status],
      reason: work.reason ?? null,
      runs: work.runs,
      seconds: seconds(elapsedMs(work, end)),
      ...counters(work),
      items: work.itemCount === 0 ? null : itemsIn(work),
    })),
    report: jobReport(view) ?? null,
    reports: givenInOrder(view).flatMap(([key, { workId, taskId, items, report }]) =>
      report === undefined
        ? []
        : [
            {
              work: workId,
              task: taskId,
              item: items.at(-1) ?? null,
              title: report.title ?? null,
              file: files.get(key) ?? null,
            },
          ],
    ),
    results: resultsOf(view),
    reportedDocument: view.reportedDocument ?? null,
    verdict: verdict ?? null,
    findings: findings.map(findingJson),
    omittedFindings: omitted,
    previousFindings: previousOutcomes(view).map(({ id, kind, key, path, line, text }) => ({
      finding: id,
      outcome: kind,
      path,
      line: line ?? null,
      text,
      fingerprint: key,
    })),
    proposals: proposals.map(({ task, proposal }) => ({ task, ...withoutContents(proposal) })),
  };
}

export function findingJson(finding: Finding): object {
  const { path, line, endLine, headLine, severity, rule, title, message, ...rest } = finding;
  return {
    path,
    line,
    endLine: endLine ?? line,
    headLine: headLine ?? null,
    severity,
    rule,
    title: title ?? null,
    message,
    suggestion: rest.suggestion ?? null,
    task: rest.task,
    fingerprint: rest.fingerprint,
  };
}

function withoutContents(proposal: Proposal): object {
  if (!("files" in proposal)) return proposal;
  return { ...proposal, files: proposal.files.map(({ path }) => path) };
}

function changeOf({ plan }: RunView): object | null {
  const { base, head, count } = plan?.change ?? {};
  return base === undefined ? null : { base, head: head ?? null, files: count ?? null };
}

function itemsIn(work: WorkView): object[] {
  return itemsOf(work).map(({ name, leg, status, reason, elapsedMs: took }) => ({
    item: name,
    leg: leg ?? null,
    result: results[status],
    reason: reason ?? null,
    seconds: took === undefined ? null : seconds(took),
  }));
}

function counters({ attempts, retries, crashes, modelCalls, ...rest }: Counters): object {
  const { inputTokens, outputTokens, unpriced } = rest;
  const cost = knownCost(rest) ?? null;
  return { attempts, retries, crashes, modelCalls, inputTokens, outputTokens, cost, unpriced };
}

/** Returns the reports of the tasks that the entry names, or else the last report. `whole`: reports that the view has cut, by key. */
export function jobReport(
  view: RunView,
  whole: ReadonlyMap<string, string> = new Map(),
): string | undefined {
  const from = view.plan?.outputs?.report?.from;
  const given = givenInOrder(view).flatMap(([key, one]) => {
    const { report } = one;
    if (report === undefined) return [];
    const markdown = whole.get(key) ?? report.markdown;
    return [{ ...one, shown: report.markdown, report: { ...report, markdown } }];
  });
  if (from !== undefined) {
    const chosen = from.flatMap((task) => given.filter(({ taskId }) => taskId === task));
    if (chosen.length === 1) return chosen[0]?.report?.markdown;
    return chosen.length === 0 ? undefined : chosen.map(headed).join("\n\n");
  }
  const works = [...view.works.values()].filter(({ report }) => report !== undefined);
  // Copied steps may have ended at the same time: the later one in the list counts.
  const last = works.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0)).at(-1);
  if (last === undefined) return undefined;
  const ofItems = given.filter(({ workId, items }) => workId === last.workId && items.length > 0);
  if (ofItems.length > 0) return ofItems.map(headed).join("\n\n");
  const own = given.find(({ workId, shown }) => workId === last.workId && shown === last.report);
  return own?.report.markdown ?? last.report;
}

function headed({ taskId, items, report }: GivenView): string {
  const name = report?.title ?? taskId;
  const item = items.map((one) => ` \`${one.replaceAll(/[\s`]+/gu, " ")}\``).join(" ›");
  return `## ${name}${item}\n\n${report?.markdown ?? ""}`;
}

function time(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000;
}

/** Which works ran and how they ended, against what was expected. */
import type { RunResult, WorkResult } from "./format/schema-parts.ts";
import type { ExpectedWork, Place } from "./format/script.ts";

export interface WorkTally {
  readonly workId: number;
  readonly taskId: string;
  modelId: string;
  runs: number;
  last: WorkResult | undefined;
  /** Why it did not succeed the last time. */
  reason: string;
  /** How its first runs ended, as far as an expectation lists them. */
  readonly each: WorkResult[];
  attempts: number;
  retries: number;
  crashes: number;
  rejected: number;
}

export function workFailures(
  expected: { readonly place: Place; readonly items: readonly ExpectedWork[] },
  works: readonly WorkTally[],
): string[] {
  const failures: string[] = [];
  const free = new Set(works);
  // The most specific first: an item without a workId matches any work of its task.
  const ordered = [...expected.items].sort((a, b) => particularity(b) - particularity(a));
  for (const item of ordered) {
    const fitting = [...free].filter((work) => isMeant(item, work));
    const ran = (work: WorkTally): boolean => work.runs > 0;
    const work =
      fitting.find((one) => ran(one) === (item.outcome.kind !== "skipped")) ?? fitting[0];
    if (work === undefined) {
      failures.push(
        `${item.place}: the job has no ${works.some((one) => isMeant(item, one)) ? "further " : ""}work ${describeItem(item)}.`,
      );
      continue;
    }
    free.delete(work);
    for (const text of compare(item, work))
      failures.push(`${item.place}: ${nameOf(work)} ${text}.`);
  }
  for (const work of free) {
    if (work.runs === 0) continue;
    failures.push(
      `${expected.place}: ${nameOf(work)} ran and ${endOf(work)}, but "works" doesn't list it.`,
    );
  }
  return failures;
}

function isMeant(item: ExpectedWork, work: WorkTally): boolean {
  return (
    (item.task === undefined || item.task === work.taskId) &&
    (item.workId === undefined || item.workId === work.workId) &&
    (item.model === undefined || item.model === work.modelId)
  );
}

function particularity({ task, workId, model }: ExpectedWork): number {
  return (
    (task === undefined ? 0 : 4) + (workId === undefined ? 0 : 2) + (model === undefined ? 0 : 1)
  );
}

function compare({ outcome, ...item }: ExpectedWork, work: WorkTally): string[] {
  const because = work.reason === "" ? "" : ` (${work.reason})`;
  if (outcome.kind === "skipped") {
    return work.runs === 0 ? [] : [`should have been skipped, but it ran and ${endOf(work)}`];
  }
  if (work.runs === 0 || work.last === undefined) return ["should have run, but it was skipped"];
  const problems: string[] = [];
  if (outcome.kind === "last" && outcome.outcome !== work.last) {
    problems.push(
      `should have ${wished(outcome.outcome)}, but it ${happened(work.last)}${because}`,
    );
  }
  if (outcome.kind === "each") {
    const { outcomes } = outcome;
    const differs = outcomes.findIndex((one, run) => one !== work.each[run]);
    if (work.runs !== outcomes.length) {
      problems.push(`should have run ${outcomes.length}×, but it ran ${work.runs}×`);
    } else if (differs !== -1) {
      problems.push(
        `should have ${wished(outcomes[differs] ?? work.last)} in run ${differs + 1}, but it ${happened(work.each[differs] ?? work.last)}`,
      );
    }
  }
  const count = (
    [one, many]: readonly [string, string],
    wanted: number | undefined,
    actual: number,
  ): void => {
    if (wanted !== undefined && wanted !== actual) {
      const wish = `${wanted === 0 ? "no" : wanted} ${wanted === 1 ? one : many}`;
      problems.push(`should have had ${wish}, but it had ${actual || "none"}`);
    }
  };
  count(["run", "runs"], item.runs, work.runs);
  count(["attempt", "attempts"], item.attempts, work.attempts);
  count(["retry", "retries"], item.retries, work.retries);
  count(["crash", "crashes"], item.crashes, work.crashes);
  count(["rejected document", "rejected documents"], item.rejected, work.rejected);
  return problems;
}

/** After "should have". */
export function wished(result: RunResult | WorkResult): string {
  return result === "canceled" || result === "skipped" ? `been ${result}` : result;
}

/** After "it". */
export function happened(result: RunResult | WorkResult): string {
  return result === "canceled" || result === "skipped" ? `was ${result}` : result;
}

function endOf({ last }: WorkTally): string {
  return last === undefined ? "did not end" : happened(last);
}

function describeItem({ task, workId, model }: ExpectedWork): string {
  return [
    ...(task === undefined ? [] : [`of task "${task}"`]),
    ...(workId === undefined ? [] : [`with the id ${workId}`]),
    ...(model === undefined ? [] : [`on the model "${model}"`]),
  ].join(" ");
}

function nameOf({ workId, taskId }: WorkTally): string {
  return `work ${workId} ("${taskId}")`;
}

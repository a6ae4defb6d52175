import { defined } from "../document/guards.ts";
import type { RunResult, WorkResult } from "./format/schema-parts.ts";
import type { ExpectedWork, Placed } from "./format/script.ts";
import type { WorkTally } from "./work-tallies.ts";

export function workFailures(
  expected: Placed<readonly ExpectedWork[]> | undefined,
  works: readonly WorkTally[],
): string[] {
  if (expected === undefined) return [];
  const failures: string[] = [];
  const free = new Set(works);
  // The most specific first: an item without a workId matches any work of its task.
  const ordered = expected.value.toSorted((a, b) => selected(b).length - selected(a).length);
  for (const item of ordered) {
    const fitting = [...free].filter((work) => isMeant(item, work));
    const work =
      fitting.find(({ runs }) => runs > 0 === (item.outcome !== "skipped")) ?? fitting[0];
    if (work === undefined) {
      failures.push(`${item.place}: the job has no other work with ${selected(item).join(", ")}.`);
      continue;
    }
    free.delete(work);
    for (const text of compare(item, work))
      failures.push(`${item.place}: ${nameOf(work)} ${text}.`);
  }
  for (const work of free) {
    const { runs, outcomes } = work;
    if (runs === 0) continue;
    const end = happened(outcomes.at(-1));
    failures.push(
      `${expected.place}: ${nameOf(work)} ran and ${end}, but "works" doesn't list it.`,
    );
  }
  return failures;
}

function isMeant({ task, workId, model }: ExpectedWork, work: WorkTally): boolean {
  return (
    (task ?? work.taskId) === work.taskId &&
    (workId ?? work.workId) === work.workId &&
    (model ?? work.model) === work.model
  );
}

function selected({ task, workId, model }: ExpectedWork): readonly string[] {
  return Object.entries(defined({ task, workId, model })).map(
    ([name, value]) => `${name} ${JSON.stringify(value)}`,
  );
}

function compare(item: ExpectedWork, work: WorkTally): string[] {
  const { outcome } = item;
  const { outcomes, runs } = work;
  const last = outcomes.at(-1);
  if (outcome === "skipped")
    return runs === 0 ? [] : [`should have been skipped, but it ran and ${happened(last)}`];
  if (runs === 0) return ["should have run, but it was skipped"];
  return [...outcomeFailures(outcome, work), ...countFailures(item, work)];
}

function outcomeFailures(
  wanted: WorkResult | readonly WorkResult[],
  { outcomes, runs, reason }: WorkTally,
): string[] {
  if (typeof wanted === "string") {
    const last = outcomes.at(-1);
    const because = reason === "" ? "" : ` (${reason})`;
    return last === wanted
      ? []
      : [`should have ${wished(wanted)}, but it ${happened(last)}${because}`];
  }
  if (runs !== wanted.length) return [`should have run ${wanted.length}×, but it ran ${runs}×`];
  const differs = wanted.findIndex((one, run) => one !== outcomes[run]);
  const one = wanted[differs];
  if (one === undefined) return [];
  return [
    `should have ${wished(one)} in run ${differs + 1}, but it ${happened(outcomes[differs])}`,
  ];
}

const counts = ["runs", "attempts", "retries", "crashes", "rejected"] as const;

function countFailures(item: ExpectedWork, work: WorkTally): string[] {
  return counts.flatMap((name) => {
    const wanted = item[name];
    if (wanted === undefined || wanted === work[name]) return [];
    return [`should have had "${name}: ${wanted}", but it had ${work[name]}`];
  });
}

/** After "should have". */
export function wished(result: RunResult | WorkResult): string {
  return result === "canceled" || result === "skipped" ? `been ${result}` : result;
}

/** After "it". */
export function happened(result: RunResult | WorkResult | undefined): string {
  if (result === undefined) return "did not end";
  return result === "canceled" || result === "skipped" ? `was ${result}` : result;
}

function nameOf({ workId, taskId }: WorkTally): string {
  return `work ${workId} ("${taskId}")`;
}

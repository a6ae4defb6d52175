/**
 * Finds the steps after the fan-out whose results from an earlier merge are still valid when further legs join. The first
 * step that could depend on the new items runs again, and so do all after it. The cost of repeated steps still counts.
 */
import { isDeepStrictEqual } from "node:util";
import { fanOf } from "../engine/fan-out.ts";
import type { PastRun } from "../engine/past.ts";
import type { PreparedEntry, Work } from "../entry/model.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import type { RunEvent } from "../events/event.ts";
import { legName, type PlannedLeaf } from "../events/plan.ts";
import type { JournalSource } from "../journal/store.ts";
import { pastEvents, type EventSource } from "./past-events.ts";
import type { EarlierJob } from "./past-run.ts";

export interface AfterFanOut extends Pick<
  PastRun,
  "works" | "lists" | "tokens" | "cost" | "milliseconds"
> {
  readonly count: number;
  readonly source: () => EventSource;
}

export async function afterFanOut(
  plan: EarlierJob,
  legs: readonly EarlierJob[],
  merge: EarlierJob & { readonly name: string },
  { store, tasks = {} }: { readonly store: JournalSource; readonly tasks?: PreparedEntry["tasks"] },
): Promise<AfterFanOut> {
  const { started, past, planned, name } = merge;
  const found = started && fanOf(started.work);
  const isOfFan = (event: RunEvent): boolean =>
    "work" in event &&
    event.type !== "run.started" &&
    found?.workIds.has(event.work?.workId ?? -1) === true;
  const source = (): EventSource => {
    let ofPlan = plan.events.all;
    const takes = (event: RunEvent): boolean => {
      if (event.leg !== undefined) return false;
      if (event.past === true && ofPlan > 0) {
        ofPlan -= 1;
        return false;
      }
      // The earlier merge may have skipped items that are there now.
      return !isOfFan(event);
    };
    return { name, store, job: merge, after: 0, takes, isLast: true };
  };
  let count = 0;
  for await (const _ of pastEvents([source()])) count += 1;
  const kept =
    started === undefined
      ? new Set<number>()
      : keptAfter(started.work, tasks, hasSame(legs, merge));
  return {
    works: past.works.filter(({ workId }) => kept.has(workId)),
    lists: past.lists.filter(({ workId }) => kept.has(workId)),
    tokens: planned.tokens - plan.past.tokens,
    cost: planned.cost - plan.past.cost,
    milliseconds: Math.max(0, past.milliseconds - (started?.resumed?.milliseconds ?? 0)),
    count,
    source,
  };
}

function hasSame(legs: readonly EarlierJob[], { started, events }: EarlierJob): boolean {
  const now = legs.flatMap(({ started: leg }) =>
    leg?.part?.kind === "shard" ? [{ leg: legName(leg.part), runId: leg.runId }] : [],
  );
  const { legs: merged = [] } = started?.part?.kind === "merge" ? started.part : {};
  const before = merged.map(({ leg, runId }) => ({ leg, runId }));
  const sum = legs.reduce((total, leg) => total + leg.events.ofLegs, 0);
  return isDeepStrictEqual(now, before) && sum === events.ofLegs;
}

/** The ids of the steps after the fan-out that keep their results. */
function keptAfter(
  work: Work<number, PlannedLeaf>,
  tasks: PreparedEntry["tasks"],
  isSame: boolean,
): ReadonlySet<number> {
  const found = fanOf(work);
  const kept = new Set<number>();
  if (work.kind !== "Seq" || found === undefined) return kept;
  const names = new Set(leafWorks(found.fan).map(leafName));
  const at = work.works.findIndex((one) => one === found.fan);
  for (const one of work.works.slice(at + 1)) {
    const leaves = leafWorks(one);
    const used = leaves.map((leaf) => tasks[leafName(leaf)]);
    if (!isSame && (used.includes(undefined) || seesAny(JSON.stringify([one, used]), names))) break;
    for (const { workIdInJob } of leaves) kept.add(workIdInJob);
  }
  return kept;
}

/** Commands, workflows and delegated tasks may read anything. */
function seesAny(text: string, names: ReadonlySet<string>): boolean {
  const all = ['"run":', '"protocol":', '"previousTasks":', "$previous-result"];
  if (all.some((one) => text.includes(one))) return true;
  return [...names].some(
    (name) => text.includes(`-of-${name}`) || text.includes(`"result":${JSON.stringify(name)}`),
  );
}

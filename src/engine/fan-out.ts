/** A job on several machines: the members of its first `Each` or `Par` at the top are shared out among shards. */
import type { EachWork, LeafWork, ParallelWork, Work } from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import type { RunPlan } from "../events/plan.ts";
import type { Past, PastItems } from "./past.ts";
import type { Place } from "./place.ts";
import type { WorkRunner } from "./run-work.ts";

type Fan = EachWork<Work<number>> | ParallelWork<Work<number>>;

export interface Shard {
  readonly index: number;
  readonly count: number;
}

export type FanOut = {
  readonly part: NonNullable<RunPlan["part"]>;
  /** The log says what the shard may spend, and why. */
  readonly notes?: readonly string[];
} &
  /** Ends with the fan-out, of which these members run; none of them in a plan. */
  (
    | { readonly kind: "part"; readonly members: ReadonlySet<number> }
    /** Other runs have done the fan-out. `gap`: why nothing of a member is there, and whether the job goes on. */
    | {
        readonly kind: "merged";
        readonly gap: (member: number) => { readonly goesOn: boolean; readonly reason: string };
      }
  );

export interface FoundFan {
  readonly fan: Fan;
  readonly until: Work<number>;
  readonly workIds: ReadonlySet<number>;
}

export function fanOf(work: Work<number>): FoundFan | undefined {
  const works = work.kind === "Seq" ? work.works : [work];
  const at = works.findIndex(({ kind }) => kind === "Each" || kind === "Par");
  const fan = works[at];
  if (fan?.kind !== "Each" && fan?.kind !== "Par") return undefined;
  const workIds = new Set(leafWorks(fan).map(({ workIdInJob }) => workIdInJob));
  return { fan, until: { kind: "Seq", works: works.slice(0, at + 1) }, workIds };
}

export function itemsOf({ workIds }: FoundFan, lists: readonly PastItems[]): readonly string[] {
  const own = lists.find(
    ({ workId, outerItems }) => workIds.has(workId) && outerItems.length === 0,
  );
  return own?.items ?? [];
}

export function memberOf(fan: Fan, workId: number, { items }: Pick<Place, "items">): number {
  if (fan.kind === "Each") return items[0]?.index ?? 0;
  return fan.works.findIndex((child) =>
    leafWorks(child).some(({ workIdInJob }) => workIdInJob === workId),
  );
}

export function weightsOf(fan: Fan, items: number): readonly number[] {
  return fan.kind === "Each"
    ? Array.from({ length: items }, () => 1)
    : fan.works.map((child) => leafWorks(child).length);
}

/** Assigns each member to a shard: the heaviest members first, each to the shard with the lowest weight. */
export function shardsOf(weights: readonly number[], count: number): readonly number[] {
  const loads = Array.from({ length: count }, () => 0);
  const shards = weights.map(() => 1);
  const order = [...weights.keys()].sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  for (const member of order) {
    const least = loads.indexOf(Math.min(...loads));
    loads[least] = (loads[least] ?? 0) + (weights[member] ?? 0);
    shards[member] = least + 1;
  }
  return shards;
}

/** The weight of the members of a shard, of all shards before it, and of all members. */
export function legWeights(
  weights: readonly number[],
  { index, count }: Shard,
): { readonly before: number; readonly here: number; readonly all: number } {
  const shards = shardsOf(weights, count);
  const sum = (isIn: (shard: number) => boolean): number =>
    weights.reduce((total, weight, at) => (isIn(shards[at] ?? 0) ? total + weight : total), 0);
  const here = sum((shard) => shard === index);
  // A fan-out without members divides nothing.
  return {
    before: sum((shard) => shard < index),
    here,
    all: Math.max(
      1,
      sum(() => true),
    ),
  };
}

export function treeOf(work: Work<number>, fanOut: FanOut | undefined): Work<number> {
  return fanOut?.kind === "part" ? (fanOf(work)?.until ?? work) : work;
}

/** Runs only the members that run here. What others have not done of those that they should have is a failure, or left out. */
export function shared(
  runner: WorkRunner,
  work: Work<number>,
  fanOut: FanOut | undefined,
  past: Pick<Past, "has" | "hasItems">,
): WorkRunner {
  const found = fanOut && fanOf(work);
  if (fanOut === undefined || found === undefined) return runner;
  const { fan, workIds } = found;
  if (fanOut.kind === "part") return { ...runner, only: { of: fan, members: fanOut.members } };
  const gapIn = (leaves: readonly LeafWork<number>[], place: Place, isDone: boolean) => {
    const id = leaves[0]?.workIdInJob ?? -1;
    if (!workIds.has(id)) return undefined;
    const { goesOn, reason } = fanOut.gap(memberOf(fan, id, place));
    if (!goesOn) return isDone ? undefined : ({ kind: "unanswered", reason } as const);
    for (const leaf of leaves) runner.leaveOut(leaf, place, reason);
    return { kind: "skipped", reason } as const;
  };
  return {
    ...runner,
    async runLeaf(leaf, last, place) {
      const gap = gapIn([leaf], place, past.has(leaf.workIdInJob, place));
      return gap === undefined ? runner.runLeaf(leaf, last, place) : { ...gap, last };
    },
    async itemsOf(each, place) {
      const leaves = leafWorks(each.work);
      const isListed = past.hasItems(leaves[0]?.workIdInJob ?? -1, place);
      if (each === fan && isListed) return runner.itemsOf(each, place);
      return gapIn(leaves, place, isListed) ?? runner.itemsOf(each, place);
    },
  };
}

/** Reads the plan and the shards whose own journals are missing from the journal of an earlier merge. */
import type { RunEvent } from "../events/event.ts";
import { readJournalIn } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";
import type { EventSource } from "./past-events.ts";
import { EarlierRun, type EarlierJob, type Started } from "./past-run.ts";

type MergePart = Extract<NonNullable<Started["part"]>, { kind: "merge" }>;

export interface MergedParts {
  readonly plan: EarlierJob;
  /** The legs by their index. */
  readonly legs: ReadonlyMap<number, EarlierJob>;
  readonly source: () => EventSource;
}

export function mergePartOf({ started }: EarlierJob): MergePart | undefined {
  return started?.part?.kind === "merge" ? started.part : undefined;
}

/** Undefined if all journals are given. */
export async function mergedParts(
  merge: EarlierJob & { readonly name: string },
  {
    plan,
    given,
    store,
  }: {
    readonly plan: EarlierJob | undefined;
    readonly given: ReadonlyMap<number, EarlierJob>;
    readonly store: JournalSource;
  },
): Promise<MergedParts | undefined> {
  const { name, started } = merge;
  const part = mergePartOf(merge);
  if (started === undefined || part === undefined) return undefined;
  const absent = part.legs.filter(({ leg }) => !given.has(shardIndex(leg)));
  if (plan !== undefined && absent.length === 0) return undefined;
  const { resumed, ...own } = started;
  const planId = resumed?.runId ?? "";
  const runs = new Map<string | undefined, EarlierRun>(
    absent.map(({ leg }) => {
      const shard = { index: shardIndex(leg), count: part.shards, plan: planId } as const;
      return [leg, new EarlierRun({ ...own, part: { kind: "shard", ...shard } }, "ended")];
    }),
  );
  const ofPlan = new EarlierRun({ ...own, part: { kind: "plan" } }, "ended");
  if (plan === undefined) runs.set(undefined, ofPlan);
  const taking = (): ((event: RunEvent) => boolean) => {
    let left = part.planEvents;
    return ({ past, leg, type }) => {
      if (past !== true || type === "run.started" || !runs.has(leg)) return false;
      // The first events without a leg belong to the plan.
      if (leg !== undefined) return true;
      left -= 1;
      return left >= 0;
    };
  };
  const takes = taking();
  for await (const events of readJournalIn(store.read(name)).events)
    for (const event of events)
      if (event.runId === started.runId && takes(event)) runs.get(event.leg)?.add(event);
  return {
    plan: { ...ofPlan.job, started: { ...own, runId: planId, part: { kind: "plan" } } },
    legs: new Map(
      absent.flatMap(({ leg, runId, finished }) => {
        const { started: read, ...job } = runs.get(leg)?.job ?? merge;
        const outcome = finished ? ({ kind: "succeeded" } as const) : undefined;
        if (read === undefined) return [];
        return [[shardIndex(leg), { ...job, started: { ...read, runId }, outcome }]];
      }),
    ),
    source: () => ({ name, store, job: merge, after: 0, takes: taking() }),
  };
}

/** Parses a name such as `2/4`. */
function shardIndex(leg: string): number {
  return Number(leg.split("/")[0]);
}

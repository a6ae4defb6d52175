/** The plan of a job that several machines share, and the part of each: its members, and its share of the limits. */
import {
  fanOf,
  itemsOf,
  legWeights,
  shardsOf,
  weightsOf,
  type FanOut,
  type Shard,
} from "../engine/fan-out.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PastRun, Spent } from "../engine/past.ts";
import type { Limits, Work } from "../entry/model.ts";
import { legName } from "../events/plan.ts";
import type { JournalSource } from "../journal/store.ts";
import { plural } from "../text/numbers.ts";
import { UsageError } from "./options.ts";
import { PLAN } from "./past-events.ts";
import { type EarlierRun, readEarlierJob } from "./past-run.ts";

/** GitHub's limit for the legs of a matrix. */
const MAX_SHARDS = 256;

/** The weights of the members that the plan has found. Undefined if the job has no fan-out. */
export function membersOf(
  work: Work<number>,
  lists: PastRun["lists"],
): readonly number[] | undefined {
  const found = fanOf(work);
  if (found === undefined) return undefined;
  return weightsOf(found.fan, itemsOf(found, lists).length);
}

export function missingJournal(options: string): UsageError {
  return new UsageError(`${options} is required: the shards resume from it.`);
}

export function checkShards(shards: number, name: string): void {
  if (Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS) return;
  throw new UsageError(
    `${name} must be from 1 to ${MAX_SHARDS}, the most legs that a matrix may have, not ${shards}.`,
  );
}

/** For `strategy.matrix`, from the journal of a plan that has succeeded: a leg at least, because no matrix may be empty. */
export async function matrixOf(
  journal: string,
  shards: number,
  store?: JournalSource,
): Promise<{ readonly include: readonly { readonly shard: string }[] }> {
  const { started, past } = await readEarlierJob(journal, store);
  const members = started && membersOf(started.work, past.lists);
  const count = legsOf(shards, members?.length ?? 0);
  return {
    include: Array.from({ length: count }, (_, index) => ({ shard: `${index + 1}/${count}` })),
  };
}

/** The part of a run that goes on from the journal of a plan, or of an interrupted run of the same shard. */
export function shardOf(
  work: Work<number>,
  earlier: EarlierRun,
  shard: Shard,
  {
    refuse,
    whole,
    ...own
  }: LegOptions & {
    readonly whole: ResolvedLimits;
    readonly refuse: (reason: string) => Error;
  },
): { readonly fanOut: FanOut; readonly limits: ResolvedLimits } {
  const { started, outcome } = earlier;
  const part = started?.part;
  const weights = membersOf(work, earlier.past.lists);
  if (weights === undefined)
    throw refuse("the job has no Each and no Par at its top, so it can't be split.");
  const isSame = part?.kind === "shard" && part.index === shard.index && part.count === shard.count;
  if (part?.kind !== "plan" && !isSame)
    throw refuse(`it is not the journal of a plan or of shard ${legName(shard)}.`);
  if (part.kind === "plan" && outcome?.kind !== "succeeded")
    throw refuse("its plan has not succeeded.");
  if (part.kind === "plan") checkCount(part.shards, weights.length, shard, refuse);
  const plan = part.kind === "plan" ? (started?.runId ?? "") : part.plan;
  const members = [...shardsOf(weights, shard.count).entries()].flatMap(([member, index]) =>
    index === shard.index ? [member] : [],
  );
  const planned = earlier.part(PLAN);
  const { limits, notes } = legLimits({ shard, weights, planned }, whole, own);
  const ofShard = { ...shard, kind: "shard", plan } as const;
  return { fanOut: { kind: "part", part: ofShard, members: new Set(members), notes }, limits };
}

/** The matrix of a plan never has more shards than members. */
function checkCount(
  planned: number | undefined,
  members: number,
  { count }: Shard,
  refuse: (reason: string) => Error,
): void {
  if (planned === undefined || count === planned || count === legsOf(planned, members)) return;
  throw refuse(
    `its plan has ${plural(legsOf(planned, members), "shard")}, not ${count}. Take one of those that the plan has printed, or plan anew.`,
  );
}

function legsOf(shards: number, members: number): number {
  return Math.max(1, Math.min(shards, members));
}

export type Share = "items" | "all";

export interface LegOptions {
  readonly share?: Share | undefined;
  /** Limits that were set for this machine. */
  readonly limits?: Limits | undefined;
}

export interface LegShare {
  readonly shard: Shard;
  /** The weights of the members of the fan-out. */
  readonly weights: readonly number[];
  /** The spending of the plan. */
  readonly planned: Pick<Spent, "tokens" | "cost">;
}

/**
 * Default limits are not divided. The shares of all shards add up to what the plan has left.
 */
export function legLimits(
  { shard, weights, planned }: LegShare,
  whole: ResolvedLimits,
  { share = "items", limits: own = {} }: LegOptions,
): { readonly limits: ResolvedLimits; readonly notes: readonly string[] } {
  const notes: string[] = [];
  const limits: Record<string, number> = {};
  const setBy: Record<string, string> = {};
  const name = `shard ${legName(shard)}`;
  const set = (limit: "tokens" | "cost" | "parallel", value: number, source: string): void => {
    limits[limit] = value;
    setBy[limit] = `${name}'s share of ${source}`;
  };
  const { before, here, all } = legWeights(weights, shard);
  for (const limit of share === "all" ? [] : (["tokens", "cost"] as const)) {
    const source = whole.setBy?.[limit];
    if (source === undefined) continue;
    // Credits are divided to a millionth.
    const unit = limit === "tokens" ? 1 : 1e6;
    const left = Math.max(0, whole[limit] - planned[limit]) * unit;
    const part = (sum: number): number => Math.floor((left * sum) / all);
    const value = Math.max(1, part(before + here) - part(before)) / unit;
    const what = limit === "tokens" ? "tokens" : "credits";
    const ofPlan = planned[limit] > 0 ? `, after the ${number(planned[limit])} of the plan` : "";
    notes.push(
      `${name} may spend ${number(value)} of ${number(whole[limit])} ${what} (limits.${limit})${ofPlan}`,
    );
    const and = planned[limit] > 0 ? ` and the ${number(planned[limit])} of the plan` : "";
    set(limit, planned[limit] + value, `${number(whole[limit])} (${source})${and}`);
  }
  const source = whole.setBy?.parallel;
  if (source !== undefined && own.parallel === undefined) {
    const { index, count } = shard;
    const more = index <= whole.parallel % count ? 1 : 0;
    const value = Math.max(1, Math.floor(whole.parallel / count) + more);
    notes.push(
      `${name} runs at most ${value} of ${whole.parallel} turns at once (limits.parallel)`,
    );
    set("parallel", value, `${whole.parallel} (${source})`);
  }
  return { limits: { ...whole, ...limits, setBy: { ...whole.setBy, ...setBy } }, notes };
}

/** Rounds away the noise of binary fractions. */
function number(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}

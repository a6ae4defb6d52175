/** Computes a shard's share of the limits of the whole job: its tokens, its cost and its concurrent turns. */
import { legWeights, type Shard } from "../engine/fan-out.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { Spent } from "../engine/past.ts";
import type { Limits } from "../entry/model.ts";
import { legName } from "../events/plan.ts";

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

/** A job on several machines, from its journals, of which any may be missing, in any order. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import {
  fanOf,
  memberOf,
  shardsOf,
  weightsOf,
  type FanOut,
  type FoundFan,
  type Shard,
} from "../engine/fan-out.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PastItems, PastRun, PastWork } from "../engine/past.ts";
import type { PreparedEntry, Work } from "../entry/model.ts";
import { journalFiles } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { legName } from "../events/plan.ts";
import { defined } from "../text/guards.ts";
import { plural } from "../text/numbers.ts";
import { afterFanOut, type AfterFanOut } from "./after-fan-out.ts";
import { legLimits, type LegOptions } from "./leg-limits.ts";
import { UsageError } from "./options.ts";
import { mergedParts, mergePartOf } from "./merged-parts.ts";
import { pastEvents, type EventSource } from "./past-events.ts";
import { readEarlierJob, unusable, type EarlierJob } from "./past-run.ts";

/** GitHub's limit for the legs of a matrix. */
const MAX_SHARDS = 256;

/** The weights of the members that the plan has found. Undefined if the job has no fan-out. */
export function membersOf(
  work: Work<number>,
  { lists }: Pick<PastRun, "lists">,
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
  const { started, past } = await readEarlierJob(journal, { store });
  const members = started === undefined ? undefined : membersOf(started.work, past);
  const count = legsOf(shards, members?.length ?? 0);
  return {
    include: Array.from({ length: count }, (_, index) => ({ shard: `${index + 1}/${count}` })),
  };
}

function itemsOf({ workIds }: FoundFan, lists: PastRun["lists"]): readonly string[] {
  const own = ({ workId, outerItems }: PastItems): boolean =>
    workIds.has(workId) && outerItems.length === 0;
  return lists.find(own)?.items ?? [];
}

/** The part of a run that goes on from the journal of a plan, or of an interrupted run of the same shard. */
export function shardOf(
  work: Work<number>,
  { started, past, outcome, planned }: EarlierJob,
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
  const part = started?.part;
  const weights = membersOf(work, past);
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

type Part = FanOut["part"];

interface Leg extends EarlierJob {
  readonly name: string;
  /** The name that messages show. */
  readonly file: string;
  readonly digest: string;
}

export interface MergedJob extends Omit<
  EarlierJob,
  "outcome" | "wasStopped" | "events" | "planned"
> {
  readonly fanOut: (work: Work<number>) => FanOut;
  readonly warnings: readonly string[];
}

export interface MergeOptions {
  /** Whether the run fails or continues if no shard has finished some items. */
  readonly onMissing: "fail" | "continue";
  readonly rehearses: boolean;
  readonly store?: JournalSource | undefined;
  /** The tasks of the entry show which steps may read the results of a leg. Default: all steps may. */
  readonly tasks?: PreparedEntry["tasks"];
}

export async function mergeJournals(
  paths: readonly string[],
  { onMissing, rehearses, store = journalFiles, tasks }: MergeOptions,
): Promise<MergedJob> {
  const refuse = (reason: string): UsageError => new UsageError(`Can't merge: ${reason}`);
  const warnings: string[] = [];
  const read: Leg[] = [];
  for (const path of paths) {
    const name = basename(path);
    const isAlone = paths.every((other) => other === path || basename(other) !== name);
    const leg = await readLeg(path, isAlone ? name : path, { rehearses, store }, refuse);
    const same = read.find(({ digest }) => digest === leg.digest);
    if (same === undefined) read.push(leg);
    else warnings.push(`${leg.file} is the same journal as ${same.file}, and counts once.`);
  }
  // A job that was re-run leaves the journal of its earlier attempt behind.
  const usable = read.filter((leg) => {
    const isCut = mergePartOf(leg) !== undefined && leg.isIncomplete;
    if (isCut)
      warnings.push(`${leg.file} is ignored: its merge ended before it had copied its journals.`);
    return !isCut;
  });
  const latest = usable.filter((leg) => !usable.some((one) => one !== leg && isLater(one, leg)));
  const plans = latest.filter(({ started }) => started?.part?.kind === "plan");
  const merge = latest.find((leg) => mergePartOf(leg) !== undefined);
  const [plan, other] = plans;
  const planId = plan?.started?.runId ?? merge?.started?.resumed?.runId;
  if (planId === undefined) throw refuse("none of the journals belongs to a plan, or to a merge.");
  if (plan !== undefined && other !== undefined)
    throw refuse(`${plan.file} and ${other.file} are different plans.`);
  if (plan !== undefined && plan.outcome?.kind !== "succeeded")
    throw refuse(`the plan ${plan.file} has not succeeded.`);
  const given = new Map<number, Leg>();
  let before: Leg | undefined;
  let count = 0;
  for (const leg of latest) {
    if (leg === plan) continue;
    const part = leg.started?.part;
    const isOfPlan =
      part?.kind === "merge"
        ? leg.started?.resumed?.runId === planId
        : part?.kind === "shard" && part.plan === planId;
    if (part?.kind !== "merge" && part?.kind !== "shard")
      throw refuse(`${leg.file} is not the journal of a shard.`);
    if (!isOfPlan) {
      warnings.push(`${leg.file} is ignored: it belongs to another plan.`);
      continue;
    }
    const shards = part.kind === "merge" ? part.shards : part.count;
    if (count !== 0 && count !== shards)
      throw refuse(`${leg.file} belongs to ${shards} shards, and another journal to ${count}.`);
    count = shards;
    if (part.kind === "merge") {
      if (before !== undefined)
        throw refuse(
          `${before.file} and ${leg.file} are different merges of this plan. Give one of them.`,
        );
      before = leg;
      continue;
    }
    const twin = given.get(part.index);
    if (twin !== undefined)
      throw refuse(
        `${twin.file} and ${leg.file} are different runs of shard ${legName(part)}. Give one of them.`,
      );
    given.set(part.index, leg);
  }
  if (count === 0) throw refuse("there is no journal of a shard of this plan.");
  const parts = before && (await mergedParts(before, { plan, given, store }));
  const whole = plan ?? parts?.plan;
  if (whole === undefined) throw refuse("there is no journal of its plan.");
  const legs = new Map([...(parts?.legs ?? []), ...given].toSorted(([a], [b]) => a - b));
  const all = [...legs.values()];
  const after = before && (await afterFanOut(whole, all, before, { store, ...defined({ tasks }) }));
  const sources = (): readonly EventSource[] => [
    ...(plan === undefined ? [] : [{ ...sourceOf(plan, store), takes: () => true }]),
    ...(parts === undefined ? [] : [parts.source()]),
    ...[...given.values()].map((leg) => sourceOf(leg, store)),
    ...(after === undefined ? [] : [after.source()]),
  ];
  const earlier =
    before === undefined
      ? []
      : [before.started?.runId ?? "", ...(mergePartOf(before)?.earlier ?? [])];
  return {
    started: whole.started,
    begun: new Set([whole, ...all, ...(before ? [before] : [])].flatMap(({ begun }) => [...begun])),
    isIncomplete: false,
    past: together(whole, all, after, sources),
    warnings,
    fanOut: (work) => mergedFanOut(work, whole, legs, { count, earlier, onMissing }),
  };
}

function sourceOf(leg: Leg, store: JournalSource): EventSource {
  return {
    ...leg,
    job: leg,
    store,
    after: 0,
    takes: (event) => event.leg !== undefined,
    turns: leg.started?.part?.kind === "shard" ? legName(leg.started.part) : undefined,
  };
}

/** Whether it resumes the other run of the same part, or belongs to a further attempt of the same workflow run. */
function isLater({ started: one }: Leg, { started: other }: Leg): boolean {
  const [part, origin] = [one?.part, one?.origin];
  const [otherPart, earlier] = [other?.part, other?.origin];
  if (part === undefined || otherPart === undefined || placeOf(part) !== placeOf(otherPart))
    return false;
  if (one?.resumed?.runId === other?.runId) return true;
  if (part.kind === "merge" && part.earlier.includes(other?.runId ?? "")) return true;
  return (
    origin !== undefined &&
    earlier !== undefined &&
    origin.repository === earlier.repository &&
    origin.workflowRun === earlier.workflowRun &&
    origin.attempt > earlier.attempt
  );
}

function placeOf(part: Part): string {
  return part.kind === "shard" ? legName(part) : part.kind;
}

async function readLeg(
  path: string,
  file: string,
  { rehearses, store = journalFiles }: Pick<MergeOptions, "rehearses" | "store">,
  refuse: (reason: string) => UsageError,
): Promise<Leg> {
  const hash = createHash("sha256");
  async function* hashed(name: string): AsyncIterable<string | Uint8Array> {
    for await (const part of store.read(name)) {
      hash.update(part);
      yield part;
    }
  }
  try {
    const job = await readEarlierJob(path, { takes: "ended", store: { read: hashed } });
    const problem = unusable(job, rehearses);
    if (problem !== undefined) throw refuse(`${file}: ${problem}`);
    const leg = { name: path, file, digest: hash.digest("hex") };
    // A merge keeps only the finished steps after the fan-out.
    if (job.started?.part?.kind !== "merge") return { ...job, ...leg };
    return { ...(await readEarlierJob(path, { store })), ...leg };
  } catch (error) {
    throw error instanceof UsageError ? error : refuse(`${file}: ${fileErrorMessage(error)}.`);
  }
}

function together(
  plan: EarlierJob,
  legs: readonly EarlierJob[],
  after: AfterFanOut | undefined,
  sources: () => readonly EventSource[],
): PastRun {
  const { past, started } = plan;
  const own = legs.map((leg) => ({
    works: leg.past.works,
    lists: leg.past.lists,
    tokens: leg.past.tokens - leg.planned.tokens,
    cost: leg.past.cost - leg.planned.cost,
    milliseconds: leg.past.milliseconds - past.milliseconds,
  }));
  const sum = (of: "tokens" | "cost"): number =>
    past[of] + own.reduce((total, leg) => total + leg[of], after?.[of] ?? 0);
  const count = legs.reduce((total, { events }) => total + events.ofLegs, plan.events.all);
  return {
    runId: started?.runId ?? "",
    traceparent: started?.traceparent,
    // Legs from the journal of an earlier merge share its span.
    legSpans: [...new Set(legs.flatMap((leg) => leg.started?.traceparent ?? []))],
    works: [...past.works, ...own.flatMap(({ works }) => works), ...(after?.works ?? [])],
    underWay: [],
    lists: [...past.lists, ...own.flatMap(({ lists }) => lists), ...(after?.lists ?? [])],
    events: {
      count: count + (after?.count ?? 0),
      read: () => pastEvents(sources()),
    },
    tokens: sum("tokens"),
    cost: sum("cost"),
    // They ran side by side.
    milliseconds:
      past.milliseconds +
      Math.max(0, ...own.map((leg) => leg.milliseconds)) +
      (after?.milliseconds ?? 0),
  };
}

function mergedFanOut(
  work: Work<number>,
  plan: EarlierJob,
  legs: ReadonlyMap<number, EarlierJob>,
  {
    count,
    earlier,
    onMissing,
  }: Pick<MergeOptions, "onMissing"> & {
    readonly count: number;
    readonly earlier: readonly string[];
  },
): FanOut {
  const shards = shardsOf(membersOf(work, plan.past) ?? [], count);
  const stateOf = (shard: number): "missing" | "unfinished" | "finished" => {
    const leg = legs.get(shard);
    if (leg === undefined) return "missing";
    const { outcome, wasStopped } = leg;
    return outcome === undefined || outcome.kind === "canceled" || wasStopped
      ? "unfinished"
      : "finished";
  };
  return {
    kind: "merged",
    part: {
      kind: "merge",
      shards: count,
      planEvents: plan.events.all,
      legs: [...legs].map(([index, { started }]) => ({
        leg: legName({ index, count }),
        runId: started?.runId ?? "",
        finished: stateOf(index) === "finished",
      })),
      earlier,
    },
    gap(member) {
      const shard = shards[member] ?? 0;
      const state = stateOf(shard);
      return {
        goesOn: onMissing === "continue" && state !== "finished",
        reason: `shard ${legName({ index: shard, count })} ${state === "missing" ? "is missing" : "did not finish"}`,
      };
    },
  };
}

/** In the order of the members, as one machine would do them one after the other. */
export function inOrder(work: Work<number>, past: PastRun): PastRun {
  const found = fanOf(work);
  if (found === undefined) return past;
  const { fan, workIds } = found;
  const indexes = new Map(itemsOf(found, past.lists).map((text, index) => [text, index]));
  const place = ({ workId, items: [text = ""] }: PastWork): number => {
    if (!workIds.has(workId)) return -1;
    const item = { text, index: indexes.get(text) ?? 0 };
    return memberOf(fan, workId, { items: [item] });
  };
  return { ...past, works: past.works.toSorted((a, b) => place(a) - place(b)) };
}

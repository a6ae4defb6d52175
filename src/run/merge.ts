/** A job on several machines, from its journals, of which any may be missing, in any order. */
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fanOf, itemsOf, memberOf, shardsOf, type FanOut } from "../engine/fan-out.ts";
import type { PastRun, PastWork } from "../engine/past.ts";
import type { PreparedEntry, Work } from "../entry/model.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { legName, type PlannedLeaf } from "../events/plan.ts";
import { journalFiles } from "../journal/file.ts";
import type { JournalSource } from "../journal/store.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { UsageError } from "./options.ts";
import { AFTER, pastEvents, PLAN, type Started } from "./past-events.ts";
import {
  type EarlierJob,
  type EarlierRun,
  type JobPart,
  readEarlierJob,
  type Refuse,
  unusable,
} from "./past-run.ts";
import { membersOf } from "./shards.ts";

export interface MergedJob extends EarlierJob {
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

interface Journal {
  readonly name: string;
  /** The name that messages show. */
  readonly file: string;
  readonly run: EarlierRun;
}

/** The plan or a shard, from its own journal or from that of an earlier merge. */
interface Part extends JobPart {
  readonly journal: Journal;
  readonly name: string;
  readonly runId: string;
  readonly isFinished: boolean;
}

type MergePart = Extract<NonNullable<Started["part"]>, { kind: "merge" }>;

export async function mergeJournals(
  paths: readonly string[],
  { onMissing, rehearses, store = journalFiles, tasks = {} }: MergeOptions,
): Promise<MergedJob> {
  const refuse: Refuse = (reason) => new UsageError(`Can't merge: ${reason}`);
  const warnings: string[] = [];
  const journals = latest(await readAll(paths, store, rehearses, warnings, refuse), warnings);
  const { plan, merge, shards, planId, count } = sorted(journals, warnings, refuse);
  const { run } = plan ?? merge ?? {};
  if (run?.started === undefined) throw refuse("there is no journal of its plan.");
  const before = merge?.run;
  const mergePart = before && mergePartOf(before);
  const partOf = (journal: Journal, name: string, runId: string, isFinished: boolean): Part => {
    const part = journal.run.part(name);
    return { ...part, journal, name, runId, isFinished: isFinished && !part.wasStopped };
  };
  const legs = Array.from({ length: count }, (_, at): readonly Part[] => {
    const name = legName({ index: at + 1, count });
    const own = shards.get(name);
    const kind = own?.run.outcome?.kind ?? "canceled";
    if (own !== undefined)
      return [partOf(own, name, own.run.started?.runId ?? "", kind !== "canceled")];
    const merged = mergePart?.legs.find(({ leg }) => leg === name);
    return merge === undefined || merged === undefined
      ? []
      : [partOf(merge, name, merged.runId, merged.finished)];
  });
  const given = legs.flat();
  const ofPlan = run.part(PLAN);
  const after = before && afterFanOut(before, given, tasks);
  const parts = [ofPlan, ...given, ...(after === undefined ? [] : [after])];
  const sum = (of: "tokens" | "cost" | "events"): number =>
    parts.reduce((total, part) => total + part[of], 0);
  const sources = [plan, ...shards.values(), merge].flatMap((journal) => {
    if (journal === undefined) return [];
    const names = given.flatMap((part) => (part.journal === journal ? [part.name] : []));
    const isOfPlan = journal === (plan ?? merge);
    const own = [...(isOfPlan ? [PLAN] : []), ...names, ...(journal === merge ? [AFTER] : [])];
    return [{ name: journal.name, store, started: journal.run.started, parts: new Set(own) }];
  });
  return {
    started: plan === undefined ? { ...run.started, runId: planId } : run.started,
    begun: new Set(journals.flatMap((one) => [...one.run.begun])),
    isIncomplete: false,
    warnings,
    past: {
      runId: planId,
      traceparent: run.started.traceparent,
      // Legs from the journal of an earlier merge share its span.
      legSpans: [...new Set(given.flatMap((leg) => leg.journal.run.started?.traceparent ?? []))],
      works: parts.flatMap(({ works }) => works),
      underWay: [],
      lists: parts.flatMap(({ lists }) => lists),
      events: { count: sum("events"), read: () => pastEvents(sources) },
      tokens: sum("tokens"),
      cost: sum("cost"),
      // They ran side by side.
      milliseconds:
        Math.max(ofPlan.milliseconds, ...given.map(({ milliseconds }) => milliseconds)) +
        (after?.milliseconds ?? 0),
    },
    fanOut: (work) => ({
      kind: "merged",
      part: {
        kind: "merge",
        shards: count,
        planEvents: ofPlan.events,
        legs: given.map(({ name, runId, isFinished }) => ({
          leg: name,
          runId,
          finished: isFinished,
        })),
        earlier:
          before === undefined ? [] : [before.started?.runId ?? "", ...(mergePart?.earlier ?? [])],
      },
      gap(member) {
        const shard = shardsOf(membersOf(work, ofPlan.lists) ?? [], count)[member] ?? 0;
        const [leg] = legs[shard - 1] ?? [];
        const state = leg === undefined ? "is missing" : "did not finish";
        return {
          goesOn: onMissing === "continue" && leg?.isFinished !== true,
          reason: `shard ${legName({ index: shard, count })} ${state}`,
        };
      },
    }),
  };
}

function mergePartOf({ started }: EarlierRun): MergePart | undefined {
  return started?.part?.kind === "merge" ? started.part : undefined;
}

async function readAll(
  paths: readonly string[],
  store: JournalSource,
  rehearses: boolean,
  warnings: string[],
  refuse: Refuse,
): Promise<readonly Journal[]> {
  const read: Journal[] = [];
  for (const name of paths) {
    const base = basename(name);
    const isAlone = paths.every((other) => other === name || basename(other) !== base);
    const file = isAlone ? base : name;
    const run = await readEarlierJob(name, store).catch((error: unknown) => {
      throw refuse(`${file}: ${fileErrorMessage(error)}.`);
    });
    const problem = unusable(run, rehearses);
    if (problem !== undefined) throw refuse(`${file}: ${problem}`);
    const same = read.find((one) => isCopy(one.run, run));
    if (same === undefined) read.push({ name, file, run });
    else warnings.push(`${file} is the same journal as ${same.file}, and counts once.`);
  }
  return read;
}

function isCopy(one: EarlierRun, other: EarlierRun): boolean {
  return (
    one.started !== undefined &&
    one.started.runId === other.started?.runId &&
    one.past.events?.count === other.past.events?.count
  );
}

/** A job that was re-run leaves the journal of its earlier attempt behind. */
function latest(journals: readonly Journal[], warnings: string[]): readonly Journal[] {
  const usable = journals.filter(({ run, file }) => {
    const isCut = mergePartOf(run) !== undefined && run.isIncomplete;
    if (isCut)
      warnings.push(`${file} is ignored: its merge ended before it had copied its journals.`);
    return !isCut;
  });
  return usable.filter(
    ({ run }) => !usable.some((one) => one.run !== run && isLater(one.run, run)),
  );
}

/** Whether it resumes the other run of the same part, or belongs to a further attempt of the same workflow run. */
function isLater({ started: one }: EarlierRun, { started: other }: EarlierRun): boolean {
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

function placeOf(part: FanOut["part"]): string {
  return part.kind === "shard" ? legName(part) : part.kind;
}

interface Sorted {
  readonly planId: string;
  readonly count: number;
  readonly plan: Journal | undefined;
  readonly merge: Journal | undefined;
  /** By the name of the leg. */
  readonly shards: ReadonlyMap<string, Journal>;
}

function sorted(journals: readonly Journal[], warnings: string[], refuse: Refuse): Sorted {
  const [plan, other] = journals.filter(({ run }) => run.started?.part?.kind === "plan");
  const anyMerge = journals.find(({ run }) => mergePartOf(run) !== undefined);
  const planId = plan?.run.started?.runId ?? anyMerge?.run.started?.resumed?.runId;
  if (planId === undefined) throw refuse("none of the journals belongs to a plan, or to a merge.");
  if (plan !== undefined && other !== undefined)
    throw refuse(`${plan.file} and ${other.file} are different plans.`);
  if (plan !== undefined && plan.run.outcome?.kind !== "succeeded")
    throw refuse(`the plan ${plan.file} has not succeeded.`);
  const shards = new Map<string, Journal>();
  let merge: Journal | undefined;
  let count = 0;
  for (const journal of journals) {
    if (journal === plan) continue;
    const { file, run } = journal;
    const { part, resumed } = run.started ?? {};
    if (part?.kind !== "merge" && part?.kind !== "shard")
      throw refuse(`${file} is not the journal of a shard.`);
    if ((part.kind === "merge" ? resumed?.runId : part.plan) !== planId) {
      warnings.push(`${file} is ignored: it belongs to another plan.`);
      continue;
    }
    const all = part.kind === "merge" ? part.shards : part.count;
    if (count !== 0 && count !== all)
      throw refuse(`${file} belongs to ${all} shards, and another journal to ${count}.`);
    count = all;
    const name = part.kind === "shard" ? legName(part) : "";
    const twin = part.kind === "merge" ? merge : shards.get(name);
    if (twin !== undefined) {
      const what = part.kind === "merge" ? "merges of this plan" : `runs of shard ${name}`;
      throw refuse(`${twin.file} and ${file} are different ${what}. Give one of them.`);
    }
    if (part.kind === "merge") merge = journal;
    else shards.set(name, journal);
  }
  if (count === 0) throw refuse("there is no journal of a shard of this plan.");
  return { planId, count, plan, merge, shards };
}

/**
 * The steps after the fan-out whose results from an earlier merge are still valid when further legs join. The first step
 * that could depend on the new items runs again, and so do all after it. The cost of repeated steps still counts.
 */
function afterFanOut(
  merge: EarlierRun,
  legs: readonly Part[],
  tasks: PreparedEntry["tasks"],
): JobPart {
  const part = merge.part(AFTER);
  const merged = mergePartOf(merge)?.legs ?? [];
  const before = merged.map(({ leg, runId }) => ({ leg, runId, events: merge.part(leg).events }));
  const now = legs.map(({ name, runId, events }) => ({ leg: name, runId, events }));
  const kept = keptAfter(merge.started?.work, tasks, isDeepStrictEqual(now, before));
  const isKept = ({ workId }: { readonly workId: number }): boolean => kept.has(workId);
  const { milliseconds = 0 } = merge.started?.resumed ?? {};
  return {
    ...part,
    works: part.works.filter(isKept),
    lists: part.lists.filter(isKept),
    milliseconds: Math.max(0, part.milliseconds - milliseconds),
  };
}

/** The ids of the steps after the fan-out that keep their results. */
function keptAfter(
  work: Work<number, PlannedLeaf> | undefined,
  tasks: PreparedEntry["tasks"],
  isSame: boolean,
): ReadonlySet<number> {
  const found = work && fanOf(work);
  const kept = new Set<number>();
  if (work?.kind !== "Seq" || found === undefined) return kept;
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

/** What a run goes on from, and which part of the job it is: a resumed run, a plan, a shard, or their merge. */
import { defined } from "../document/guards.ts";
import type { FanOut, Shard } from "../engine/fan-out.ts";
import type { PreparedEntry } from "../entry/model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Flows } from "./flows.ts";
import { asFlag, UsageError, type Inputs, type WriteName } from "./options.ts";
import { readResumed, resumeJob, type ResumedJob } from "./resume-job.ts";
import { refusing } from "./same-values.ts";
import { inOrder, membersOf, mergeJournals, shardOf } from "./shards.ts";

export interface ContinueOptions {
  /** Only what comes before the fan-out runs, and its items are listed. */
  readonly plan?: boolean;
  /** With `resume`, the journal of the plan: only these members of the fan-out run. */
  readonly shard?: Shard;
  /** Journals of a plan and of its shards, from which the run goes on. */
  readonly journals?: readonly string[];
  /** With `journals`: whether the run fails if a shard is missing. Default: it does. */
  readonly onMissing?: "fail" | "continue";
}

interface Options extends ContinueOptions {
  readonly resume?: string | undefined;
  readonly resumeAnyway?: boolean | undefined;
  readonly userInput?: string | undefined;
  readonly inputs?: Inputs | undefined;
  readonly write?: WriteName;
}

interface Continued {
  readonly resumed?: ResumedJob;
  readonly fanOut?: FanOut;
  readonly warnings?: readonly string[];
}

/** Throws `UsageError` if the job can't go on from there, or can't be split. */
export async function continueJob(
  job: { readonly entry: PreparedEntry; readonly jobName: string; readonly flows: Flows },
  script: Script | undefined,
  options: Options,
): Promise<Continued> {
  const { resume, shard, journals, onMissing = "fail", plan, write = asFlag } = options;
  const { work } = job.entry.jobs[job.jobName] ?? {};
  const given = {
    write,
    ...defined({ resumeAnyway: options.resumeAnyway }),
    userInput: options.userInput ?? script?.userInput,
    inputs: { ...script?.inputs, ...options.inputs },
  };
  if (journals !== undefined && work !== undefined) {
    const merged = await mergeJournals(journals, onMissing);
    const resumed = resumeJob(merged, job, { ...given, title: "Can't merge" });
    return {
      resumed: { ...resumed, past: inOrder(work, resumed.past) },
      fanOut: merged.fanOut(work),
      warnings: merged.warnings,
    };
  }
  if (resume === undefined) {
    if (shard !== undefined)
      throw new UsageError(
        `${write("shard")} requires ${write("resume")} with the journal of the plan.`,
      );
    if (plan !== true || work === undefined) return {};
    if (membersOf(work, { lists: [] }) === undefined)
      throw new UsageError(
        `The job ${JSON.stringify(job.jobName)} has no Each and no Par at its top, so it can't be split.`,
      );
    return { fanOut: { kind: "part", part: { kind: "plan" }, members: new Set() } };
  }
  const earlier = await readResumed({ ...given, resume });
  const resumed = resumeJob(earlier, job, { ...given, resume });
  if (shard === undefined || work === undefined) return { resumed };
  return { resumed, fanOut: shardOf(work, earlier, shard, refusing({ resume, write })) };
}

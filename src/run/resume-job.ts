/** Decides what a job continues from. A difference refuses the journal: what was done under other conditions never counts as done. */
import type { FanOut } from "../engine/fan-out.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import { isWhole, type PastRun } from "../engine/past.ts";
import type { Conversation } from "../events/output-shapes.ts";
import {
  legName,
  type JobFingerprints,
  type PlannedInstructions,
  type PlannedLeaf,
} from "../events/plan.ts";
import type { RunEvent } from "../events/event.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import { MissingJournalError } from "../journal/store.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { hashOf, jobFingerprints } from "./fingerprint.ts";
import type { Flows } from "./flows.ts";
import { asFlag, type Inputs, type Params, UsageError } from "./options.ts";
import type { ContinueOptions, RunOptions } from "./prepared-run.ts";
import type { Started } from "./past-events.ts";
import {
  type EarlierJob,
  type EarlierRun,
  interruptedCommand,
  readEarlierJob,
  type Refuse,
  refusing,
  unusable,
} from "./past-run.ts";
import { membersOf, shardOf } from "./shards.ts";

interface ContinuedJob {
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly jobName: string;
  readonly flows: Flows;
  readonly whole?: string | undefined;
}

type ResumeOptions = ContinueOptions &
  Pick<
    RunOptions,
    "resume" | "resumeAnyway" | "rerun" | "leg" | "userInput" | "inputs" | "params"
  > &
  Pick<RunOptions, "write" | "share" | "limits"> & { readonly rehearses: boolean };

export interface Continued {
  readonly resumed?: ResumedJob;
  readonly fanOut?: FanOut;
  readonly limits?: ResolvedLimits;
  readonly warnings?: readonly string[];
}

/** Throws `UsageError` if the job can't continue from there, or can't be split. */
export async function continueJob(job: ContinuedJob, given: ResumeOptions): Promise<Continued> {
  const { shard, journals, onMissing = "fail", plan, rehearses, write = asFlag, store } = given;
  const resume = await latestAttempt(given);
  const options = { ...given, resume };
  const { work } = job.entry.jobs[job.jobName] ?? {};
  if (journals !== undefined && work !== undefined) {
    const { mergeJournals, inOrder } = await import("./merge.ts");
    const merged = await mergeJournals(resume === undefined ? journals : [...journals, resume], {
      onMissing,
      rehearses,
      store,
      tasks: job.entry.tasks,
    });
    const refuse: Refuse = (reason) => new UsageError(`Can't merge: ${reason}`);
    const resumed = resumeJob(merged, job, options, refuse);
    const past = inOrder(work, resumed.past);
    return {
      resumed: { ...resumed, past },
      fanOut: merged.fanOut(work),
      warnings: merged.warnings,
    };
  }
  if (plan === true && work !== undefined && membersOf(work, []) === undefined)
    throw new UsageError(
      `The job ${quoted(job.jobName)} has no Each and no Par at its top, so it can't be split.`,
    );
  const part = { kind: "plan", shards: given.shards } as const;
  const planned: Continued =
    plan === true ? { fanOut: { kind: "part", part, members: new Set() } } : {};
  if (resume === undefined) {
    if (shard === undefined) return planned;
    throw new UsageError(
      `${write("shard")} requires ${write("resume")} with the journal of the plan.`,
    );
  }
  const refuse = refusing(options);
  const earlier = await readEarlierJob(resume, store).catch((error: unknown) => {
    throw refuse(`${fileErrorMessage(error)}.`);
  });
  const problem = unusable(earlier, rehearses);
  if (problem !== undefined) throw refuse(problem);
  if (earlier.started === undefined && shard === undefined)
    return { ...planned, warnings: [`${resume} is empty: the job starts from its beginning.`] };
  const resumed = resumeJob(earlier, job, options, refuse, hasSucceeded(earlier, given));
  if (shard !== undefined && work !== undefined)
    return { resumed, ...shardOf(work, earlier, shard, { ...given, whole: job.limits, refuse }) };
  const { part: before, origin } = earlier.started ?? {};
  if (plan === true && before?.kind !== "plan") throw refuse("it is not the journal of a plan.");
  if (plan !== true && (before?.kind === "plan" || before?.kind === "shard"))
    throw refuse(
      `it is the journal of ${partName(before)}, which is only a part of the job. Pass ${write("shard")} to continue from it.`,
    );
  // Another leg worked with other inputs or on another runner.
  const { leg = origin?.leg } = given;
  if (before?.kind !== "merge" && origin?.leg !== undefined && origin.leg !== leg)
    throw refuse(
      `it belongs to another leg (${origin.leg}; this one is ${leg}): the matrix, the runner or an input differs. To resume it anyway, give both runs the same ${write("leg")}.`,
    );
  return { resumed, ...planned };
}

/**
 * In a store, all attempts of a shard share a journal: the first one continues from the plan, the others from that journal.
 * An attempt that was killed while it copied the events of the plan doesn't count, nor does one of another plan.
 */
async function latestAttempt(options: ResumeOptions): Promise<string | undefined> {
  const { resume, plan, shard, journals, journal, store, write = asFlag } = options;
  const asked = plan === true ? "plan" : journals === undefined ? shard && "shard" : "merge";
  if (journal === undefined || store === undefined || asked === undefined) return resume;
  const read = (name: string): Promise<EarlierRun | undefined> =>
    readEarlierJob(name, store).catch((error: unknown) => {
      // If it is there and can't be read now, the plan would be paid again.
      if (error instanceof MissingJournalError) return undefined;
      throw refusing({ ...options, resume: name })(`${fileErrorMessage(error)}.`);
    });
  const own = await read(journal);
  if (own?.started === undefined) return resume;
  const { part } = own.started;
  if (part?.kind !== asked)
    throw new UsageError(
      `${write("journal")}: ${journal} is the journal of ${part === undefined ? "a whole job" : partName(part)}. A ${asked} needs a journal of its own.`,
    );
  if (part.kind !== "shard" || resume === undefined || own.isIncomplete) return resume;
  return part.plan === planOf((await read(resume))?.started) ? journal : resume;
}

function planOf(started: Started | undefined): string | undefined {
  return started?.part?.kind === "shard" ? started.part.plan : started?.runId;
}

function partName(part: NonNullable<Started["part"]>): string {
  return part.kind === "shard" ? `shard ${legName(part)}` : `a ${part.kind}`;
}

/** Whether the requested part of the job has already succeeded. */
function hasSucceeded({ outcome, started }: EarlierRun, { plan, shard }: ContinueOptions): boolean {
  const asked = plan === true ? "plan" : shard && "shard";
  const { part } = started ?? {};
  const isSame = part?.kind === asked || (part?.kind === "merge" && asked === undefined);
  return outcome?.kind === "succeeded" && isSame;
}

export interface ResumedJob {
  readonly past: PastRun;
  /** Everything that had begun has ended, with an answer. */
  readonly isOver: boolean;
  /** The earlier values, with those that were given again because the journal doesn't hold them. */
  readonly userInput: string;
  readonly inputs: Inputs;
  readonly conversation: Conversation | undefined;
  /** The parameters of a workflow that is the whole job. */
  readonly params: Params | undefined;
  /** Throws `UsageError` if the run would be about another change, or would follow other instructions. */
  readonly checkSubject: (
    head: string | undefined,
    instructions?: PlannedInstructions["files"],
  ) => void;
}

function resumeJob(
  earlier: EarlierJob,
  { entry, jobName, flows, whole }: ContinuedJob,
  options: ResumeOptions,
  refuse: Refuse,
  isDone = false,
): ResumedJob {
  const { started, begun } = earlier;
  if (started === undefined) throw refuse("it does not contain the start of a run.");
  if (started.jobName !== jobName)
    throw refuse(`it belongs to the job ${quoted(started.jobName)}, not ${quoted(jobName)}.`);
  if (started.fingerprints === undefined)
    throw refuse(
      `it is not the journal of a job, or it was written by agent-jobs ${started.version}.`,
    );
  checkSame(begun, started.fingerprints, jobFingerprints(entry, jobName, flows), options, refuse);
  // The variables of a workflow come from its steps.
  const { replayed } = earlier;
  const past = isDone && whole !== undefined && replayed ? replayed : earlier.past;
  if (!isDone) {
    checkWhole(past, JSON.stringify([entry.tasks, entry.jobs[jobName]?.work]), refuse);
    checkUnderWay(earlier, started, options, refuse);
  }
  const { userInput, inputs = {}, params = {}, write = asFlag } = options;
  const hint = (option: string): string =>
    `Omit ${write(option)} to continue with what that run had, or start anew without ${write("resume")}.`;
  /** Secrets are not in the journal, and have to be given again. */
  const same = (what: string, option: string, before: string, now: string | undefined): string => {
    if (!isWhole(before)) {
      if (now !== undefined) return now;
      throw refuse(
        `the journal does not hold the whole value of the ${what}. Give it again with ${write(option)}.`,
      );
    }
    if (now === undefined || now === before) return before;
    throw refuse(`the ${what} had another value in that run. ${hint(option)}`);
  };
  const all = (what: string, option: string, before: Inputs, now: Inputs): Inputs => {
    const added = Object.keys(now).find((name) => !Object.hasOwn(before, name));
    if (added !== undefined)
      throw refuse(`that run did not have the ${what} ${added}. ${hint(option)}`);
    const texts = Object.entries(before).map(([name, value]) => {
      const own = Object.hasOwn(now, name) ? now[name] : undefined;
      return [name, same(`${what} ${name}`, option, value, own)];
    });
    return Object.fromEntries(texts);
  };
  const { work } = started;
  const isFlow = whole !== undefined && work.kind === "Flow";
  return {
    past: isDone ? { ...past, isDone } : past,
    isOver: begun.size > 0 && past.underWay.length === 0,
    conversation: started.conversation,
    userInput: same("user input", "user-input", started.userInput, userInput),
    inputs: all("input", "input", started.inputs ?? {}, inputs),
    params: isFlow ? all("parameter", "param", work.params, params) : undefined,
    checkSubject(head, instructions = []) {
      const before = started.change?.head;
      if (before !== undefined && head !== undefined && before !== head)
        throw refuse(`it is about the commit ${before}, and the change now ends at ${head}.`);
      if (hashOf([started.instructions?.files ?? []]) !== hashOf([instructions]))
        throw refuse("the `instructions` of the repository have changed since.");
    },
  };
}

function checkSame(
  begun: ReadonlySet<string>,
  before: JobFingerprints,
  now: JobFingerprints,
  { write = asFlag, resumeAnyway = false }: ResumeOptions,
  refuse: Refuse,
): void {
  if (before.work !== now.work) throw refuse("the tree of the job has changed since.");
  const changed = Object.keys(now.tasks).filter((name) => before.tasks[name] !== now.tasks[name]);
  const started = changed.filter((name) => begun.has(name));
  const shown = started.length > 0 ? started : changed;
  const names = shown.map(quoted).join(", ");
  const have = shown.length === 1 ? "has" : "have";
  if (started.length > 0)
    throw refuse(`${names} had already started in that run and ${have} changed since.`);
  if (changed.length > 0 && !resumeAnyway)
    throw refuse(
      `${names} ${have} changed since, but had not started. Use ${write("resume-anyway")} to continue with the current entry.`,
    );
}

/** Commands that were under way run a second time only if the user says so. */
function checkUnderWay(
  { past, isIncomplete }: EarlierJob,
  { work }: Started,
  { write = asFlag, rerun = false, resume = "the run" }: ResumeOptions,
  refuse: Refuse,
): void {
  // The commands of a workflow that have ended would run again.
  if (isIncomplete)
    throw refuse(
      "that run ended before it had copied the events of the run that it resumed. Resume the earlier journal instead.",
    );
  const leaves = leafWorks<number, PlannedLeaf>(work);
  for (const one of rerun ? [] : past.underWay) {
    const leaf = leaves.find(({ workIdInJob }) => workIdInJob === one.workId);
    const found = interruptedCommand(one, leaf?.kind === "Run");
    if (found === undefined) continue;
    const why =
      found.failed === undefined
        ? `${found.name} was running when ${resume} was interrupted.`
        : `${found.name} had begun when it failed: ${found.failed}`;
    throw new UsageError(`${write("resume")}: ${why} Pass ${write("rerun")} to run it again.`);
  }
}

/** A text that the journal doesn't hold as it was, and that the rest of the run may use. `texts`: of the job. */
function checkWhole({ works, lists }: PastRun, texts: string, refuse: Refuse): void {
  const missing = (what: string): Error =>
    refuse(
      `the journal does not hold the whole ${what}, which the rest of the run may need: it contained a secret, or was too long.`,
    );
  for (const { items } of lists)
    if (!items.every(isWhole)) throw missing("list of items of an Each");
  const usesOutput = texts.includes("$previous-result");
  for (const { output, given } of works) {
    if (usesOutput && !isWhole(output)) throw missing("output of a step");
    for (const event of given) {
      const use = uses[event.type];
      const { taskId } = event.work;
      const isUsed =
        use !== undefined &&
        (texts.includes(`$${use}-of-${taskId}`) ||
          (use === "result" && texts.includes(`"result":${JSON.stringify(taskId)}`)));
      if (isUsed && !isWhole(JSON.stringify(event))) throw missing(`${use} of ${quoted(taskId)}`);
    }
  }
}

const uses: Partial<Record<RunEvent["type"], string>> = {
  "report.given": "report",
  "result.given": "result",
  "finding.reported": "findings",
};

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** What a job continues from. A difference refuses it: what was done under other conditions never counts as done. */
import type { FanOut, Shard } from "../engine/fan-out.ts";
import { isWhole, type PastRun } from "../engine/past.ts";
import type { JobFingerprints, PlannedLeaf } from "../events/plan.ts";
import type { RunEvent } from "../events/event.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { jobFingerprints } from "./fingerprint.ts";
import type { Flows } from "./flows.ts";
import { asFlag, type Inputs, type Params, UsageError, type WriteName } from "./options.ts";
import {
  type EarlierJob,
  interruptedCommand,
  readEarlierJob,
  type Started,
  unusable,
} from "./past-run.ts";
import { inOrder, membersOf, mergeJournals, shardOf } from "./shards.ts";

export interface ContinueOptions {
  /** Only what comes before the fan-out runs, and its items are listed. */
  readonly plan?: boolean;
  /** With `resume`, the journal of the plan: only these members of the fan-out run. */
  readonly shard?: Shard;
  /** Journals of a plan and of its shards, from which the run goes on. */
  readonly journals?: readonly string[];
  readonly onMissing?: "fail" | "continue";
}

interface ContinuedJob {
  readonly entry: PreparedEntry;
  readonly jobName: string;
  readonly flows: Flows;
  readonly whole?: string | undefined;
}

/** Throws `UsageError` if the job can't go on from there, or can't be split. */
export async function continueJob(
  job: ContinuedJob,
  script: Script | undefined,
  options: ContinueOptions & Partial<ResumeOptions> & { readonly rehearses: boolean },
): Promise<{ resumed?: ResumedJob; fanOut?: FanOut; warnings?: readonly string[] }> {
  const { resume, shard, journals, onMissing = "fail", plan, rehearses, write = asFlag } = options;
  const { work } = job.entry.jobs[job.jobName] ?? {};
  const given = {
    write,
    rehearses,
    resumeAnyway: options.resumeAnyway,
    rerun: options.rerun,
    params: options.params,
    userInput: options.userInput ?? script?.userInput,
    inputs: { ...script?.inputs, ...options.inputs },
  };
  if (journals !== undefined && work !== undefined) {
    const merged = await mergeJournals(journals, onMissing, rehearses);
    const resumed = resumeJob(merged, job, { ...given, title: "Can't merge" });
    return {
      resumed: { ...resumed, past: inOrder(work, resumed.past) },
      fanOut: merged.fanOut(work),
      warnings: merged.warnings,
    };
  }
  if (plan === true && work !== undefined && membersOf(work, { lists: [] }) === undefined)
    throw new UsageError(
      `The job ${JSON.stringify(job.jobName)} has no Each and no Par at its top, so it can't be split.`,
    );
  const planned = plan === true ? { fanOut: planOnly } : {};
  if (resume === undefined) {
    if (shard === undefined) return planned;
    throw new UsageError(
      `${write("shard")} requires ${write("resume")} with the journal of the plan.`,
    );
  }
  const refuse = refusing({ resume, write });
  const earlier = await readResumed({ ...given, resume });
  const resumed = resumeJob(earlier, job, { ...given, resume });
  if (shard !== undefined && work !== undefined)
    return { resumed, fanOut: shardOf(work, earlier, shard, refuse) };
  const part = earlier.started?.part;
  if (plan === true && part?.kind !== "plan") throw refuse("it is not the journal of a plan.");
  if (plan !== true && (part?.kind === "plan" || part?.kind === "shard"))
    throw refuse(
      `it is the journal of ${part.kind === "plan" ? "a plan" : `shard ${part.index}/${part.count}`}, which is only a part of the job. Pass ${write("shard")} to continue from it.`,
    );
  if (part?.kind !== "merge") checkLeg(earlier, { resume, write, leg: options.leg });
  return { resumed, ...planned };
}

const planOnly: FanOut = { kind: "part", part: { kind: "plan" }, members: new Set() };

interface ResumeOptions extends Resuming {
  readonly resumeAnyway?: boolean | undefined;
  readonly rerun?: boolean | undefined;
  readonly params?: Params | undefined;
  readonly inputs?: Inputs | undefined;
  readonly write: WriteName;
}

export interface ResumedJob {
  readonly past: PastRun;
  /** Everything that had begun has ended, with an answer. */
  readonly isOver: boolean;
  /** As they were, with those that were given again because the journal doesn't hold them. */
  readonly userInput: string;
  readonly inputs: Inputs;
  /** Of a workflow that is the whole job. */
  readonly params: Params | undefined;
  /** Throws `UsageError` if the run would be about another change. */
  readonly checkHead: (head: string | undefined) => void;
}

async function readResumed(
  options: Resuming & { readonly resume: string; readonly rehearses: boolean },
): Promise<EarlierJob> {
  const refuse = refusing(options);
  const earlier = await readEarlierJob(options.resume).catch((error: unknown) => {
    throw refuse(`${fileErrorMessage(error)}.`);
  });
  const problem = unusable(earlier, options.rehearses);
  if (problem !== undefined) throw refuse(problem);
  return earlier;
}

/** Refuses the journal of another leg, which worked with other inputs or on another runner. */
function checkLeg({ started }: Pick<EarlierJob, "started">, options: Resuming): void {
  const before = started?.origin?.leg;
  const { leg = before, write = asFlag } = options;
  if (before === undefined || before === leg) return;
  throw refusing(options)(
    `it belongs to another leg (${before}; this one is ${leg}): the matrix, the runner or an input differs. To resume it anyway, give both runs the same ${write("leg")}.`,
  );
}

function resumeJob(
  earlier: Omit<EarlierJob, "outcome" | "wasStopped">,
  { entry, jobName, flows, whole }: ContinuedJob,
  options: ResumeOptions,
): ResumedJob {
  const refuse = refusing(options);
  const { started, past } = earlier;
  if (started === undefined) throw refuse("it does not contain the start of a run.");
  if (started.jobName !== jobName)
    throw refuse(`it is of the job ${quoted(started.jobName)}, not of ${quoted(jobName)}.`);
  if (started.fingerprints === undefined)
    throw refuse(`it is not the journal of a job, or agent-jobs ${started.version} wrote it.`);
  checkSame(earlier, started.fingerprints, jobFingerprints(entry, jobName, flows), options);
  checkWhole(past, JSON.stringify([entry.tasks, entry.jobs[jobName]?.work]), refuse);
  checkUnderWay(earlier, started, options);
  const { userInput, inputs, params = {} } = options;
  const { work } = started;
  const isFlow = whole !== undefined && work.kind === "Flow";
  return {
    past,
    isOver: earlier.begun.size > 0 && past.underWay.length === 0,
    userInput: sameInput(started.userInput, { ...options, userInput }),
    inputs: sameTexts("input", started.inputs ?? {}, inputs ?? {}, options),
    params: isFlow ? sameTexts("param", work.params, params, options) : undefined,
    checkHead(head) {
      const before = started.change?.head;
      if (before !== undefined && head !== undefined && before !== head)
        throw refuse(`it is about the commit ${before}, and the change now ends at ${head}.`);
    },
  };
}

function checkSame(
  { begun }: Pick<EarlierJob, "begun">,
  before: JobFingerprints,
  now: JobFingerprints,
  options: ResumeOptions,
): void {
  const refuse = refusing(options);
  const { write, resumeAnyway = false } = options;
  if (before.work !== now.work) throw refuse("the tree of the job has changed since.");
  const changed = Object.keys(now.tasks).filter((name) => before.tasks[name] !== now.tasks[name]);
  const done = changed.filter((name) => begun.has(name));
  if (done.length > 0)
    throw refuse(
      `${done.map(quoted).join(", ")} had already started in that run and ${done.length === 1 ? "has" : "have"} changed since.`,
    );
  if (changed.length > 0 && !resumeAnyway)
    throw refuse(
      `${changed.map(quoted).join(", ")} ${changed.length === 1 ? "has" : "have"} changed since, but had not started. Pass ${write("resume-anyway")} to continue with the current entry.`,
    );
}

/** Commands that were under way run a second time only if the user says so. */
function checkUnderWay(
  { past, isIncomplete }: Omit<EarlierJob, "outcome" | "wasStopped">,
  { work }: Started,
  options: ResumeOptions,
): void {
  const { write, rerun = false, resume = "the run" } = options;
  const commands = leafWorks<number, PlannedLeaf>(work).filter(({ kind }) => kind === "Run");
  // The commands of a workflow that have ended would run again.
  if (isIncomplete)
    throw refusing(options)(
      "it ends before that run had taken over what the run before it had done. Resume the journal of that one.",
    );
  for (const one of past.underWay) {
    const isCommand = commands.some(({ workIdInJob }) => workIdInJob === one.workId);
    const found = rerun ? undefined : interruptedCommand(one, isCommand);
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
    if (usesOutput && !isWhole(output)) throw missing("output of a work");
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

interface Resuming {
  readonly leg?: string | undefined;
  readonly resume?: string | undefined;
  /** What begins each refusal, instead of `resume`. */
  readonly title?: string | undefined;
  readonly userInput?: string | undefined;
  readonly write?: WriteName;
}

type Refuse = (reason: string) => UsageError;

export function refusing({ resume = "", write = asFlag, title }: Resuming): Refuse {
  const begins = title ?? `${write("resume")}: can't resume ${resume}`;
  return (reason) => new UsageError(`${begins}: ${reason}`);
}

const titles = { param: "parameter", input: "input" } as const;

function sameTexts(
  kind: keyof typeof titles,
  before: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
  options: Resuming,
): Readonly<Record<string, string>> {
  const title = titles[kind];
  const added = Object.keys(given).find((name) => !Object.hasOwn(before, name));
  if (added !== undefined)
    throw refusing(options)(
      `that run did not have the ${title} ${added}. ${continueHint(kind, options)}`,
    );
  const texts = Object.entries(before).map(([name, value]) => {
    const now = Object.hasOwn(given, name) ? given[name] : undefined;
    return [name, sameText(`${title} ${name}`, kind, value, now, options)] as const;
  });
  return Object.fromEntries(texts);
}

function sameInput(before: string, options: Resuming): string {
  return sameText("user input", "user-input", before, options.userInput, options);
}

/** The value that the earlier run had. Secrets are not in its journal, and have to be given again. */
function sameText(
  what: string,
  option: string,
  before: string,
  given: string | undefined,
  options: Resuming,
): string {
  const { write = asFlag } = options;
  if (!isWhole(before)) {
    if (given !== undefined) return given;
    throw refusing(options)(
      `the journal does not hold the whole value of the ${what}. Give it again with ${write(option)}.`,
    );
  }
  if (given === undefined || given === before) return before;
  throw refusing(options)(
    `the ${what} had another value in that run. ${continueHint(option, options)}`,
  );
}

function continueHint(option: string, { write = asFlag }: Resuming): string {
  return `Omit ${write(option)} to go on with what that run had, or start anew without ${write("resume")}.`;
}

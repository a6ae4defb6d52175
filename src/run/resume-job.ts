/**
 * What a job continues from, and which part of it runs: a resumed run, a plan, a shard, or the merge of shards. What must
 * be as it was in the earlier run is compared here. A difference is named and refuses the run: what was done under other
 * conditions never counts as done.
 */
import { defined } from "../document/guards.ts";
import type { FanOut, Shard } from "../engine/fan-out.ts";
import type { PastRun } from "../engine/past.ts";
import type { JobFingerprints } from "../events/plan.ts";
import type { RunEvent } from "../events/event.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { damageOf } from "../journal/file.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { isWhole } from "../workflow/run/restore.ts";
import { jobFingerprints } from "./fingerprint.ts";
import type { Flows } from "./flows.ts";
import { asFlag, UsageError, type Inputs, type WriteName } from "./options.ts";
import { readEarlierJob, type EarlierJob } from "./past-run.ts";
import { refusing, sameInput, sameTexts, type Refuse } from "./same-values.ts";
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

interface ResumeOptions {
  readonly resume?: string;
  /** What begins each refusal, if there are several journals. */
  readonly title?: string;
  /** Tasks that had not started may have changed. */
  readonly resumeAnyway?: boolean;
  readonly userInput?: string | undefined;
  readonly inputs?: Inputs | undefined;
  readonly write: WriteName;
}

interface ResumedJob {
  readonly past: PastRun;
  /** As they were, with those that were given again because the journal doesn't hold them. */
  readonly userInput: string;
  readonly inputs: Inputs;
  /** Throws `UsageError` if the run would be about another change. */
  readonly checkHead: (head: string | undefined) => void;
}

/** Throws `UsageError` if the journal can't be used. */
async function readResumed(
  options: ResumeOptions & { readonly resume: string },
): Promise<EarlierJob> {
  const refuse = refusing(options);
  const earlier = await readEarlierJob(options.resume).catch((error: unknown) => {
    throw refuse(`${fileErrorMessage(error)}.`);
  });
  const damage = damageOf(earlier.condition);
  if (damage !== undefined) throw refuse(`line ${damage.line}: ${damage.reason}`);
  return earlier;
}

/** Throws `UsageError` if the job can't go on from there. */
function resumeJob(
  earlier: EarlierJob,
  { entry, jobName, flows }: { entry: PreparedEntry; jobName: string; flows: Flows },
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
  const { userInput, inputs } = options;
  return {
    past,
    userInput: sameInput(started.userInput, { ...options, userInput }),
    inputs: sameTexts("input", started.inputs ?? {}, inputs ?? {}, options),
    checkHead(head) {
      const before = started.change?.head;
      if (before !== undefined && head !== undefined && before !== head)
        throw refuse(`it is about the commit ${before}, and the change now ends at ${head}.`);
    },
  };
}

function checkSame(
  { begun }: EarlierJob,
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

/** Statements 15–19 of docs/internals/engine.md. Nothing here grows with the number of works done. */
import type { LeafWork, Work } from "../entry/model.ts";
import { outputsOf } from "../entry/outputs.ts";
import { leafName } from "../entry/work.ts";
import { crashAdvice } from "../events/crash.ts";
import type { RunOutcome, WorkOutcome, WorkRef } from "../events/event.ts";
import { lastErrorText, type ExceededLimit, type LimitScope } from "../events/exceeded-limit.ts";
import { errorMessage } from "../platform/system-error.ts";
import { defined } from "../text/guards.ts";
import { withOutput } from "../text/truncate.ts";
import { UsageBudget } from "./budgets.ts";
import { shared, treeOf } from "./fan-out.ts";
import { EachItems, Slots } from "./items.ts";
import { JobData } from "./job-data.ts";
import { exceeded, startDeadline } from "./limits.ts";
import {
  failedAs,
  LastErrors,
  stopOf,
  stoppedAs,
  Scope,
  stopText,
  unlessStopped,
} from "./scope.ts";
import { withReadable } from "./open-session.ts";
import { Past, type PastRun, type UnderWay } from "./past.ts";
import { itemFields, type Place } from "./place.ts";
import {
  flowOf,
  modelOfLeaf,
  openedBy,
  paramsOf,
  planOf,
  type JobSpec,
  type TaskSpec,
} from "./plan.ts";
import type { EnginePorts } from "./ports.ts";
import { runCommand } from "./run-command.ts";
import { runTask } from "./run-task.ts";
import { runWork, type Finished, type WorkResult, type WorkRunner } from "./run-work.ts";
import type { JobContext } from "./task-context.ts";

/** Never throws. `signal` cancels the job; its reason, if it is a string, is the reason shown. */
export async function runJob(
  spec: JobSpec | TaskSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  if ("taskName" in spec) {
    const { taskName: taskId, modelOverride: id } = spec;
    const alone = { kind: "Ref", workIdInJob: 0, taskId } as const;
    const work = id === undefined ? alone : { ...alone, modelOverride: { id } };
    return new JobRun(spec, ports, signal).run(taskId, work);
  }
  const { entry, jobName, fanOut } = spec;
  const job = entry.jobs[jobName];
  if (job === undefined) throw new Error(`There is no job "${jobName}" in the entry.`);
  const own = { outputs: outputsOf(entry, jobName), ...spec };
  return new JobRun(own, ports, signal).run(jobName, treeOf(job.work, fanOut));
}

interface Ended {
  readonly outcome: WorkOutcome;
  readonly report?: string | undefined;
  readonly output?: string | undefined;
}

class JobRun {
  readonly #spec: JobSpec | TaskSpec;
  readonly #job: JobContext;
  readonly #past: Past;
  readonly #slots: Slots;
  readonly #keepsOutput: boolean;
  readonly #iterations = new Map<number, number>();
  #finishes: number;
  #hasRun = false;
  /** Nothing is left to do: the events of its steps are in this run already. */
  #isSilent = false;
  #turns = 0;

  constructor(spec: JobSpec | TaskSpec, given: EnginePorts, signal: AbortSignal | undefined) {
    this.#spec = spec;
    const emit: EnginePorts["emit"] = (event) => void (this.#isSilent || given.emit(event));
    const ports = { ...withReadable(given, spec.change?.folder), emit };
    const jobScope = Scope.root(signal);
    const { prices } = spec.entry;
    this.#job = {
      spec,
      ports,
      jobScope,
      usage: new UsageBudget(spec.limits, jobScope, { prices, budget: ports.budget }),
      data: new JobData(spec, emit),
      lastErrors: new LastErrors(ports),
      nextTurnId: () => `turn-${(this.#turns += 1)}`,
    };
    this.#past = new Past(spec.past);
    this.#finishes = this.#past.size;
    this.#slots = new Slots(spec.limits.parallel, ports.clock);
    this.#keepsOutput = JSON.stringify(spec.entry).includes("$previous-result");
  }

  async run(jobName: string, work: Work<number>): Promise<RunOutcome> {
    const { entryFile, workingDirectory, limits, past } = this.#spec;
    const { jobScope, usage, ports } = this.#job;
    const { emit, clock } = ports;
    const { milliseconds: before = 0, isDone = false } = past ?? {};
    // The time of the earlier run counts, but not the time in between.
    const at = Math.max(0, clock.now() - before);
    const file = defined({ entryFile });
    const plan = planOf(this.#spec, work);
    emit({ at, type: "run.started", jobName, ...file, workingDirectory, ...plan });
    const deadline = startDeadline(clock, limits, "jobMinutes", jobScope, isDone ? 0 : before);
    const unreadable = past && (await this.#resume(past, at));
    this.#isSilent = isDone;
    const result = unreadable ?? (await this.#runTree(work));
    this.#isSilent = false;
    await unlessStopped(jobScope, clock, usage.settled());
    const outcome = this.#conclude(result);
    const closing = Promise.all(openedBy(this.#spec).map((one) => one.close()));
    await unlessStopped(jobScope, clock, closing);
    deadline.end();
    jobScope.dispose();
    emit({ type: "run.ended", outcome });
    return outcome;
  }

  async #runTree(work: Work<number>): Promise<WorkResult> {
    const { limits, fanOut } = this.#spec;
    const place = { scope: this.#job.jobScope, items: [], branch: [] };
    const items = new EachItems(this.#job, this.#slots, this.#past);
    const refused = await items.prepare(work, place);
    if (refused !== undefined)
      return refused.kind === "stopped" ? refused : { ...refused, last: undefined };
    const runner: WorkRunner = {
      ...limits,
      runLeaf: this.#runLeaf,
      itemsOf: (each, at) => items.of(each, at),
      loopLimitExceeded: (loop) => this.#limitExceeded(exceeded(limits, "loopIterations"), loop),
      leaveOut: (leaf, at, reason) => this.#leaveOut(leaf, at, reason),
      note: (text) => this.#note(text),
      onTransition: this.#job.ports.onTransition,
    };
    const result = await runWork(shared(runner, work, fanOut, this.#past), work, undefined, place);
    if (result.kind !== "succeeded" || this.#hasRun || items.empty.size === 0) return result;
    // A plan runs no item, and the shards after it need its success.
    if (fanOut?.part.kind === "plan") return result;
    return { kind: "skipped", last: undefined, reason: [...items.empty].join("; ") };
  }

  /** Emits the earlier events again, so that the journal and every count of this run include them. */
  async #resume(past: PastRun, begun: number): Promise<WorkResult | undefined> {
    const { runId, works, events, isDone = false } = past;
    const { jobScope, ports, usage } = this.#job;
    try {
      for await (const { event, after } of events?.read() ?? []) {
        if (jobScope.stopped !== undefined) return { kind: "stopped" };
        if (event.type === "work.started")
          this.#iterations.set(event.work.workId, event.work.iteration);
        if (event.type === "turn.started")
          this.#turns = Math.max(this.#turns, Number(/^turn-(\d+)$/.exec(event.turnId)?.[1] ?? 0));
        ports.emit({ ...event, at: begun + after });
      }
    } catch (error) {
      const reason = `the journal of the run ${runId} can't be read again: ${errorMessage(error)}`;
      return { kind: "failed", last: undefined, reason };
    }
    const kept = works.length === 1 ? "1 finished step is" : `${works.length} finished steps are`;
    this.#note(
      isDone
        ? `the run ${runId} has already succeeded: nothing to do`
        : `resumes the run ${runId}: ${kept} kept`,
    );
    for (const note of this.#spec.fanOut?.notes ?? []) this.#note(note);
    if (!isDone) usage.resume(past, this.#spec.fanOut?.kind === "merged");
    return undefined;
  }

  #note(text: string): void {
    this.#job.ports.emit({ type: "decision", work: null, decision: { kind: "note", text } });
  }

  #limitExceeded(limit: ExceededLimit, scope: LimitScope): void {
    const decision = { ...limit, kind: "limit-exceeded", scope } as const;
    this.#job.ports.emit({ type: "decision", work: null, decision });
  }

  #conclude(result: WorkResult): RunOutcome {
    const lastError = this.#job.lastErrors.latest();
    const stopped = stopOf(this.#job.jobScope, lastError);
    if (result.kind === "succeeded") return { kind: "succeeded" };
    if (result.kind === "skipped" && stopped === undefined)
      return { kind: "skipped", reason: `nothing ran: ${result.reason}` };
    if (result.kind !== "stopped" && stopped === undefined)
      return { kind: "failed", reason: result.reason };
    if (stopped === undefined || stopped.kind === "canceled") {
      const reason = stopped === undefined ? "canceled" : stopText(stopped);
      return { kind: "canceled", reason: `${reason}${lastErrorText(lastError)}` };
    }
    if (stopped.kind === "limit") this.#limitExceeded(stopped, { kind: "job" });
    const lent = "borrowed" in this.#spec && this.#spec.borrowed !== undefined;
    const advice =
      stopped.kind === "task-crashed" ? crashAdvice(stopped.crash, { lent }) : undefined;
    return { kind: "failed", reason: stopText(stopped), ...(advice && { advice }) };
  }

  readonly #runLeaf: WorkRunner["runLeaf"] = async (leaf, before, place) => {
    const { workIdInJob: workId } = leaf;
    const done = this.#past.take(workId, place);
    if (done !== undefined) {
      if (place.scope.stopped !== undefined) return { kind: "stopped" };
      // The events of the step are already in this run.
      const { outcome, output, report, given } = done.past;
      const work = { workId, taskId: leafName(leaf), iteration: 1, ...itemFields(place.items) };
      this.#job.data.restore(work, given);
      this.#noteEnd(work, outcome, place.scope);
      return this.#resultOf(leaf, before, { outcome, output, report }, done.order);
    }
    const free = await this.#slots.take(place);
    if (free === undefined || place.scope.stopped !== undefined) {
      free?.();
      return { kind: "stopped" };
    }
    const { ports, jobScope, lastErrors } = this.#job;
    const past = leaf.kind === "Flow" ? this.#past.takeUnderWay(workId, place) : undefined;
    const restoredSteps = past?.steps.filter(({ type }) => type === "step.ended").length;
    const work = this.#nextRun(leaf, place);
    const modelId = modelOfLeaf(this.#spec, leaf) || undefined;
    ports.emit({ type: "work.started", work, modelId, restoredSteps });
    const scope = place.scope.child();
    ports.onWork?.(work, (reason) => scope.stop({ kind: "work-stopped", reason }));
    const ended = await this.#runStep(leaf, { work, scope, before, past });
    if (jobScope.stopped === undefined) lastErrors.note(scope, undefined);
    scope.dispose();
    this.#end(work, ended, place.scope);
    free();
    return this.#resultOf(leaf, before, ended);
  };

  async #runStep(
    leaf: LeafWork<number>,
    step: {
      readonly work: WorkRef;
      readonly scope: Scope;
      readonly before: Finished | undefined;
      readonly past: UnderWay | undefined;
    },
  ): Promise<Ended> {
    const { userInput, workingDirectory } = this.#spec;
    const { work, scope, before, past } = step;
    const previousResult = before?.output;
    switch (leaf.kind) {
      case "Ref": {
        const single = "taskName" in this.#spec ? this.#spec : undefined;
        const { outcome, text, isReport } = await runTask(this.#job, {
          work,
          scope,
          modelId: modelOfLeaf(this.#spec, leaf),
          userInput,
          previousTask: before?.taskId,
          previousResult,
          ignoresAvailability: single?.ignorePrerequisiteCheck,
          borrowed: single?.borrowed,
          depth: 0,
        });
        return { outcome, output: text, report: isReport ? text : undefined };
      }
      case "Flow": {
        const { modelId, run } = flowOf(this.#spec, leaf);
        const variables = this.#job.data.variables(work, { taskModel: modelId, previousResult });
        const params = paramsOf(this.#spec, leaf, variables);
        const shared = { ...this.#job, userInput, workingDirectory };
        const { report, ...outcome } = await run({ ...shared, work, scope, params, past });
        return { outcome, report };
      }
      case "Run": {
        const end = await runCommand(this.#job, step, leaf);
        if (end.kind === "stopped") return { outcome: stoppedAs(scope.stopped) };
        const { tail: output } = end;
        if (end.kind === "passed") return { outcome: { kind: "succeeded" }, output };
        const failed = `command ${JSON.stringify(work.taskId)} failed (${end.how})`;
        return { outcome: failedAs(withOutput(failed, output), end.answer), output };
      }
    }
  }

  #leaveOut(leaf: LeafWork<number>, place: Place, reason: string): void {
    const { ports, data } = this.#job;
    const work = this.#nextRun(leaf, place);
    ports.emit({ type: "work.started", work });
    const decision = { kind: "left-out", reason, item: work.item } as const;
    ports.emit({ type: "decision", work, decision });
    data.leaveOut(work, reason);
    this.#end(work, { outcome: { kind: "skipped", reason } }, place.scope);
  }

  #nextRun(leaf: LeafWork<number>, { items }: Place): WorkRef {
    const { workIdInJob: workId } = leaf;
    const iteration = (this.#iterations.get(workId) ?? 0) + 1;
    this.#iterations.set(workId, iteration);
    return { workId, taskId: leafName(leaf), iteration, ...itemFields(items) };
  }

  #noteEnd({ taskId }: WorkRef, outcome: WorkOutcome, around: Scope): void {
    if (outcome.kind !== "skipped") this.#hasRun = true;
    // Statement 16: what else runs is stopped at once.
    const { kind } = outcome;
    if (kind === "crashed") around.stop({ kind: "task-crashed", taskId, crash: outcome.crash });
  }

  #end(work: WorkRef, { outcome, report, output = "" }: Ended, around: Scope): void {
    this.#noteEnd(work, outcome, around);
    const isNew = this.#keepsOutput && output !== "" && output !== report;
    const left = { report, ...(isNew ? { output } : {}) };
    this.#job.ports.emit({ type: "work.ended", work, outcome, ...left });
  }

  #resultOf(
    leaf: LeafWork<number>,
    before: Finished | undefined,
    { outcome, report, output = report ?? "" }: Ended,
    order?: number,
  ): WorkResult {
    if (outcome.kind === "crashed" || outcome.kind === "canceled") return { kind: "stopped" };
    if (outcome.kind === "skipped") return { ...outcome, last: before };
    // A command is no task: what finished last stays what it was, but for the output.
    const last =
      leaf.kind === "Run"
        ? { taskId: before?.taskId, order: before?.order ?? 0, output }
        : { taskId: leafName(leaf), order: order ?? (this.#finishes += 1), output };
    if (outcome.kind === "succeeded") return { kind: "succeeded", last };
    const reason = failureOf(leaf, outcome.reason, output);
    return { kind: outcome.unanswered === true ? "unanswered" : "failed", last, reason };
  }
}

function failureOf(leaf: LeafWork<number>, reason: string, output: string): string {
  switch (leaf.kind) {
    case "Ref":
      return `task "${leaf.taskId}" failed: ${reason}`;
    case "Flow":
      return withOutput(`workflow "${leaf.file}" failed: ${reason}`, output);
    case "Run":
      return reason;
  }
}

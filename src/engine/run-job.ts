/** Statements 15–19 of docs/internals/engine.md. Nothing here grows with the number of works done. */
import { defined } from "../text/guards.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { LeafWork, Work } from "../entry/model.ts";
import { outputsOf } from "../entry/outputs.ts";
import { leafName } from "../entry/work.ts";
import { crashAdvice } from "../events/crash.ts";
import { withOutput } from "../text/truncate.ts";
import { lastErrorText, type ExceededLimit, type LimitScope } from "../events/exceeded-limit.ts";
import type { EventOf, RunOutcome, WorkRef } from "../events/event.ts";
import type { RunPlan } from "../events/plan.ts";
import type { FlowEnd } from "./flow.ts";
import { EachItems, type Place } from "./items.ts";
import { itemFields, JobValues, noWork } from "./job-data.ts";
import { exceeded, startDeadline, UsageBudget } from "./limits.ts";
import { shared, treeOf } from "./fan-out.ts";
import { flowOf, modelOf, openedBy, paramsOf, planOf, planOfTask, type RunSpec } from "./plan.ts";
import { withReadable } from "./open-session.ts";
import { Past, type PastRun, type PastWork } from "./past.ts";
import type { EnginePorts, Session } from "./ports.ts";
import { runCommand } from "./run-command.ts";
import { runWork, type Finished, type WorkResult, type WorkRunner } from "./run-work.ts";
import { Scope, stopText, unlessStopped } from "./scope.ts";
import { Slots } from "./slots.ts";
import { asReported, failureOf, LastErrors, outcomeOf, stopOf, stoppedAs } from "./outcome.ts";
import { TaskRuns, type TaskInput } from "./task-runs.ts";

export interface JobSpec extends RunSpec {
  readonly jobName: string;
}

export interface TaskSpec extends RunSpec {
  readonly taskName: string;
  readonly modelOverride?: string;
  readonly borrowed?: Session;
  readonly ignorePrerequisiteCheck: boolean;
}

/** Never throws. `signal` cancels the job; its reason, if it is a string, is the reason shown. */
export async function runJob(
  spec: JobSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const job = spec.entry.jobs[spec.jobName];
  if (job === undefined) throw new Error(`There is no job "${spec.jobName}" in the entry.`);
  const { entry, jobName } = spec;
  const own = { outputs: outputsOf(entry, jobName), ...spec };
  const run = new JobRun(own, ports, signal);
  const work = treeOf(job.work, spec.fanOut);
  return run.whole(jobName, planOf(own, work), () => run.tree(work));
}

export async function runSingleTask(
  spec: TaskSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const { taskName: taskId, modelOverride, borrowed } = spec;
  const run = new JobRun(spec, ports, signal);
  const override = modelOverride === undefined ? undefined : { id: modelOverride };
  // Everything runs in the session that was lent, whatever the task would have had.
  const modelId = borrowed?.modelId ?? modelOf(spec.entry, taskId, override);
  const plan = planOfTask(spec, taskId, modelId, borrowed !== undefined);
  const task = (): Promise<WorkResult> =>
    run.single({
      workId: 0,
      taskId,
      modelId,
      availability: { previousTask: undefined, skip: spec.ignorePrerequisiteCheck },
      borrowed,
    });
  return run.whole(taskId, plan, task, { lent: borrowed !== undefined });
}

type TaskStart = TaskInput & Pick<WorkRef, "workId" | "taskId">;

type Ended = FlowEnd & { readonly output?: string };

class JobRun {
  readonly #spec: RunSpec;
  readonly #ports: EnginePorts;
  readonly #scope: Scope;
  readonly #usage: UsageBudget;
  readonly #values: JobValues;
  readonly #past: Past;
  readonly #keepsOutput: boolean;
  readonly #tasks: TaskRuns;
  readonly #slots: Slots;
  readonly #lastErrors: LastErrors;
  readonly #iterations = new Map<number, number>();
  #finishes: number;
  #hasRun = false;
  /** Nothing is left to do: the events of its steps are in this run already. */
  #isSilent = false;
  #turns = 0;

  constructor(spec: RunSpec, ports: EnginePorts, signal: AbortSignal | undefined) {
    this.#spec = spec;
    const emit: EnginePorts["emit"] = (event) => void (this.#isSilent || ports.emit(event));
    this.#ports = { ...withReadable(ports, spec.change?.folder), emit };
    this.#lastErrors = new LastErrors(ports);
    this.#scope = Scope.root(signal);
    this.#usage = new UsageBudget(spec.limits, this.#scope, {
      prices: spec.entry.prices,
      budget: ports.budget,
    });
    this.#values = new JobValues(spec, this.#ports);
    this.#past = new Past(spec.past);
    this.#finishes = this.#past.size;
    this.#slots = new Slots(spec.limits.parallel, ports.clock);
    this.#keepsOutput = JSON.stringify(spec.entry).includes("$previous-result");
    this.#tasks = new TaskRuns({
      spec,
      ports: this.#ports,
      scope: this.#scope,
      values: this.#values,
      usage: this.#usage,
      lastErrors: this.#lastErrors,
      nextTurnId: this.#nextTurnId,
    });
  }

  async whole(
    jobName: string,
    plan: RunPlan,
    body: () => Promise<WorkResult>,
    { lent = false }: { readonly lent?: boolean } = {},
  ): Promise<RunOutcome> {
    const { entryFile, workingDirectory, limits, past } = this.#spec;
    const { emit, clock } = this.#ports;
    const { milliseconds: before = 0, isDone = false } = past ?? {};
    // The time of the earlier run counts, but not the time in between.
    const at = Math.max(0, clock.now() - before);
    const file = defined({ entryFile });
    emit({ at, type: "run.started", jobName, ...file, workingDirectory, ...plan });
    const deadline = startDeadline(clock, limits, "jobMinutes", this.#scope, isDone ? 0 : before);
    const unreadable = past && (await this.#resume(past, at));
    this.#isSilent = isDone;
    const result = unreadable ?? (await body());
    this.#isSilent = false;
    await unlessStopped(this.#scope, clock, this.#usage.settled());
    const outcome = this.#conclude(result, lent);
    const closing = Promise.all(openedBy(this.#spec).map((one) => one.close()));
    await unlessStopped(this.#scope, clock, closing);
    deadline.end();
    this.#scope.dispose();
    emit({ type: "run.ended", outcome });
    return outcome;
  }

  async tree(work: Work<number>): Promise<WorkResult> {
    const place = { scope: this.#scope, items: [], branch: [] };
    const items = new EachItems({
      workspace: this.#spec.workspace,
      changed: this.#spec.change?.files,
      note: this.#note,
      past: this.#past,
      emit: this.#ports.emit,
      textOf: (prompt, at, onMissing) => this.#values.textOf(prompt, at, onMissing),
      resultOf: (task, at) => this.#values.data.result(task, noWork(at)),
      run: (command, at) =>
        this.#slots.run(at, () =>
          runCommand(this.#values.commandContext(noWork(at), at.scope), command, {
            keepsOutput: true,
          }),
        ),
    });
    const refused = await items.prepare(work, place);
    if (refused !== undefined)
      return refused.kind === "stopped" ? refused : { ...refused, last: undefined };
    const { limits, fanOut } = this.#spec;
    const runner: WorkRunner = {
      ...limits,
      runLeaf: (leaf, last, at) => this.#leaf(leaf, last, at),
      itemsOf: (each, at) => items.of(each, at),
      loopLimitExceeded: (loop) => this.#limitExceeded(exceeded(limits, "loopIterations"), loop),
      leaveOut: (leaf, at, reason) => this.#leaveOut(leaf, at, reason),
      note: this.#note,
      onTransition: this.#ports.onTransition,
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
    try {
      for await (const { event, after } of events?.read() ?? []) {
        if (this.#scope.stopped !== undefined) return { kind: "stopped" };
        if (event.type === "work.started")
          this.#iterations.set(event.work.workId, event.work.iteration);
        if (event.type === "turn.started")
          this.#turns = Math.max(this.#turns, Number(/^turn-(\d+)$/.exec(event.turnId)?.[1] ?? 0));
        this.#ports.emit({ ...event, at: begun + after });
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
    if (!isDone) this.#usage.resume(past, this.#spec.fanOut?.kind === "merged");
    return undefined;
  }

  readonly #note = (text: string): void =>
    this.#ports.emit({ type: "decision", work: null, decision: { kind: "note", text } });

  readonly #nextTurnId = (): string => `turn-${(this.#turns += 1)}`;

  #limitExceeded(limit: ExceededLimit, scope: LimitScope): void {
    const decision = { ...limit, kind: "limit-exceeded", scope } as const;
    this.#ports.emit({ type: "decision", work: null, decision });
  }

  #conclude(result: WorkResult, lent: boolean): RunOutcome {
    const lastError = this.#lastErrors.latest();
    const stopped = stopOf(this.#scope, lastError);
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
    const advice =
      stopped.kind === "task-crashed" ? crashAdvice(stopped.crash, { lent }) : undefined;
    return { kind: "failed", reason: stopText(stopped), ...(advice && { advice }) };
  }

  async #leaf(
    leaf: LeafWork<number>,
    last: Finished | undefined,
    place: Place,
  ): Promise<WorkResult> {
    const done = this.#past.take(leaf.workIdInJob, place);
    if (done !== undefined)
      return this.#resultOf(leaf, last, this.#takeOver(leaf, place, done.past), done.order);
    const ended = await this.#slots.run(place, () => this.#run(leaf, place, last));
    return this.#resultOf(leaf, last, ended);
  }

  #run(leaf: LeafWork<number>, place: Place, last?: Finished): Promise<Ended | undefined> {
    const { entry, userInput, workingDirectory } = this.#spec;
    const previousResult = last?.output;
    const { workIdInJob: workId } = leaf;
    switch (leaf.kind) {
      case "Ref": {
        const { taskId, modelOverride } = leaf;
        const modelId = modelOf(entry, taskId, modelOverride);
        const availability = { previousTask: last?.taskId, skip: false };
        return this.#task({ workId, taskId, modelId, availability, previousResult }, place);
      }
      case "Flow": {
        const { modelId, run } = flowOf(this.#spec, leaf);
        const past = this.#past.takeUnderWay(workId, place);
        const restoredSteps = past?.steps.filter(({ type }) => type === "step.ended").length;
        const start = { workId, taskId: leaf.file, modelId, restoredSteps };
        return this.#work(start, place, (work, scope) => {
          const valueOf = this.#values.valueOf(work);
          const onMissing = this.#values.onMissing(work);
          return run({
            work,
            scope,
            usage: this.#usage,
            params: paramsOf(this.#spec, leaf, previousResult, valueOf, onMissing),
            userInput,
            workingDirectory,
            past,
            lastErrors: this.#lastErrors,
            nextTurnId: this.#nextTurnId,
            ports: this.#ports,
          });
        });
      }
      case "Run": {
        const taskId = leafName(leaf);
        return this.#work({ workId, taskId }, place, async (work, scope) => {
          const end = await runCommand(this.#values.commandContext(work, scope), leaf);
          if (end.kind === "stopped") return stoppedAs(scope.stopped);
          const { tail: output } = end;
          if (end.kind === "passed") return { kind: "succeeded", output };
          const failed = `command ${JSON.stringify(taskId)} failed (${end.how})`;
          const reason = withOutput(failed, output);
          return { kind: "failed", reason, answer: end.answer, output };
        });
      }
    }
  }

  async single(start: TaskStart): Promise<WorkResult> {
    const { workId: workIdInJob, taskId } = start;
    const ended = await this.#task(start, { scope: this.#scope, items: [], branch: [] });
    return this.#resultOf({ kind: "Ref", workIdInJob, taskId }, undefined, ended);
  }

  #task(start: TaskStart, place: Place): Promise<Ended | undefined> {
    return this.#work(start, place, async (work, scope) => {
      const { userInput } = this.#spec;
      const run = { ...start, work, scope, userInput, depth: 0 };
      const { outcome, answer } = await this.#tasks.run(run);
      const { text = "" } = answer;
      const isReport = text !== "" && this.#tasks.dialogueOf(run) !== undefined;
      return { ...outcome, output: text, ...(isReport ? { report: text } : {}) };
    });
  }

  /** The events of the step are already in this run. */
  #takeOver(leaf: LeafWork<number>, place: Place, past: PastWork): Ended | undefined {
    if (place.scope.stopped !== undefined) return undefined;
    const { outcome, output, report, given } = past;
    const { workIdInJob: workId } = leaf;
    const work = { workId, taskId: leafName(leaf), iteration: 1, ...itemFields(place.items) };
    this.#values.data.restore(work, given);
    const ended: Ended = { ...outcomeOf(outcome), output, report };
    this.#noteEnd(work, ended, place.scope);
    return ended;
  }

  #leaveOut(leaf: LeafWork<number>, place: Place, reason: string): void {
    const work = this.#nextRun(leaf.workIdInJob, leafName(leaf), place);
    this.#ports.emit({ type: "work.started", work });
    const decision = { kind: "left-out", reason, item: work.item } as const;
    this.#ports.emit({ type: "decision", work, decision });
    this.#values.data.leaveOut(work, reason);
    this.#end(work, { kind: "skipped", reason }, place.scope);
  }

  #nextRun(workId: number, taskId: string, { items }: Place): WorkRef {
    const iteration = (this.#iterations.get(workId) ?? 0) + 1;
    this.#iterations.set(workId, iteration);
    return { workId, taskId, iteration, ...itemFields(items) };
  }

  /** Undefined: it was too late to begin. */
  async #work(
    start: Pick<WorkRef, "workId" | "taskId"> & Partial<EventOf<"work.started">>,
    place: Place,
    run: (work: WorkRef, scope: Scope) => Promise<Ended>,
  ): Promise<Ended | undefined> {
    if (place.scope.stopped !== undefined) return undefined;
    const { workId, taskId, modelId, restoredSteps } = start;
    const work = this.#nextRun(workId, taskId, place);
    this.#ports.emit({ type: "work.started", work, modelId, restoredSteps });
    const scope = place.scope.child();
    this.#ports.onWork?.(work, (reason) => scope.stop({ kind: "work-stopped", reason }));
    const ended = await run(work, scope);
    if (this.#scope.stopped === undefined) this.#lastErrors.note(scope, undefined);
    scope.dispose();
    this.#end(work, ended, place.scope);
    return ended;
  }

  #noteEnd({ taskId }: WorkRef, ended: Ended, around: Scope): void {
    if (ended.kind !== "skipped") this.#hasRun = true;
    // Statement 16: what else runs is stopped at once.
    if (ended.kind === "crashed") around.stop({ kind: "task-crashed", taskId, crash: ended.crash });
  }

  #end(work: WorkRef, ended: Ended, around: Scope): void {
    this.#noteEnd(work, ended, around);
    const { report, output = "" } = ended;
    const isNew = this.#keepsOutput && output !== "" && output !== report;
    const left = { report, ...(isNew ? { output } : {}) };
    this.#ports.emit({ type: "work.ended", work, outcome: asReported(ended), ...left });
  }

  #resultOf(
    leaf: LeafWork<number>,
    before: Finished | undefined,
    ended: Ended | undefined,
    order?: number,
  ): WorkResult {
    if (ended === undefined || ended.kind === "crashed" || ended.kind === "stopped")
      return { kind: "stopped" };
    if (ended.kind === "skipped") return { ...ended, last: before };
    const { report, output = report ?? "" } = ended;
    // A command is no task: what finished last stays what it was, but for the output.
    const last =
      leaf.kind === "Run"
        ? { taskId: before?.taskId, order: before?.order ?? 0, output }
        : { taskId: leafName(leaf), order: order ?? (this.#finishes += 1), output };
    if (ended.kind === "succeeded") return { kind: "succeeded", last };
    const reason = failureOf(leaf, ended.reason, output);
    return { kind: ended.answer ? "failed" : "unanswered", last, reason };
  }
}

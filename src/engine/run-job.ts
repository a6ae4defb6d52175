/**
 * A job from its first event to its last: statements 15–19 of docs/internals/engine.md.
 *
 * Owns the scope of the job, its counters and the numbering of iterations. Invariants: `run.started` is the
 * first event and `run.ended` the last; every `work.started` has its `work.ended`; nothing here grows
 * with the number of works done.
 */
import { defined } from "../document/guards.ts";
import type { FlowWork, LeafWork, TaskWork } from "../entry/model.ts";
import { crashAdvice, crashText } from "../events/crash.ts";
import { lastErrorText, type ExceededLimit, type LimitScope } from "../events/exceeded-limit.ts";
import type { RunOutcome, WorkRef } from "../events/event.ts";
import { onAbort } from "../platform/waiting.ts";
import type { RunPlan } from "../events/plan.ts";
import type { Crashed, DelegateEnd, DelegateRequest, Dialogue } from "./dialogue.ts";
import type { FlowEnd } from "./flow.ts";
import { CallBudget, deadlines, exceeded, UsageBudget } from "./limits.ts";
import {
  flowOf,
  modelOf,
  paramsOf,
  planOf,
  planOfTask,
  toolSourcesOf,
  type RunSpec,
} from "./plan.ts";
import { withReadable } from "./open-session.ts";
import type { EnginePorts, Session } from "./ports.ts";
import { asReported, runTask, type AvailabilityInput } from "./run-task.ts";
import { runWork, withOutput, type Finished, type WorkResult } from "./run-work.ts";
import {
  Scope,
  STOP_GRACE_MS,
  stopText,
  unlessStopped,
  type Deadlines,
  type StopReason,
} from "./scope.ts";
import { obstacle, stopOf, type LatestAttempt } from "./task-context.ts";
import { Variables, type ValueOf } from "./variables.ts";

export interface JobSpec extends RunSpec {
  readonly jobName: string;
}

/** A task on its own (`startTask`): it is reported as a job of one work with the id 0. */
export interface TaskSpec extends RunSpec {
  readonly taskName: string;
  readonly modelOverride?: string;
  /** Borrowing mode. */
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
  const run = new Run(spec, ports, signal);
  return run.whole(spec.jobName, planOf(spec, job.work), () =>
    runWork(
      {
        loopIterations: spec.limits.loopIterations,
        runLeaf: (work, last) => run.leaf(work, last),
        loopLimitExceeded: (loop) =>
          run.limitExceeded(exceeded(spec.limits, "loopIterations"), loop),
        note: (text) =>
          ports.emit({ type: "decision", work: null, decision: { kind: "note", text } }),
      },
      job.work,
      undefined,
    ),
  );
}

/** Never throws; as `runJob`, for one task. */
export async function runSingleTask(
  spec: TaskSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const { taskName: taskId, modelOverride, borrowed } = spec;
  const run = new Run(spec, ports, signal);
  const override = modelOverride === undefined ? undefined : { id: modelOverride };
  // Everything runs in the session that was lent, whatever the task would have had.
  const modelId = borrowed?.modelId ?? modelOf(spec.entry, taskId, override);
  const plan = planOfTask(spec, taskId, modelId, borrowed !== undefined);
  const task = (): Promise<WorkResult> =>
    run.task({
      workId: 0,
      taskId,
      modelId,
      availability: { previousTask: undefined, skip: spec.ignorePrerequisiteCheck },
      ...defined({ borrowed }),
    });
  return run.whole(taskId, plan, task, { lent: borrowed !== undefined });
}

interface TaskStart {
  readonly workId: number;
  readonly taskId: string;
  readonly modelId: string;
  readonly availability: AvailabilityInput;
  /** What the work that finished before it reported. */
  readonly previousResult?: string | undefined;
  readonly borrowed?: Session;
}

/** One run of a task: as a work of the job, or delegated by one. */
interface TaskRun extends TaskStart {
  readonly iteration: number;
  readonly scope: Scope;
  readonly userInput: string;
  /** Of delegation. */
  readonly depth: number;
}

class Run {
  readonly #spec: RunSpec;
  readonly #ports: EnginePorts;
  readonly #scope: Scope;
  readonly #usage: UsageBudget;
  readonly #taskDeadlines: Deadlines;
  readonly #latest: LatestAttempt = { attempt: 1, attempts: 1 };
  /** By work id, so bounded by the size of the job's tree. */
  readonly #iterations = new Map<number, number>();
  #finishes = 0;
  #turns = 0;

  constructor(spec: RunSpec, ports: EnginePorts, signal: AbortSignal | undefined) {
    this.#spec = spec;
    this.#ports = withReadable(ports, spec.change?.folder);
    this.#scope = Scope.root(signal);
    this.#usage = new UsageBudget(spec.limits, this.#scope);
    this.#taskDeadlines = deadlines(ports.clock, spec.limits, "taskMinutes");
  }

  async whole(
    jobName: string,
    plan: RunPlan,
    body: () => Promise<WorkResult>,
    { lent = false }: { readonly lent?: boolean } = {},
  ): Promise<RunOutcome> {
    const { entryFile, workingDirectory, limits } = this.#spec;
    const { emit, clock } = this.#ports;
    const file = entryFile === undefined ? {} : { entryFile };
    emit({ type: "run.started", jobName, ...file, workingDirectory, ...plan });
    const deadline = deadlines(clock, limits, "jobMinutes");
    deadline.add(this.#scope);
    const outcome = this.#conclude(await body(), lent);
    const sources = toolSourcesOf(this.#spec);
    if (sources.length > 0) {
      const closing = Promise.all(sources.map((source) => source.close()));
      await unlessStopped(this.#scope, clock, STOP_GRACE_MS, closing);
    }
    deadline.dispose();
    this.#taskDeadlines.dispose();
    this.#scope.dispose();
    emit({ type: "run.ended", outcome });
    return outcome;
  }

  limitExceeded(limit: ExceededLimit, scope: LimitScope): void {
    const decision = { ...limit, kind: "limit-exceeded", scope } as const;
    this.#ports.emit({ type: "decision", work: null, decision });
  }

  #conclude(result: WorkResult, lent: boolean): RunOutcome {
    const stopped = this.#stopped();
    if (result.kind === "succeeded") return { kind: "succeeded" };
    if (result.kind === "skipped" && stopped === undefined)
      return { kind: "skipped", reason: `nothing ran: ${result.reason}` };
    if (result.kind !== "stopped" && stopped === undefined)
      return { kind: "failed", reason: result.reason };
    if (stopped === undefined || stopped.kind === "canceled") {
      const { lastError } = obstacle(this.#ports, this.#latest);
      const reason = stopped === undefined ? "canceled" : stopText(stopped);
      return { kind: "canceled", reason: `${reason}${lastErrorText(lastError)}` };
    }
    if (stopped.kind === "limit") this.limitExceeded(stopped, { kind: "job" });
    const advice =
      stopped.kind === "task-crashed" ? crashAdvice(stopped.crash, { lent }) : undefined;
    const reason = stopText(stopped);
    return { kind: "failed", reason, ...defined({ advice }) };
  }

  #stopped(): StopReason | undefined {
    return stopOf(this.#scope, this.#ports, this.#latest);
  }

  async leaf(work: LeafWork<number>, last: Finished | undefined): Promise<WorkResult> {
    const result = await (work.kind === "Flow" ? this.#flow(work, last) : this.#ref(work, last));
    return result.kind === "skipped" ? { ...result, last } : result;
  }

  async #ref(work: TaskWork<number>, last: Finished | undefined): Promise<WorkResult> {
    const { workIdInJob: workId, taskId, modelOverride } = work;
    const modelId = modelOf(this.#spec.entry, taskId, modelOverride);
    const availability = { previousTask: last?.taskId, skip: false };
    return this.task({ workId, taskId, modelId, availability, previousResult: last?.output });
  }

  async #flow(leaf: FlowWork<number>, last: Finished | undefined): Promise<WorkResult> {
    const flow = flowOf(this.#spec, leaf);
    const { modelId } = flow;
    const { userInput, workingDirectory } = this.#spec;
    return this.#work({ workId: leaf.workIdInJob, taskId: leaf.file, modelId }, (work, scope) =>
      flow.run({
        work,
        scope,
        usage: this.#usage,
        params: paramsOf(
          this.#spec,
          leaf,
          last?.output,
          this.#valueOf(work),
          this.#onMissing(work),
        ),
        userInput,
        workingDirectory,
        latestOfRun: this.#latest,
        nextTurnId: () => this.#nextTurnId(),
        ports: this.#ports,
      }),
    );
  }

  task(start: TaskStart): Promise<WorkResult> {
    return this.#work(start, async ({ iteration }, scope) => {
      const { userInput } = this.#spec;
      const run = { ...start, iteration, scope, userInput, depth: 0 };
      const { outcome, answer } = await this.#runTask(run);
      const { text = "" } = answer;
      const ended = { ...outcome, output: text };
      return this.#dialogueOf(run) === undefined || text === ""
        ? ended
        : { ...ended, report: text };
    });
  }

  /** An iteration of a work, from its start to its end. */
  async #work(
    { workId, taskId, modelId }: Pick<TaskStart, "workId" | "taskId" | "modelId">,
    run: (work: WorkRef, scope: Scope) => Promise<FlowEnd & { readonly output?: string }>,
  ): Promise<WorkResult> {
    if (this.#scope.stopped !== undefined) return { kind: "stopped" };
    const { emit } = this.#ports;
    const iteration = (this.#iterations.get(workId) ?? 0) + 1;
    this.#iterations.set(workId, iteration);
    const work = { workId, taskId, iteration };
    emit({ type: "work.started", work, modelId });
    const scope = this.#scope.child();
    this.#ports.onWork?.(work, (reason) => scope.stop({ kind: "work-stopped", reason }));
    const { report, output = report ?? "", ...outcome } = await run(work, scope);
    scope.dispose();
    if (outcome.kind === "crashed") {
      // Statement 16: what else runs is stopped at once.
      this.#scope.stop({ kind: "task-crashed", taskId, crash: outcome.crash });
    }
    const reports = report === undefined ? {} : { report };
    emit({ type: "work.ended", work, outcome: asReported(outcome), ...reports });
    if (outcome.kind === "crashed" || outcome.kind === "stopped") return { kind: "stopped" };
    if (outcome.kind === "skipped") return { ...outcome, last: undefined };
    this.#finishes += 1;
    const last = { taskId, order: this.#finishes, output };
    if (outcome.kind === "succeeded") return { kind: "succeeded", last };
    const isTask = this.#spec.entry.tasks[taskId] !== undefined;
    const failure = `${isTask ? "task" : "workflow"} "${taskId}" failed: ${outcome.reason}`;
    const reason = isTask ? failure : withOutput(failure, output);
    return outcome.answer
      ? { kind: "failed", last, reason }
      : { kind: "unanswered", last, reason, inCondition: false };
  }

  /** The one place where runtime variables get values that the task itself doesn't set. */
  readonly #valueOf =
    ({ item, itemIndex }: WorkRef): ValueOf =>
    (name) => {
      if (name === "item") return item;
      if (name === "item-index") return itemIndex?.toString();
      const { values = {} } = this.#spec;
      return Object.hasOwn(values, name) ? values[name] : undefined;
    };

  readonly #onMissing =
    (work: WorkRef) =>
    (name: string): void =>
      this.#ports.emit({ type: "decision", work, decision: { kind: "variable-missing", name } });

  #nextTurnId(): string {
    return `turn-${(this.#turns += 1)}`;
  }

  async #runTask(run: TaskRun): ReturnType<typeof runTask> {
    const { entry, workingDirectory, limits, permissionsOf, toolSource } = this.#spec;
    const { workId, taskId, modelId, borrowed, iteration, scope, userInput, previousResult } = run;
    const task = entry.tasks[taskId];
    if (task === undefined) {
      const message = `There is no task "${taskId}" in the entry.`;
      return { outcome: { kind: "crashed", crash: { cause: "internal", message } }, answer: {} };
    }
    const work = { workId, taskId, iteration };
    const multiple = task.criteria?.runConditionInSameSession === false;
    const startDialogue = this.#dialogueOf(run);
    return runTask(
      {
        entry,
        task,
        work,
        mode:
          borrowed !== undefined
            ? { kind: "borrowed", session: borrowed }
            : { kind: multiple ? "multiple" : "single" },
        modelId,
        workingDirectory,
        permissions: permissionsOf(taskId),
        toolSource,
        limits,
        changed: this.#spec.change?.files,
        variables: new Variables(
          entry,
          { userInput, taskModel: modelId, previousResult, ofJob: this.#valueOf(work) },
          this.#onMissing(work),
        ),
        scope,
        budgets: { calls: new CallBudget(limits, scope), usage: this.#usage },
        deadlines: this.#taskDeadlines,
        latest: { attempt: 1, attempts: 1 },
        latestOfRun: this.#latest,
        nextTurnId: () => this.#nextTurnId(),
        ...defined({ startDialogue }),
        ports: this.#ports,
      },
      run.availability,
    );
  }

  #dialogueOf(run: TaskRun): (() => Promise<Dialogue | Crashed>) | undefined {
    const { dialogues = {}, permissionsOf, workingDirectory } = this.#spec;
    const { workId, taskId, iteration, scope, depth } = run;
    const spec = Object.hasOwn(dialogues, taskId) ? dialogues[taskId] : undefined;
    if (spec === undefined) return undefined;
    const { emit, clock } = this.#ports;
    const work = { workId, taskId, iteration };
    return () =>
      spec.start({
        work,
        depth,
        scope,
        permissions: permissionsOf(taskId),
        workingDirectory,
        clock,
        emit: (action) => emit({ type: "action", work, action }),
        decide: (decision) => emit({ type: "decision", work, decision }),
        delegate: (request, signal) => this.#delegate(run, request, signal),
      });
  }

  /**
   * Runs a task for the dialogue of another, as a part of its work: it has limits of its own as every task, ends with
   * the signal, and counts in the budgets of the job. Its crash is a failure.
   */
  async #delegate(
    { workId, taskId: previousTask, iteration, depth }: TaskRun,
    { taskId, input }: DelegateRequest,
    signal: AbortSignal,
  ): Promise<DelegateEnd> {
    const { entry } = this.#spec;
    const scope = this.#scope.child();
    const release = onAbort(signal, () => scope.stop({ kind: "canceled", reason: "canceled" }));
    const { outcome, answer } = await this.#runTask({
      workId,
      taskId,
      modelId: modelOf(entry, taskId, undefined),
      availability: { previousTask, skip: false },
      iteration,
      scope,
      userInput: input,
      depth: depth + 1,
    });
    release();
    scope.dispose();
    const { text = "" } = answer;
    if (outcome.kind === "succeeded") return { ...answer, kind: "succeeded", text };
    const reason =
      outcome.kind === "failed" || outcome.kind === "skipped"
        ? outcome.reason
        : outcome.kind === "crashed"
          ? crashText(outcome.crash)
          : stopText(outcome.reason);
    return { kind: "failed", reason, ...(text === "" ? {} : { text }) };
  }
}

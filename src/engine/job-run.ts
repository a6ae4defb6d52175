/**
 * The works of a job: each from its start to its end. Statements 15–19 of docs/internals/engine.md.
 *
 * Owns the scope of the job, its counters and the numbering of iterations. Invariants: `run.started` is the
 * first event and `run.ended` the last; every `work.started` has its `work.ended`; nothing here grows
 * with the number of works done.
 */
import { defined } from "../document/guards.ts";
import type { FlowWork, LeafWork, RunWork, TaskWork, Work } from "../entry/model.ts";
import { leafName } from "../entry/work.ts";
import { crashAdvice } from "../events/crash.ts";
import { withOutput } from "../events/decision-words.ts";
import { lastErrorText, type ExceededLimit, type LimitScope } from "../events/exceeded-limit.ts";
import type { RunOutcome, WorkRef } from "../events/event.ts";
import type { RunPlan } from "../events/plan.ts";
import type { FlowEnd } from "./flow.ts";
import { EachItems, type Place } from "./items.ts";
import { itemFields, JobValues, noWork } from "./job-values.ts";
import { deadlines, exceeded, UsageBudget } from "./limits.ts";
import { shared } from "./fan-out.ts";
import { flowOf, modelOf, openedBy, paramsOf, type RunSpec } from "./plan.ts";
import { withReadable } from "./open-session.ts";
import { givenIn, Past, type PastRun } from "./past.ts";
import type { EnginePorts } from "./ports.ts";
import { runCommand } from "./run-command.ts";
import { asReported, type TaskOutcome } from "./run-task.ts";
import { runWork, type Finished, type WorkResult, type WorkRunner } from "./run-work.ts";
import {
  Scope,
  STOP_GRACE_MS,
  stopText,
  unlessStopped,
  type Deadlines,
  type StopReason,
} from "./scope.ts";
import { obstacle, stopOf, type LatestAttempt } from "./task-context.ts";
import { TaskRuns, type TaskInput } from "./task-runs.ts";

interface TaskStart extends TaskInput {
  readonly workId: number;
  readonly taskId: string;
  /** Default: in the job itself. */
  readonly place?: Place;
}

/** How an iteration of a work has ended. */
type Ended = FlowEnd & { readonly output?: string };

export class JobRun {
  readonly #spec: RunSpec;
  readonly #ports: EnginePorts;
  readonly #scope: Scope;
  readonly #usage: UsageBudget;
  readonly #taskDeadlines: Deadlines;
  readonly #values: JobValues;
  readonly #past: Past;
  /** Whether a prompt may have `$previous-result`, which a run that resumes this one needs. */
  readonly #keepsOutput: boolean;
  readonly #tasks: TaskRuns;
  readonly #latest: LatestAttempt = { attempt: 1, attempts: 1 };
  /** By work id, so bounded by the size of the job's tree. */
  readonly #iterations = new Map<number, number>();
  #finishes: number;
  #turns = 0;

  constructor(spec: RunSpec, ports: EnginePorts, signal: AbortSignal | undefined) {
    this.#spec = spec;
    this.#ports = withReadable(ports, spec.change?.folder);
    this.#scope = Scope.root(signal);
    this.#usage = new UsageBudget(spec.limits, this.#scope);
    this.#taskDeadlines = deadlines(ports.clock, spec.limits, "taskMinutes");
    this.#values = new JobValues(spec, this.#ports);
    this.#past = new Past(spec.past);
    this.#finishes = this.#past.size;
    this.#keepsOutput = JSON.stringify(spec.entry).includes("$previous-result");
    this.#tasks = new TaskRuns({
      spec,
      ports: this.#ports,
      scope: this.#scope,
      values: this.#values,
      usage: this.#usage,
      deadlines: this.#taskDeadlines,
      latest: this.#latest,
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
    const file = defined({ entryFile });
    emit({ type: "run.started", jobName, ...file, workingDirectory, ...plan });
    const deadline = deadlines(clock, limits, "jobMinutes", past?.milliseconds);
    deadline.add(this.#scope);
    if (past !== undefined) this.#resume(past);
    const outcome = this.#conclude(await body(), lent);
    const opened = openedBy(this.#spec);
    if (opened.length > 0) {
      const closing = Promise.all(opened.map((one) => one.close()));
      await unlessStopped(this.#scope, clock, STOP_GRACE_MS, closing);
    }
    deadline.dispose();
    this.#taskDeadlines.dispose();
    this.#scope.dispose();
    emit({ type: "run.ended", outcome });
    return outcome;
  }

  /** All works of a job. What can be counted before anything is paid for is counted first. */
  async tree(work: Work<number>): Promise<WorkResult> {
    const place = { scope: this.#scope, items: [] };
    const items = new EachItems({
      workspace: this.#spec.workspace,
      changed: this.#spec.change?.files,
      note: this.#note,
      past: this.#past,
      emit: this.#ports.emit,
      textOf: (prompt, at) => this.#values.textOf(prompt, at),
      resultOf: (task, at) => this.#values.data.result(task, noWork(at)),
      run: (command, at) =>
        runCommand(this.#values.commandContext(noWork(at), at.scope), command, {
          keepsOutput: true,
        }),
    });
    const refused = await items.prepare(work, place);
    if (refused !== undefined)
      return refused.kind === "stopped" ? refused : { ...refused, last: undefined };
    const { limits, fanOut } = this.#spec;
    const runner: WorkRunner = {
      loopIterations: limits.loopIterations,
      runLeaf: (leaf, last, at) => this.#leaf(leaf, last, at),
      itemsOf: (each, at) => items.of(each, at),
      loopLimitExceeded: (loop) => this.#limitExceeded(exceeded(limits, "loopIterations"), loop),
      note: this.#note,
      onWay: this.#ports.onWay,
    };
    return runWork(shared(runner, work, fanOut, this.#past), work, undefined, place);
  }

  /** Limits of the whole run hold for what was spent before, too. */
  #resume({ runId, tokens, cost, works }: PastRun): void {
    const taken = works.length === 1 ? "1 work is" : `${works.length} works are`;
    this.#note(`resumes the run ${runId}: ${taken} taken over`);
    this.#usage.spend({ inputTokens: tokens, outputTokens: 0, cost });
  }

  readonly #note = (text: string): void =>
    this.#ports.emit({ type: "decision", work: null, decision: { kind: "note", text } });

  readonly #nextTurnId = (): string => `turn-${(this.#turns += 1)}`;

  #limitExceeded(limit: ExceededLimit, scope: LimitScope): void {
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
    if (stopped.kind === "limit") this.#limitExceeded(stopped, { kind: "job" });
    const advice =
      stopped.kind === "task-crashed" ? crashAdvice(stopped.crash, { lent }) : undefined;
    const reason = stopText(stopped);
    return { kind: "failed", reason, ...defined({ advice }) };
  }

  #stopped(): StopReason | undefined {
    return stopOf(this.#scope, this.#ports, this.#latest);
  }

  async #leaf(
    work: LeafWork<number>,
    last: Finished | undefined,
    place: Place,
  ): Promise<WorkResult> {
    const done = this.#past.take(work.workIdInJob, place);
    if (done !== undefined) return this.#takeOver(work, last, place, done);
    switch (work.kind) {
      case "Ref":
        return this.#ref(work, last, place);
      case "Flow":
        return this.#flow(work, last, place);
      case "Run":
        return this.#run(work, last, place);
    }
  }

  async #ref(
    work: TaskWork<number>,
    last: Finished | undefined,
    place: Place,
  ): Promise<WorkResult> {
    const { workIdInJob: workId, taskId, modelOverride } = work;
    const modelId = modelOf(this.#spec.entry, taskId, modelOverride);
    const availability = { previousTask: last?.taskId, skip: false };
    return this.task(
      { workId, taskId, modelId, place, availability, previousResult: last?.output },
      last,
    );
  }

  async #flow(
    leaf: FlowWork<number>,
    last: Finished | undefined,
    place: Place,
  ): Promise<WorkResult> {
    const flow = flowOf(this.#spec, leaf);
    const { userInput, workingDirectory } = this.#spec;
    return this.#finished(
      leaf.file,
      last,
      await this.#work(leaf.workIdInJob, leaf.file, flow.modelId, place, (work, scope) =>
        flow.run({
          work,
          scope,
          usage: this.#usage,
          params: paramsOf(
            this.#spec,
            leaf,
            last?.output,
            this.#values.valueOf(work),
            this.#values.onMissing(work),
          ),
          userInput,
          workingDirectory,
          latestOfRun: this.#latest,
          nextTurnId: this.#nextTurnId,
          ports: this.#ports,
        }),
      ),
    );
  }

  /** It is no task: what finished last stays what it was, but for the output. */
  async #run(leaf: RunWork<number>, last: Finished | undefined, place: Place): Promise<WorkResult> {
    const name = leafName(leaf);
    const ended = await this.#work(
      leaf.workIdInJob,
      name,
      undefined,
      place,
      async (work, scope): Promise<Ended> => {
        const end = await runCommand(this.#values.commandContext(work, scope), leaf);
        if (end.kind === "stopped") return stoppedIn(scope);
        const { tail: output } = end;
        if (end.kind === "passed") return { kind: "succeeded", output };
        const reason = withOutput(`command ${JSON.stringify(name)} failed (${end.how})`, output);
        return { kind: "failed", reason, answer: end.answer, output };
      },
    );
    return this.#afterCommand(last, ended);
  }

  #afterCommand(last: Finished | undefined, ended: Ended | undefined): WorkResult {
    if (ended === undefined || ended.kind === "crashed" || ended.kind === "stopped")
      return { kind: "stopped" };
    const { output = "" } = ended;
    const finished = { taskId: last?.taskId, order: last?.order ?? 0, output };
    return ended.kind === "failed"
      ? failure(ended, finished, ended.reason)
      : { kind: "succeeded", last: finished };
  }

  async task(start: TaskStart, last?: Finished): Promise<WorkResult> {
    const { workId, taskId, modelId, place = { scope: this.#scope, items: [] } } = start;
    return this.#finished(
      taskId,
      last,
      await this.#work(workId, taskId, modelId, place, async (work, scope) => {
        const { userInput } = this.#spec;
        const run = { ...start, work, scope, userInput, depth: 0 };
        const { outcome, answer } = await this.#tasks.run(run);
        const { text = "" } = answer;
        const ended = { ...outcome, output: text };
        return this.#tasks.dialogueOf(run) === undefined || text === ""
          ? ended
          : { ...ended, report: text };
      }),
    );
  }

  /** A work that an earlier run has done: what it left is said again, so that the journal of this run is whole. */
  #takeOver(
    leaf: LeafWork<number>,
    last: Finished | undefined,
    place: Place,
    { past, order }: NonNullable<ReturnType<Past["take"]>>,
  ): WorkResult {
    if (place.scope.stopped !== undefined) return { kind: "stopped" };
    const { emit } = this.#ports;
    const { outcome, output, report, given, modelId } = past;
    const work = this.#nextRun(leaf.workIdInJob, leafName(leaf), place);
    emit({ type: "work.started", work, ...defined({ modelId }), restored: true });
    for (const event of given) emit(givenIn(work, event));
    this.#values.data.restore(work, given);
    const ended: Ended =
      outcome.kind === "failed"
        ? { ...outcome, answer: outcome.unanswered !== true, output }
        : { ...outcome, output };
    if (ended.kind === "crashed")
      place.scope.stop({ kind: "task-crashed", taskId: work.taskId, crash: ended.crash });
    emit({
      type: "work.ended",
      work,
      outcome,
      ...this.#left({ ...ended, ...defined({ report }) }),
    });
    if (leaf.kind === "Run") return this.#afterCommand(last, ended);
    return this.#finished(leafName(leaf), last, ended, order);
  }

  #nextRun(workId: number, taskId: string, { items }: Place): WorkRef {
    const iteration = (this.#iterations.get(workId) ?? 0) + 1;
    this.#iterations.set(workId, iteration);
    return { workId, taskId, iteration, ...itemFields(items) };
  }

  /** What the end of a work says of what it leaves. */
  #left({ report, output = "" }: Ended): { readonly report?: string; readonly output?: string } {
    const isNew = this.#keepsOutput && output !== "" && output !== report;
    return { ...defined({ report }), ...(isNew ? { output } : {}) };
  }

  /** An iteration of a work, from its start to its end. Undefined: it was too late to begin. */
  async #work(
    workId: number,
    taskId: string,
    modelId: string | undefined,
    place: Place,
    run: (work: WorkRef, scope: Scope) => Promise<Ended>,
  ): Promise<Ended | undefined> {
    const { scope: around } = place;
    if (around.stopped !== undefined) return undefined;
    const { emit } = this.#ports;
    const work = this.#nextRun(workId, taskId, place);
    emit({ type: "work.started", work, ...defined({ modelId }) });
    const scope = around.child();
    this.#ports.onWork?.(work, (reason) => scope.stop({ kind: "work-stopped", reason }));
    const ended = await run(work, scope);
    scope.dispose();
    if (ended.kind === "crashed") {
      // Statement 16: what else runs is stopped at once.
      around.stop({ kind: "task-crashed", taskId, crash: ended.crash });
    }
    emit({ type: "work.ended", work, outcome: asReported(ended), ...this.#left(ended) });
    return ended;
  }

  /** What the end of a task or of a workflow means for the works around it. */
  #finished(
    taskId: string,
    before: Finished | undefined,
    ended: Ended | undefined,
    /** Of a work that ended in an earlier run. */
    past?: number,
  ): WorkResult {
    if (ended === undefined || ended.kind === "crashed" || ended.kind === "stopped")
      return { kind: "stopped" };
    if (ended.kind === "skipped") return { ...ended, last: before };
    const { report, output = report ?? "" } = ended;
    const last = { taskId, order: past ?? (this.#finishes += 1), output };
    if (ended.kind === "succeeded") return { kind: "succeeded", last };
    const isTask = this.#spec.entry.tasks[taskId] !== undefined;
    const reason = `${isTask ? "task" : "workflow"} "${taskId}" failed: ${ended.reason}`;
    return failure(ended, last, isTask ? reason : withOutput(reason, output));
  }
}

function failure(
  { answer }: { readonly answer: boolean },
  last: Finished | undefined,
  reason: string,
): WorkResult {
  return answer
    ? { kind: "failed", last, reason }
    : { kind: "unanswered", last, reason, inCondition: false };
}

/** A command was stopped: by whoever stops this work alone, or with more. */
function stoppedIn({ stopped }: Scope): TaskOutcome {
  if (stopped?.kind === "work-stopped")
    return { kind: "failed", reason: stopText(stopped), answer: false };
  return { kind: "stopped", reason: stopped ?? { kind: "canceled", reason: "canceled" } };
}

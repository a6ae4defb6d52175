/**
 * The trace of one run, as a fold over its events: each span is handed over when it has ended, children before their
 * parents. Ids and times come from the events, so a journal makes the same trace again.
 *
 * run > work > task > attempt > turn > model calls and tool calls. A workflow has its activities instead of the task,
 * those of a called file below the CALL. Actions of the protocol are below the attempt. A task that is run on behalf of
 * an action is below that action.
 */
import { decisionOf } from "../../events/decision-of.ts";
import type { Decision } from "../../events/decision.ts";
import type {
  Acted,
  RunEvent,
  RunOutcome,
  RunStarted,
  SessionActed,
  WorkOutcome,
  WorkRef,
} from "../../events/event.ts";
import { plannedWorks, type PlannedWork } from "../../events/plan.ts";
import type { StepStarted } from "../../events/step.ts";
import { outcomeReason } from "../../events/view.ts";
import {
  decisionEvent,
  SpanWriter,
  type Attributes,
  type OpenSpan,
  type SpanEnd,
  type TraceOptions,
  type TraceOutput,
} from "./span.ts";
import { ActionSpans } from "./action-spans.ts";
import { TaskSpans } from "./task-spans.ts";
import { ROOT } from "./trace-context.ts";

interface WorkSpans {
  readonly span: OpenSpan;
  readonly planned: PlannedWork | undefined;
  /** Its own, and those that run on behalf of its actions. */
  readonly tasks: Map<string, TaskSpans>;
  taskCount: number;
  /** Activities of a workflow that are under way, the innermost last. */
  readonly steps: Map<number, OpenSpan>;
  readonly actions: ActionSpans;
}

export class Trace {
  readonly #writer: SpanWriter;
  readonly #options: TraceOptions;
  readonly #root: OpenSpan;
  /** By id and iteration. */
  readonly #works = new Map<string, WorkSpans>();
  readonly #totals = { calls: 0, input: 0, output: 0, cost: 0 };
  #jobName = "";
  #planned: readonly PlannedWork[] = [];

  /** `first`: the first event of the run, which `apply` gets, too. */
  constructor(first: RunEvent, options: TraceOptions, output: TraceOutput) {
    this.#options = options;
    this.#writer = new SpanWriter(first.runId, options, output);
    this.#jobName = first.type === "run.started" ? first.jobName : "";
    this.#root = this.#writer.open({
      place: ROOT,
      parent: undefined,
      name: `invoke_workflow ${this.#jobName}`.trim(),
      startedAt: first.at,
      attributes: {
        "gen_ai.operation.name": "invoke_workflow",
        "agent_jobs.run.id": first.runId,
        ...(first.type === "run.started" && this.#runAttributes(first)),
      },
    });
    if (first.type === "run.started") this.#planned = plannedWorks(first.work);
  }

  apply(event: RunEvent): void {
    this.#applyItself(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decide(event, decided.work, decided.decision);
  }

  /** Ends what is under way: nothing of the run follows. */
  end(at: number, end: SpanEnd = {}): void {
    for (const work of this.#works.values()) this.#endWork(work, at);
    this.#works.clear();
    const { calls, input, output, cost } = this.#totals;
    const usage = {
      "agent_jobs.model_calls": calls,
      "gen_ai.usage.input_tokens": input,
      "gen_ai.usage.output_tokens": output,
      "agent_jobs.usage.cost": cost,
    };
    this.#writer.end(this.#root, at, { ...end, attributes: { ...usage, ...end.attributes } });
  }

  #applyItself(event: RunEvent): void {
    switch (event.type) {
      case "run.ended":
        return this.#endRun(event.outcome, event.at);
      case "work.started":
        if (this.#isOwn(event.work)) this.#taskOf(event.work, event.at, event.modelId);
        return;
      case "work.ended": {
        const key = keyOf(event.work);
        const work = this.#works.get(key);
        if (work === undefined || !this.#isOwn(event.work)) return;
        this.#works.delete(key);
        return this.#endWork(work, event.at, event.outcome);
      }
      case "turn.started":
        return this.#taskOf(event.work, event.at).startTurn(
          event,
          event.at,
          this.#innermost(event.work),
        );
      case "turn.ended":
        return this.#known(event.work)?.endTurn(event, event.at);
      case "activity":
        return this.#act(event, event.at);
      case "step.started":
        return this.#startStep(event, event.at);
      case "step.ended": {
        const work = this.#works.get(keyOf(event.work));
        const span = work?.steps.get(event.step);
        if (work === undefined || span === undefined) return;
        work.steps.delete(event.step);
        for (const task of work.tasks.values()) task.endAttempt();
        const failure = event.succeeded ? {} : { error: "failed", reason: event.reason };
        return this.#writer.end(span, event.at, failure);
      }
      case "action":
        return this.#applyAction(event, event.at);
      case "run.started":
      case "decision":
      case "items.listed":
      case "session.started":
      case "session.ended":
      case "step.output":
      case "report.given":
      case "result.given":
      case "finding.reported":
      case "verdict.given":
      case "proposal.made":
      case "note.added":
        return;
    }
  }

  #runAttributes({
    version,
    jobName,
    entryFile,
    entryFingerprint,
    userInput,
  }: RunStarted): Attributes {
    return {
      "gen_ai.workflow.name": jobName,
      "agent_jobs.version": version,
      "agent_jobs.entry.file": entryFile,
      "agent_jobs.entry.fingerprint": entryFingerprint,
      ...this.#writer.content({ "agent_jobs.user_input": userInput }),
    };
  }

  #endRun(outcome: RunOutcome, at: number): void {
    const attributes = { "agent_jobs.outcome": outcome.kind };
    const failure = outcome.kind === "failed" ? { error: "failed", reason: outcome.reason } : {};
    this.end(at, { attributes, ...failure });
    const of = { "agent_jobs.job.name": this.#jobName, ...attributes };
    this.#writer.measure("agent_jobs.runs", 1, of);
    this.#writer.measure("agent_jobs.run.duration", (at - this.#root.startedAt) / 1000, of);
  }

  /** Not of a task that is run on behalf of an action. */
  #isOwn({ workId, taskId }: WorkRef): boolean {
    const planned = this.#planned.find((one) => one.workId === workId);
    return planned === undefined || planned.taskId === taskId;
  }

  #workOf(ref: WorkRef, at: number): WorkSpans {
    const key = keyOf(ref);
    const known = this.#works.get(key);
    if (known !== undefined) return known;
    const { workId, iteration, item, itemIndex } = ref;
    const planned = this.#planned.find((one) => one.workId === workId);
    const work: WorkSpans = {
      span: this.#writer.open({
        place: `work/${key}`,
        parent: this.#root,
        name: `work ${planned?.taskId ?? ref.taskId}`,
        startedAt: at,
        attributes: {
          "agent_jobs.work.id": workId,
          "agent_jobs.work.iteration": iteration,
          "agent_jobs.item.index": itemIndex,
          "agent_jobs.condition": planned?.condition === true ? true : undefined,
          ...this.#writer.content({ "agent_jobs.item": item }),
        },
      }),
      planned,
      tasks: new Map(),
      taskCount: 0,
      steps: new Map(),
      actions: new ActionSpans(this.#writer),
    };
    this.#works.set(key, work);
    return work;
  }

  #known(ref: WorkRef): TaskSpans | undefined {
    return this.#works.get(keyOf(ref))?.tasks.get(ref.taskId);
  }

  #taskOf(ref: WorkRef, at: number, modelId?: string): TaskSpans {
    const work = this.#workOf(ref, at);
    const { taskId } = ref;
    const known = work.tasks.get(taskId);
    if (known !== undefined) return known;
    const { planned } = work;
    const isTask =
      planned === undefined ||
      (planned.chart === undefined && planned.modelId !== undefined) ||
      !this.#isOwn(ref);
    work.taskCount += 1;
    const task = new TaskSpans(
      this.#writer,
      !isTask
        ? work.span
        : this.#writer.open({
            place: `${work.span.place}/task/${work.taskCount}`,
            parent: (this.#isOwn(ref) ? undefined : work.actions.delegating) ?? work.span,
            name: `invoke_agent ${taskId}`,
            startedAt: at,
            attributes: {
              "gen_ai.operation.name": "invoke_agent",
              "gen_ai.provider.name": this.#options.provider,
              "gen_ai.agent.name": taskId,
              "gen_ai.request.model": modelId,
            },
          }),
    );
    work.tasks.set(taskId, task);
    return task;
  }

  #endWork(work: WorkSpans, at: number, outcome?: WorkOutcome): void {
    const end = this.#endOf(work, outcome);
    for (const task of [...work.tasks.values()].toReversed()) this.#endTask(work, task, at, end);
    work.actions.end(at);
    for (const span of [...work.steps.values()].toReversed()) this.#writer.end(span, at);
    this.#writer.end(work.span, at, end);
  }

  /** A condition that does not hold is an answer, not an error. */
  #endOf({ planned }: WorkSpans, outcome: WorkOutcome | undefined): SpanEnd {
    if (outcome === undefined) return {};
    const attributes = { "agent_jobs.outcome": outcome.kind };
    if (outcome.kind === "crashed")
      return { attributes, error: outcome.crash.cause, reason: outcome.crash.message };
    const isAnswer = planned?.condition === true && !("unanswered" in outcome);
    if (outcome.kind !== "failed" || isAnswer) return { attributes };
    return { attributes, error: "failed", reason: outcomeReason(outcome) };
  }

  #endTask(work: WorkSpans, task: TaskSpans, at: number, end: SpanEnd = {}): void {
    task.end(at);
    if (task.span !== work.span) this.#writer.end(task.span, at, end);
  }

  /** Of the activities under way. */
  #innermost(ref: WorkRef): OpenSpan | undefined {
    return [...(this.#works.get(keyOf(ref))?.steps.values() ?? [])].at(-1);
  }

  #act(event: SessionActed, at: number): void {
    const { work, activity } = event;
    if (activity.kind === "model.used") {
      this.#totals.calls += 1;
      this.#totals.input += activity.inputTokens;
      this.#totals.output += activity.outputTokens;
      this.#totals.cost += activity.cost;
    }
    this.#known(work)?.act(event, at);
  }

  #startStep(
    { work: ref, step, file, activity, hit, input, restored }: StepStarted,
    at: number,
  ): void {
    // Nothing is done.
    if (restored === true) return;
    const work = this.#workOf(ref, at);
    const span = this.#writer.open({
      place: `${work.span.place}/step/${step}`,
      parent: this.#innermost(ref) ?? work.span,
      name: `activity ${activity}`,
      startedAt: at,
      attributes: {
        "agent_jobs.workflow.file": file,
        "agent_jobs.activity": activity,
        "agent_jobs.activity.hit": hit,
        "agent_jobs.activity.kind": input?.kind,
      },
    });
    work.steps.set(step, span);
  }

  #applyAction({ work: ref, action }: Acted, at: number): void {
    const work = this.#works.get(keyOf(ref));
    const task = work?.tasks.get(ref.taskId);
    if (task !== undefined) work?.actions.apply(action, task.span, task.attempt, at);
  }

  #decide(event: RunEvent, ref: WorkRef | null, decision: Decision): void {
    const { at } = event;
    const shown = decisionEvent(decision, at, this.#options.content);
    const work = ref === null ? undefined : this.#works.get(keyOf(ref));
    // What ends last of a task may come after it.
    const isLate = event.type === "session.ended" && ref !== null && !work?.tasks.has(ref.taskId);
    if (ref === null || work === undefined || isLate)
      return addEvent(work?.span ?? this.#root, shown);
    const task = this.#taskOf(ref, at);
    const turn = event.type === "activity" ? task.turn(event.turnId) : undefined;
    addEvent(turn ?? this.#innermost(ref) ?? task.span, shown);
    switch (decision.kind) {
      case "session-crashed":
        task.crash = decision.crash.cause;
        return;
      case "criteria-retry":
        return this.#countRetry(ref, "criteria");
      case "further-attempt":
        return this.#countRetry(ref, task.crash);
      case "task-succeeded":
      case "task-failed":
        if (this.#isOwn(ref)) return;
        work.tasks.delete(ref.taskId);
        return this.#endTask(work, task, at, {
          ...(decision.kind === "task-failed" && { error: "failed", reason: decision.reason }),
        });
      default:
        return;
    }
  }

  #countRetry({ taskId }: WorkRef, cause: string): void {
    const attributes = {
      "agent_jobs.job.name": this.#jobName,
      "gen_ai.agent.name": taskId,
      "agent_jobs.retry.cause": cause,
    };
    this.#writer.measure("agent_jobs.retries", 1, attributes);
  }
}

function addEvent(span: OpenSpan, event: OpenSpan["events"][number]): void {
  span.events.push(event);
  span.latest = Math.max(span.latest, event.at);
}

function keyOf({ workId, iteration }: WorkRef): string {
  return `${workId}/${iteration}`;
}

/**
 * The trace of one run, as a fold over its events: each span is handed over when it has ended, children before their
 * parents. Ids and times come from the events, so a journal makes the same trace again.
 *
 * run > work > task > attempt > turn > model calls and tool calls. A workflow has its activities instead of the task,
 * those of a called file below the CALL. Actions of the protocol are below the attempt. A task that is run on behalf of
 * an action is below that action.
 */
import type { Attributes } from "@opentelemetry/api";
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
import { ActionSpans } from "./action-spans.ts";
import {
  RunSpans,
  type Instruments,
  type OpenSpan,
  type SpanEnd,
  type TraceOptions,
} from "./span.ts";
import { TaskSpans } from "./task-spans.ts";

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
  readonly #run: RunSpans;
  readonly #root: OpenSpan;
  /** By id and iteration. */
  readonly #works = new Map<string, WorkSpans>();
  readonly #totals = { calls: 0, input: 0, output: 0, cost: 0 };
  readonly #jobName: string;
  readonly #planned: readonly PlannedWork[];

  /** `first`: the first event of the run, which `apply` gets, too. */
  constructor(first: RunEvent, options: TraceOptions, sdk: Instruments) {
    const started = first.type === "run.started" ? first : undefined;
    this.#run = new RunSpans(first.runId, options, sdk);
    this.#jobName = started?.jobName ?? "";
    this.#planned = started === undefined ? [] : plannedWorks(started.work);
    this.#root = this.#run.root({
      name: `invoke_workflow ${this.#jobName}`.trim(),
      startedAt: first.at,
      attributes: {
        "gen_ai.operation.name": "invoke_workflow",
        "agent_jobs.run.id": first.runId,
        ...(started && this.#runAttributes(started)),
      },
    });
  }

  apply(event: RunEvent): void {
    this.#applyItself(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decide(event, decided.work, decided.decision);
  }

  /** Ends what is under way: nothing of the run follows. */
  end(at: number, end: SpanEnd = {}): void {
    const { calls, input, output, cost } = this.#totals;
    const usage = {
      "agent_jobs.model_calls": calls,
      "gen_ai.usage.input_tokens": input,
      "gen_ai.usage.output_tokens": output,
      "agent_jobs.usage.cost": cost,
    };
    this.#root.endAll(at, { ...end, attributes: { ...usage, ...end.attributes } });
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
        return span.end(event.at, failure);
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
      ...this.#run.content({ "agent_jobs.user_input": userInput }),
    };
  }

  #endRun(outcome: RunOutcome, at: number): void {
    const attributes = { "agent_jobs.outcome": outcome.kind };
    const failure = outcome.kind === "failed" ? { error: "failed", reason: outcome.reason } : {};
    this.end(at, { attributes, ...failure });
    const of = { "agent_jobs.job.name": this.#jobName, ...attributes };
    this.#run.sdk.measure("agent_jobs.runs", 1, of);
    this.#run.sdk.measure("agent_jobs.run.duration", (at - this.#root.startedAt) / 1000, of);
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
      span: this.#root.open({
        place: `work/${key}`,
        name: `work ${planned?.taskId ?? ref.taskId}`,
        startedAt: at,
        attributes: {
          "agent_jobs.work.id": workId,
          "agent_jobs.work.iteration": iteration,
          "agent_jobs.item.index": itemIndex,
          "agent_jobs.condition": planned?.condition === true ? true : undefined,
          ...this.#run.content({ "agent_jobs.item": item }),
        },
      }),
      planned,
      tasks: new Map(),
      taskCount: 0,
      steps: new Map(),
      actions: new ActionSpans(this.#run),
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
    const parent = (this.#isOwn(ref) ? undefined : work.actions.delegating) ?? work.span;
    const task = new TaskSpans(
      this.#run,
      !isTask
        ? work.span
        : parent.open({
            place: `${work.span.place}/task/${work.taskCount}`,
            name: `invoke_agent ${taskId}`,
            startedAt: at,
            attributes: {
              "gen_ai.operation.name": "invoke_agent",
              "gen_ai.provider.name": this.#run.options.provider,
              "gen_ai.agent.name": taskId,
              "gen_ai.request.model": modelId,
            },
          }),
    );
    work.tasks.set(taskId, task);
    return task;
  }

  #endWork(work: WorkSpans, at: number, outcome: WorkOutcome): void {
    const end = this.#endOf(work, outcome);
    for (const { span } of [...work.tasks.values()].toReversed()) span.endAll(at, end);
    work.span.endAll(at, end);
  }

  /** A condition that does not hold is an answer, not an error. */
  #endOf({ planned }: WorkSpans, outcome: WorkOutcome): SpanEnd {
    const attributes = { "agent_jobs.outcome": outcome.kind };
    if (outcome.kind === "crashed")
      return { attributes, error: outcome.crash.cause, reason: outcome.crash.message };
    const isAnswer = planned?.condition === true && !("unanswered" in outcome);
    if (outcome.kind !== "failed" || isAnswer) return { attributes };
    return { attributes, error: "failed", reason: outcomeReason(outcome) };
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
    const span = (this.#innermost(ref) ?? work.span).open({
      place: `${work.span.place}/step/${step}`,
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
    const work = ref === null ? undefined : this.#works.get(keyOf(ref));
    // What ends last of a task may come after it.
    const isLate = event.type === "session.ended" && ref !== null && !work?.tasks.has(ref.taskId);
    if (ref === null || work === undefined || isLate)
      return (work?.span ?? this.#root).decide(decision, at);
    const task = this.#taskOf(ref, at);
    const turn = event.type === "activity" ? task.turn(event.turnId) : undefined;
    (turn ?? this.#innermost(ref) ?? task.span).decide(decision, at);
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
        return task.span.endAll(
          at,
          decision.kind === "task-failed" ? { error: "failed", reason: decision.reason } : {},
        );
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
    this.#run.sdk.measure("agent_jobs.retries", 1, attributes);
  }
}

function keyOf({ workId, iteration }: WorkRef): string {
  return `${workId}/${iteration}`;
}

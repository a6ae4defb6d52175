/**
 * The trace of one run: run > work > task > attempt > turn > model calls and tool calls. A workflow has its activities
 * instead of the task. Each span is handed over when it has ended, children before their parents.
 */
import type { ActionWaiting } from "../../events/action.ts";
import { decisionOf } from "../../events/decision-of.ts";
import type { Decision } from "../../events/decision.ts";
import type { Acted, RunEvent, RunOutcome, TurnStarted, WorkRef } from "../../events/event.ts";
import { plannedWorks, workKey, type PlannedWork } from "../../events/plan.ts";
import type { StepStarted } from "../../events/step.ts";
import { outcomeReason } from "../../events/view.ts";
import {
  RunSpans,
  type Instruments,
  type OpenSpan,
  type SpanEnd,
  type TraceOptions,
} from "./span.ts";
import { toolAttributes, TurnSpans, usageOf } from "./turn-spans.ts";

interface WorkSpans {
  readonly span: OpenSpan;
  readonly planned: PlannedWork | undefined;
  /** Its own, and those that run on behalf of its actions. */
  readonly tasks: Map<string, TaskSpans>;
  taskCount: number;
  /** Activities of a workflow that are under way, the innermost last. */
  readonly steps: Map<number, OpenSpan>;
  /** Actions that wait, without a span, or run. */
  readonly actions: Map<string, { readonly head: ActionWaiting; span: OpenSpan | undefined }>;
}

type Acting = Extract<RunEvent, { type: "activity" }>;

interface TaskSpans {
  /** That of the work for a workflow. */
  readonly span: OpenSpan;
  readonly turns: Map<string, TurnSpans>;
  attempt: { readonly key: string; readonly span: OpenSpan } | undefined;
  attempts: number;
  crash: string;
}

export class Trace {
  readonly #run: RunSpans;
  readonly #root: OpenSpan;
  readonly #works = new Map<string, WorkSpans>();
  readonly #jobName: string;
  readonly #planned: ReadonlyMap<number, PlannedWork>;

  /** `first`: the first event of the run, which `apply` gets, too. */
  constructor(first: RunEvent, options: TraceOptions, sdk: Instruments) {
    const started = first.type === "run.started" ? first : undefined;
    const planned = started === undefined ? [] : plannedWorks(started.work);
    this.#run = new RunSpans(first.runId, options, sdk);
    this.#jobName = started?.jobName ?? "";
    this.#planned = new Map(planned.map((work) => [work.workId, work]));
    this.#root = this.#run.root({
      name: `invoke_workflow ${this.#jobName}`.trim(),
      startedAt: first.at,
      attributes: {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": started?.jobName,
        "agent_jobs.run.id": first.runId,
        "agent_jobs.version": started?.version,
        "agent_jobs.rehearsed": started?.rehearsed,
        "agent_jobs.entry.file": started?.entryFile,
        "agent_jobs.entry.fingerprint": started?.entryFingerprint,
        ...this.#run.content({ "agent_jobs.user_input": started?.userInput }),
      },
    });
  }

  apply(event: RunEvent): void {
    this.#applyItself(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decide(decided.work, decided.decision, event.at);
  }

  /** Ends what is under way: nothing of the run follows. */
  end(at: number, end: SpanEnd = {}): void {
    for (const { tasks } of this.#works.values())
      for (const { turns } of tasks.values())
        for (const turn of turns.values()) turn.end("canceled", at);
    this.#root.endAll(at, end);
  }

  #applyItself(event: RunEvent): void {
    const { at } = event;
    switch (event.type) {
      case "run.ended":
        return this.#endRun(event.outcome, at);
      case "work.started":
        if (this.#isOwn(event.work)) this.#taskOf(event.work, at, event.modelId);
        return;
      case "work.ended": {
        const key = workKey(event.work);
        const work = this.#works.get(key);
        if (work === undefined || !this.#isOwn(event.work)) return;
        this.#works.delete(key);
        const end = endOf(work, event.outcome);
        for (const { span } of [...work.tasks.values()].toReversed()) span.endAll(at, end);
        return work.span.endAll(at, end);
      }
      case "session.started":
        if (this.#works.has(workKey(event.work))) this.#taskOf(event.work, at);
        return;
      case "turn.started":
        return this.#startTurn(event, at);
      case "turn.ended": {
        const turns = this.#taskIn(event.work)?.turns;
        turns?.get(event.turnId)?.end(event.outcome, at);
        turns?.delete(event.turnId);
        return;
      }
      case "activity":
        return this.#applyActivity(event, at);
      case "step.started":
        return this.#startStep(event, at);
      case "step.ended": {
        const { steps, tasks } = this.#works.get(workKey(event.work)) ?? {};
        const span = steps?.get(event.step);
        if (span === undefined) return;
        steps?.delete(event.step);
        for (const task of tasks?.values() ?? []) endAttempt(task);
        return span.end(at, event.succeeded ? {} : { error: "failed", reason: event.reason });
      }
      case "action":
        return this.#applyAction(event, at);
      default:
        return;
    }
  }

  #applyActivity({ work, turnId, activity }: Acting, at: number): void {
    const task = this.#taskIn(work);
    if (activity.kind === "model.used")
      for (const span of new Set([this.#root, task?.span]))
        span?.add({ "agent_jobs.model_calls": 1, ...usageOf(activity) });
    task?.turns.get(turnId)?.apply(activity, at);
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
    return (this.#planned.get(workId)?.taskId ?? taskId) === taskId;
  }

  #workOf(ref: WorkRef, at: number): WorkSpans {
    const key = workKey(ref);
    const known = this.#works.get(key);
    if (known !== undefined) return known;
    const { workId, iteration, item, itemIndex } = ref;
    const planned = this.#planned.get(workId);
    const span = this.#root.open({
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
    });
    const maps = { tasks: new Map(), steps: new Map(), actions: new Map() };
    const work: WorkSpans = { span, planned, taskCount: 0, ...maps };
    this.#works.set(key, work);
    return work;
  }

  #taskIn(ref: WorkRef): TaskSpans | undefined {
    return this.#works.get(workKey(ref))?.tasks.get(ref.taskId);
  }

  #taskOf(ref: WorkRef, at: number, modelId?: string): TaskSpans {
    const work = this.#workOf(ref, at);
    const { taskId } = ref;
    const known = work.tasks.get(taskId);
    if (known !== undefined) return known;
    const { planned } = work;
    const isOwn = this.#isOwn(ref);
    const isTask =
      planned === undefined || (planned.chart === undefined && planned.modelId !== undefined);
    const delegating = [...work.actions.values()].findLast(
      ({ head, span }) => head.kind === "delegate" && span !== undefined,
    );
    const parent = (isOwn ? undefined : delegating?.span) ?? work.span;
    work.taskCount += 1;
    const span =
      isOwn && !isTask
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
          });
    const task = { span, turns: new Map(), attempt: undefined, attempts: 0, crash: "_OTHER" };
    work.tasks.set(taskId, task);
    return task;
  }

  #startTurn(event: TurnStarted, startedAt: number): void {
    const { work: ref, turnId, sessionId, modelId, purpose, retry, attempt } = event;
    const task = this.#taskOf(ref, startedAt);
    const parent = this.#innermost(ref) ?? task.span;
    const attributes = {
      "agent_jobs.purpose": purpose,
      "agent_jobs.retry": retry,
      "agent_jobs.attempt": attempt,
    };
    const key = `${parent.place} ${purpose} ${retry} ${attempt}`;
    if (task.attempt?.key !== key) {
      endAttempt(task);
      task.attempts += 1;
      const place = `${task.span.place}/attempt/${task.attempts}`;
      const head = { place, name: `attempt ${purpose}`, startedAt, attributes };
      task.attempt = { key, span: parent.open({ ...head, endsAt: startedAt }) };
    }
    const span = task.attempt.span.open({
      place: `turn/${turnId}`,
      name: `turn ${purpose}`,
      startedAt,
      attributes: {
        ...attributes,
        "agent_jobs.outcome": "canceled",
        "gen_ai.conversation.id": sessionId,
        "gen_ai.request.model": modelId,
      },
    });
    task.turns.set(turnId, new TurnSpans(this.#run, span, event));
  }

  #innermost(ref: WorkRef): OpenSpan | undefined {
    return [...(this.#works.get(workKey(ref))?.steps.values() ?? [])].at(-1);
  }

  #startStep(
    { work: ref, step, file, activity, hit, input, restored }: StepStarted,
    startedAt: number,
  ): void {
    // Nothing is done.
    if (restored === true) return;
    const work = this.#workOf(ref, startedAt);
    const span = (this.#innermost(ref) ?? work.span).open({
      place: `${work.span.place}/step/${step}`,
      name: `activity ${activity}`,
      startedAt,
      attributes: {
        "agent_jobs.workflow.file": file,
        "agent_jobs.activity": activity,
        "agent_jobs.activity.hit": hit,
        "agent_jobs.activity.kind": input?.kind,
      },
    });
    work.steps.set(step, span);
  }

  /** Standing actions ("trap cards") have no span. */
  #applyAction({ work: ref, action: event }: Acted, at: number): void {
    const { actions } = this.#works.get(workKey(ref)) ?? {};
    const task = this.#taskIn(ref);
    const { type } = event;
    if (actions === undefined || task === undefined) return;
    if (type !== "action.waiting" && type !== "action.started" && type !== "action.ended") return;
    const placeOf = (id: string): string => `${task.span.place}/action/${event.iteration}/${id}`;
    const place = placeOf(event.id);
    if (type === "action.waiting") return void actions.set(place, { head: event, span: undefined });
    const action = actions.get(place);
    if (action === undefined) return;
    const { group } = action.head;
    const above = group === undefined ? undefined : actions.get(placeOf(group))?.span;
    const span = (action.span ??= (above ?? task.attempt?.span ?? task.span).open(
      actionHead(action.head, place, at),
    ));
    if (type === "action.started")
      return span.set(this.#run.content({ "gen_ai.tool.call.arguments": event.params }));
    actions.delete(place);
    const { status, output, reason } = event;
    span.end(at, {
      attributes: {
        "agent_jobs.outcome": status,
        ...this.#run.content({ "gen_ai.tool.call.result": output }),
      },
      ...((status === "failed" || status === "timed_out") && { error: status, reason }),
    });
  }

  #decide(ref: WorkRef | null, decision: Decision, at: number): void {
    const work = ref === null ? undefined : this.#works.get(workKey(ref));
    if (ref === null || work === undefined) return this.#root.decide(decision, at);
    const task = work.tasks.get(ref.taskId);
    (this.#innermost(ref) ?? task?.span ?? work.span).decide(decision, at);
    if (task === undefined) return;
    switch (decision.kind) {
      case "session-crashed":
        task.crash = decision.crash.cause;
        return;
      case "criteria-retry":
        return this.#countRetry(ref, "criteria");
      case "further-attempt":
        return this.#countRetry(ref, task.crash);
      case "task-succeeded":
      case "task-failed": {
        if (this.#isOwn(ref)) return;
        work.tasks.delete(ref.taskId);
        const failed = decision.kind === "task-failed";
        return task.span.endAll(at, failed ? { error: "failed", reason: decision.reason } : {});
      }
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

/** It ends with its last turn. */
function endAttempt(task: TaskSpans): void {
  task.attempt?.span.end(0);
  task.attempt = undefined;
}

/** A condition that does not hold is an answer, not an error. */
function endOf(
  { planned }: WorkSpans,
  outcome: Extract<RunEvent, { type: "work.ended" }>["outcome"],
): SpanEnd {
  const attributes = { "agent_jobs.outcome": outcome.kind };
  if (outcome.kind === "crashed")
    return { attributes, error: outcome.crash.cause, reason: outcome.crash.message };
  const isAnswer = planned?.condition === true && !("unanswered" in outcome);
  if (outcome.kind !== "failed" || isAnswer) return { attributes };
  return { attributes, error: "failed", reason: outcomeReason(outcome) };
}

function actionHead(
  { id, iteration, action, kind, execution }: ActionWaiting,
  place: string,
  startedAt: number,
): Parameters<OpenSpan["open"]>[0] {
  const isTool = kind === "tool";
  return {
    place,
    name: `${isTool ? "execute_tool" : `action ${kind}`} ${action}`,
    startedAt,
    attributes: {
      ...(isTool && toolAttributes(action)),
      "agent_jobs.action.id": id,
      "agent_jobs.action.kind": kind,
      "agent_jobs.action.execution": execution,
      "agent_jobs.action.iteration": iteration,
    },
  };
}

/**
 * The trace of one run: run > agent > turn > model calls and tool calls. A workflow has its activities between itself
 * and the turns. Each span is handed over when it has ended, children before their parents.
 */
import type { Attributes } from "@opentelemetry/api";
import type { ActionWaiting } from "../../events/action.ts";
import {
  decisionOf,
  type Acted,
  type RunEvent,
  type TurnStarted,
  type WorkRef,
  type StepStarted,
} from "../../events/event.ts";
import type { Decision } from "../../events/decision.ts";
import { workKey } from "../../events/plan.ts";
import { delegateIn, outcomeReason, type RunView } from "../../events/view.ts";
import {
  contentOf,
  Span,
  type Instruments,
  type SpanEnd,
  type SpanHead,
  type TracedRun,
  type TraceOptions,
} from "./span.ts";
import { parseTraceparent } from "./settings.ts";
import { toolAttributes, toolDuration, TurnSpans, usageOf } from "./turn-spans.ts";

/** The spans of one iteration of a work. */
interface WorkSpans {
  /** An agent, a workflow or a command. A workflow that is the whole job has the span of the run. */
  readonly span: Span;
  /** Its own task, and those that run on behalf of its actions. */
  readonly tasks: Map<string, TaskSpans>;
  /** Activities of a workflow that are under way, the innermost last. */
  readonly steps: Map<number, Span>;
  /** Actions that wait, without a span, or run. */
  readonly actions: Map<string, { readonly head: ActionWaiting; span?: Span }>;
}

interface TaskSpans {
  readonly span: Span;
  readonly turns: Map<string, TurnSpans>;
  crash: string;
}

export class Trace {
  readonly #run: TracedRun;
  readonly #root: Span;
  readonly #works = new Map<string, WorkSpans>();
  #jobName = "";

  /** `first`: the first event of the run, which `apply` gets, too. */
  constructor(first: RunEvent, options: TraceOptions, sdk: Instruments) {
    const started = first.type === "run.started" ? first : undefined;
    this.#run = { runId: first.runId, options, sdk, calls: new Set() };
    this.#jobName = started?.jobName ?? "";
    const head = agentHead("invoke_workflow", this.#jobName);
    this.#root = new Span(this.#run, {
      name: head.name.trim(),
      // The run that it continues has sent its own spans.
      startedAt: first.at + (started?.resumed?.milliseconds ?? 0),
      links: started?.links?.flatMap((link) => parseTraceparent(link) ?? []),
      measured: head.measured,
      attributes: {
        ...head.attributes,
        "agent_jobs.run.id": first.runId,
        "agent_jobs.version": started?.version,
        "agent_jobs.rehearsed": started?.rehearsed,
        "agent_jobs.entry.file": started?.entryFile,
        "agent_jobs.entry.fingerprint": started?.entryFingerprint,
        ...contentOf(this.#run, { "agent_jobs.user_input": started?.userInput }),
      },
    });
  }

  apply(event: RunEvent, view: RunView): void {
    this.#applyItself(event, view);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decide(decided.work, decided.decision, event.at, view);
  }

  /** Ends what is under way: nothing of the run follows. */
  end(at: number, end: SpanEnd = {}): void {
    for (const { tasks } of this.#works.values())
      for (const { turns } of tasks.values())
        for (const turn of turns.values()) turn.end("canceled", at);
    this.#root.endAll(at, end);
  }

  #applyItself(event: RunEvent, view: RunView): void {
    const { at } = event;
    switch (event.type) {
      case "run.ended": {
        const { outcome } = event;
        const attributes = { "agent_jobs.outcome": outcome.kind };
        const isFailure = outcome.kind === "failed";
        this.end(at, { attributes, ...(isFailure && { error: "failed", reason: outcome.reason }) });
        const of = { "agent_jobs.job.name": this.#jobName, ...attributes };
        return this.#run.sdk.measure("agent_jobs.runs", 1, of);
      }
      case "work.started":
        if (isOwn(event.work, view)) this.#taskOf(event.work, at, view);
        return;
      case "work.ended": {
        const key = workKey(event.work);
        const work = this.#works.get(key);
        if (work === undefined || !isOwn(event.work, view)) return;
        this.#works.delete(key);
        const end = endOf(event, view);
        const spans = [work.span, ...[...work.tasks.values()].map(({ span }) => span)];
        for (const span of spans.toReversed()) if (span !== this.#root) span.endAll(at, end);
        return;
      }
      case "session.started":
        if (this.#works.has(workKey(event.work))) this.#taskOf(event.work, at, view);
        return;
      case "turn.started":
        return this.#startTurn(event, at, view);
      case "turn.ended": {
        const turns = this.#taskIn(event.work)?.turns;
        turns?.get(event.turnId)?.end(event.outcome, at);
        turns?.delete(event.turnId);
        return;
      }
      case "activity": {
        const { work, turnId, activity } = event;
        const task = this.#taskIn(work);
        if (activity.kind === "model.used")
          for (const span of new Set([this.#root, task?.span])) span?.add(usageOf(activity));
        if (activity.kind === "tool.started") task?.span.add({ "agent_jobs.tool_calls": 1 });
        return task?.turns.get(turnId)?.apply(activity, at);
      }
      case "step.started":
        return this.#startStep(event, at, view);
      case "step.ended": {
        const { steps } = this.#works.get(workKey(event.work)) ?? {};
        const span = steps?.get(event.step);
        steps?.delete(event.step);
        return span?.end(at, event.succeeded ? {} : { error: "failed", reason: event.reason });
      }
      case "action":
        return this.#applyAction(event, at);
      default:
        return;
    }
  }

  #workOf(ref: WorkRef, at: number, view: RunView): WorkSpans {
    const key = workKey(ref);
    const known = this.#works.get(key);
    if (known !== undefined) return known;
    const { workId, iteration, item, itemIndex } = ref;
    const { taskId = ref.taskId, condition, flow, modelId = "" } = view.works.get(workId) ?? {};
    const head =
      flow !== undefined
        ? agentHead("invoke_workflow", taskId)
        : modelId === ""
          ? { name: `command ${taskId}` }
          : agentHead("invoke_agent", taskId, modelId);
    const isWholeJob = flow !== undefined && taskId === this.#jobName;
    const span = isWholeJob ? this.#root : this.#root.open({ ...head, startedAt: at });
    span.set({
      "agent_jobs.work.id": workId,
      "agent_jobs.work.iteration": iteration,
      "agent_jobs.item.index": itemIndex,
      "agent_jobs.condition": condition === true ? true : undefined,
      ...contentOf(this.#run, { "agent_jobs.item": item }),
    });
    const work = { span, tasks: new Map(), steps: new Map(), actions: new Map() };
    this.#works.set(key, work);
    return work;
  }

  #taskIn(ref: WorkRef): TaskSpans | undefined {
    return this.#works.get(workKey(ref))?.tasks.get(ref.taskId);
  }

  #taskOf(ref: WorkRef, at: number, view: RunView): TaskSpans {
    const work = this.#workOf(ref, at, view);
    const { taskId } = ref;
    const known = work.tasks.get(taskId);
    if (known !== undefined) return known;
    const delegating = [...work.actions.values()].findLast(
      ({ head, span }) => head.kind === "delegate" && span !== undefined,
    );
    const span = isOwn(ref, view)
      ? work.span
      : (delegating?.span ?? work.span).open({
          ...agentHead("invoke_agent", taskId),
          startedAt: at,
        });
    const task = { span, turns: new Map(), crash: "_OTHER" };
    work.tasks.set(taskId, task);
    return task;
  }

  #startTurn(event: TurnStarted, startedAt: number, view: RunView): void {
    const { work: ref, turnId, sessionId, modelId, purpose, retry, attempt } = event;
    const task = this.#taskOf(ref, startedAt, view);
    const span = (this.#innermost(ref) ?? task.span).open({
      name: `turn ${purpose}`,
      startedAt,
      attributes: {
        "agent_jobs.purpose": purpose,
        "agent_jobs.retry": retry,
        "agent_jobs.attempt": attempt,
        "agent_jobs.outcome": "canceled",
        "gen_ai.conversation.id": sessionId,
        "gen_ai.request.model": modelId,
      },
    });
    task.turns.set(turnId, new TurnSpans(this.#run, span, event));
  }

  #innermost(ref: WorkRef): Span | undefined {
    return [...(this.#works.get(workKey(ref))?.steps.values() ?? [])].at(-1);
  }

  #startStep(event: StepStarted, startedAt: number, view: RunView): void {
    const { work: ref, step, file, activity, hit, input, restored } = event;
    // A restored step does nothing.
    if (restored === true) return;
    const work = this.#workOf(ref, startedAt, view);
    const span = (this.#innermost(ref) ?? work.span).open({
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
    const keyOf = (id: string): string => `${task.span.place} ${event.iteration} ${id}`;
    const key = keyOf(event.id);
    if (type === "action.waiting") return void actions.set(key, { head: event });
    const action = actions.get(key);
    if (action === undefined) return;
    const { group = "" } = action.head;
    const above = actions.get(keyOf(group))?.span ?? this.#innermost(ref) ?? task.span;
    const span = (action.span ??= above.open({
      name: `${action.head.kind === "tool" ? "execute_tool" : `action ${action.head.kind}`} ${action.head.action}`,
      startedAt: at,
      measured:
        action.head.kind === "tool" ? toolDuration(action.head.action, ref.taskId) : undefined,
      attributes: actionAttributes(action.head),
    }));
    if (type === "action.started")
      return span.set(contentOf(this.#run, { "gen_ai.tool.call.arguments": event.params }));
    actions.delete(key);
    const { status, output, reason } = event;
    span.end(at, {
      attributes: {
        "agent_jobs.outcome": status,
        ...contentOf(this.#run, { "gen_ai.tool.call.result": output }),
      },
      ...((status === "failed" || status === "timed_out") && { error: status, reason }),
    });
  }

  #decide(ref: WorkRef | null, decision: Decision, at: number, view: RunView): void {
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
        if (isOwn(ref, view)) return;
        work.tasks.delete(ref.taskId);
        const isFailure = decision.kind === "task-failed";
        return task.span.endAll(at, isFailure ? { error: "failed", reason: decision.reason } : {});
      }
      default:
        return;
    }
  }

  #countRetry({ taskId }: WorkRef, cause: string): void {
    this.#run.sdk.measure("agent_jobs.retries", 1, {
      "agent_jobs.job.name": this.#jobName,
      "gen_ai.agent.name": taskId,
      "agent_jobs.retry.cause": cause,
    });
  }
}

/** False for a task that is run on behalf of an action. */
function isOwn(ref: WorkRef, view: RunView): boolean {
  const work = view.works.get(ref.workId);
  return work === undefined || delegateIn(work, ref) === undefined;
}

/** A condition that does not hold is an answer, not an error. */
function endOf(
  { work, outcome }: Extract<RunEvent, { type: "work.ended" }>,
  view: RunView,
): SpanEnd {
  const attributes = { "agent_jobs.outcome": outcome.kind };
  const reason = outcomeReason(outcome);
  if (outcome.kind === "crashed") return { attributes, error: outcome.crash.cause, reason };
  const isCondition = view.works.get(work.workId)?.condition === true;
  const isAnswer = isCondition && !("unanswered" in outcome);
  return outcome.kind === "failed" && !isAnswer
    ? { attributes, error: "failed", reason }
    : { attributes };
}

function agentHead(
  operation: "invoke_agent" | "invoke_workflow",
  name: string,
  model?: string,
): Pick<SpanHead, "name" | "attributes" | "measured"> {
  const attributes = {
    "gen_ai.operation.name": operation,
    "gen_ai.agent.name": name,
    ...(model && { "gen_ai.request.model": model }),
  };
  const counts = operation === "invoke_agent" ? callsOfAgent : {};
  return {
    name: `${operation} ${name}`,
    attributes,
    measured: { duration: "gen_ai.invoke_agent.duration", counts, attributes },
  };
}

const callsOfAgent = {
  "gen_ai.invoke_agent.inference_calls": "agent_jobs.model_calls",
  "gen_ai.invoke_agent.tool_calls": "agent_jobs.tool_calls",
};

function actionAttributes(head: ActionWaiting): Attributes {
  return {
    ...(head.kind === "tool" && toolAttributes(head.action)),
    "agent_jobs.action.id": head.id,
    "agent_jobs.action.kind": head.kind,
    "agent_jobs.action.execution": head.execution,
    "agent_jobs.action.iteration": head.iteration,
  };
}

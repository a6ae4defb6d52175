/** One run of one task: availability, prompt, criteria, retries (statements 8–14 of `docs/internals/engine.md`). */
import type { Command, ExpandedPrompt, PreparedTask } from "../entry/model.ts";
import { commandName } from "../entry/work.ts";
import type { AvailabilityField, CriteriaField } from "../events/decision.ts";
import { errorToDetailedString } from "../events/crash.ts";
import type { WorkOutcome } from "../events/event.ts";
import { onAbort } from "../platform/waiting.ts";
import { CallBudget } from "./budgets.ts";
import {
  calledVerdict,
  continuePrompt,
  isProven,
  judgeChange,
  judgeCondition,
  judgeFiles,
  judgePreviousTask,
  missingTools,
  prerequisiteFailure,
  retryPrompt,
  verdictTools,
  withCallAdvice,
  type FailedChecks,
  type Verdict,
} from "./criteria.ts";
import type { DelegateEnd, DelegateRequest, Judged, RoundEnd } from "./dialogue.ts";
import { Given } from "./job-data.ts";
import { jobTools } from "./job-tools.ts";
import { startDeadline } from "./limits.ts";
import { jobToolsFor } from "./open-session.ts";
import { failedAs, reasonOf, stopOf, stoppedAs, stopText } from "./scope.ts";
import { modelOf } from "./plan.ts";
import { runCommand, type FailedCommand } from "./run-command.ts";
import { decide, type JobContext, type TaskContext, type TaskInput } from "./task-context.ts";
import { TaskPrompts, type Answer } from "./task-prompts.ts";

interface TaskEnd extends Answer {
  readonly outcome: WorkOutcome;
  /** The answer of a task with a dialogue is its report. */
  readonly isReport: boolean;
}

/** Never throws. The caller disposes of the scope. */
export async function runTask(job: JobContext, input: TaskInput): Promise<TaskEnd> {
  const context = await contextOf(job, input);
  const { data, deadline, given, work, startDialogue } = context;
  const prompts = new TaskPrompts(context);
  const result = checkAvailability(context, prompts)
    .then((unavailable) => unavailable ?? runRounds(context, prompts))
    .catch(internalCrash);
  const outcome = settle(context, await result);
  deadline.end();
  if (outcome.kind === "succeeded") decide(context, { kind: "task-succeeded" });
  if (outcome.kind === "skipped") decide(context, { kind: "task-skipped", reason: outcome.reason });
  if (outcome.kind === "failed") decide(context, { kind: "task-failed", reason: outcome.reason });
  if (outcome.kind === "crashed")
    decide(context, { kind: "task-failed", reason: `crashed: ${outcome.crash.message}` });
  await prompts.end(outcome.kind === "succeeded");
  if (outcome.kind !== "canceled") data.keep(work, given);
  const { text = "" } = prompts.answer;
  return { outcome, ...prompts.answer, isReport: text !== "" && startDialogue !== undefined };
}

async function contextOf(job: JobContext, input: TaskInput): Promise<TaskContext> {
  const { spec, ports, data } = job;
  const { limits, dialogues = {} } = spec;
  const { work, modelId, scope, userInput, previousResult, around } = input;
  const { taskId } = work;
  const task = spec.entry.tasks[taskId];
  if (task === undefined) throw new Error(`There is no task "${taskId}" in the entry.`);
  const given = new Given();
  const isMultiple =
    input.borrowed === undefined && task.criteria?.runConditionInSameSession === false;
  const variables = data.variables(work, { userInput, taskModel: modelId, previousResult });
  const tools = jobTools({ ...job, task, work, given });
  const isChanged = await watch(job, task);
  const dialogue = Object.hasOwn(dialogues, taskId) ? dialogues[taskId] : undefined;
  const context: TaskContext = {
    ...job,
    ...input,
    task,
    limits,
    isMultiple,
    variables,
    calls: new CallBudget(limits, scope),
    deadline: startDeadline(ports.clock, limits, "taskMinutes", scope, 0, around),
    given,
    jobTools: tools,
    isChanged,
    startDialogue:
      dialogue &&
      (() =>
        dialogue.start({
          work,
          jobTools: [
            ...verdictTools(jobToolsFor(isMultiple ? "task" : "both", task, variables)),
            ...tools,
          ],
          depth: input.depth,
          scope,
          permissions: spec.permissionsOf(taskId),
          workingDirectory: spec.workingDirectory,
          clock: ports.clock,
          emit: (action) => ports.emit({ type: "action", work, action }),
          decide: (decision) => decide(context, decision),
          delegate: (request, signal) => delegate(job, context, request, signal),
        })),
  };
  return context;
}

/** Tells whether a file of `criteria.changed` differs from now. */
async function watch(
  { spec }: JobContext,
  { criteria }: PreparedTask,
): Promise<() => Promise<boolean>> {
  const { changed } = criteria ?? {};
  try {
    const watched = changed && (await spec.workspace?.watch(changed));
    return watched ?? (() => Promise.reject(new Error("nothing watches them")));
  } catch (error) {
    return () => Promise.reject(error);
  }
}

/** Runs as a part of the step: with limits of its own and the budgets of the job. Its crash is a failure. */
async function delegate(
  job: JobContext,
  { work, depth, deadline }: TaskContext,
  { taskId, input }: DelegateRequest,
  signal: AbortSignal,
): Promise<DelegateEnd> {
  const { spec, jobScope, lastErrors } = job;
  const scope = jobScope.child();
  const release = onAbort(signal, () => scope.stop({ kind: "canceled", reason: "canceled" }));
  const { outcome, text, document } = await runTask(job, {
    work: { ...work, taskId },
    scope,
    modelId: modelOf(spec.entry, taskId, undefined),
    userInput: input,
    previousTask: work.taskId,
    depth: depth + 1,
    around: deadline,
  });
  release();
  // The limit that ends the job names it.
  if (jobScope.stopped === undefined) lastErrors.note(scope, undefined);
  scope.dispose();
  return outcome.kind === "succeeded"
    ? { kind: "succeeded", text: text ?? "", document }
    : { kind: "failed", reason: reasonOf(outcome), text };
}

type Result = WorkOutcome | Unserved;

/** A bug in agent-jobs, or a session that breaks its contract: converted once, here. */
function internalCrash(error: unknown): Result {
  const message = error instanceof Error ? error.message : String(error);
  const crash = { cause: "internal", message, detail: errorToDetailedString(error) } as const;
  return { kind: "crashed", crash };
}

/** A stop wins over the failure that it may have caused; a limit of the task's own is a failure. */
function settle(context: TaskContext, result: Result): WorkOutcome {
  const { scope, lastErrors } = context;
  const stopped = stopOf(scope, lastErrors.of(scope));
  if (result.kind === "succeeded" || (result.kind !== "canceled" && stopped === undefined))
    return result;
  const isOwn = stopped?.kind === "limit" && /^(?:taskMinutes|modelCalls)$/.test(stopped.limit);
  if (!isOwn) return stoppedAs(stopped);
  const of = { kind: "task", taskId: context.work.taskId } as const;
  decide(context, { ...stopped, kind: "limit-exceeded", scope: of });
  return failedAs(stopText(stopped), false);
}

/** Statement 10. Undefined when the task may run. */
async function checkAvailability(
  context: TaskContext,
  prompts: TaskPrompts,
): Promise<Result | undefined> {
  const { availability } = context.task;
  if (availability === undefined || context.ignoresAvailability === true) return undefined;
  const { change, previousTasks, condition } = availability;
  if (change !== undefined) {
    const verdict = judgeChange(change, context.spec.change?.files);
    if (verdict.kind !== "holds") return { kind: "skipped", reason: verdict.reason };
    available(context, verdict);
  }
  if (previousTasks !== undefined) {
    const end = available(context, judgePreviousTask(previousTasks, context.previousTask));
    if (end !== undefined) return end;
  }
  if (condition === undefined) return undefined;
  const asked = await askCondition(prompts, "availability", condition, 0);
  return "field" in asked ? available(context, asked) : asked;
}

function available(
  context: TaskContext,
  { kind, ...check }: Verdict<AvailabilityField>,
): Result | undefined {
  const { reason } = check;
  const holds = kind === "holds";
  decide(context, { kind: holds ? "availability-passed" : "availability-failed", ...check });
  if (holds) return undefined;
  decide(context, { kind: "task-unavailable", reason });
  return failedAs(`not available: ${withCallAdvice(reason)}`, kind === "fails");
}

type Unserved = Extract<RoundEnd, { kind: "crashed" | "canceled" }>;

async function askCondition(
  prompts: TaskPrompts,
  purpose: "availability" | "criteria",
  prompt: ExpandedPrompt,
  retry: number,
): Promise<Verdict<"condition"> | Unserved> {
  const end = await prompts.condition(purpose, prompt, retry);
  if (end.kind === "failed") throw new Error("A condition is no dialogue.");
  if (end.kind !== "completed") return end;
  const verdict = judgeCondition(purpose, prompt[0], end);
  return (await prompts.served("driving", verdict.kind === "holds")) ?? verdict;
}

async function runRounds(context: TaskContext, prompts: TaskPrompts): Promise<Result> {
  const { task } = context;
  let check = await runRound(context, prompts, task.prompt, 0);
  if (check.kind === "crashed") return check;
  const of = task.criteria?.failureAction.retryTimes ?? 0;
  let failed: FailedChecks = {};
  let reason = "";
  for (let retry = 0; ; retry += 1) {
    if (check.kind === "canceled") return check;
    // A session that was lent is not replaced: after its crash there is none to go on in.
    if (check.kind === "crashed" && context.borrowed !== undefined) return check;
    if (check.kind === "holds") return { kind: "succeeded" };
    if (check.kind === "ended") return failedAs(check.reason, false);
    if (check.kind === "fails") ({ failed, reason } = check);
    else reason = `the session crashed: ${check.crash.message}`;
    if (retry === of) break;
    context.variables.missCriteria(reason);
    decide(context, { kind: "criteria-retry", retry: retry + 1, of, reason });
    // A crash in here is a failed retry: attempts and retries have separate budgets.
    check = await runRound(context, prompts, retryPrompt(task, failed), retry + 1);
  }
  decide(context, { kind: "retries-exhausted", retries: of, reason });
  // The last round decides: a verdict is an answer whatever crashed before it.
  const answer = check.kind === "fails" && check.answer;
  return failedAs(`criteria not met: ${withCallAdvice(reason)}`, answer);
}

type Check =
  | { readonly kind: "holds" }
  | {
      readonly kind: "fails";
      readonly failed: FailedChecks;
      readonly reason: string;
      readonly answer: boolean;
    }
  | { readonly kind: "ended"; readonly reason: string }
  | Unserved;

/** Statement 7a: after an empty answer, the same session is asked once to go on, unless the task is done. */
async function runRound(
  context: TaskContext,
  prompts: TaskPrompts,
  prompt: ExpandedPrompt,
  retry: number,
): Promise<Check> {
  const { task } = context;
  let end = await prompts.round(prompt, retry);
  let check: Check | undefined;
  if (end.kind === "completed" && end.empty === true) {
    const early = await judge(context, prompts, end, retry);
    const isDone = early.kind === "holds" ? isProven(task, end.toolCalls) : early.kind !== "fails";
    if (isDone) check = early;
    else {
      const text = continuePrompt(early.kind === "fails" ? early.failed : {});
      end = await prompts.askToContinue(end, prompt, retry, text);
    }
  }
  if (end.kind !== "completed" && end.kind !== "failed") return end;
  // Judges the session that got the prompt. Later checks serve another purpose.
  const isGood =
    end.kind === "completed" &&
    end.fault === undefined &&
    prerequisiteFailure(task, end.toolCalls) === undefined &&
    missingTools(task.criteria?.toolExecuted ?? [], end.toolCalls).length === 0;
  const stopped = await prompts.served("task", isGood);
  return check ?? stopped ?? judge(context, prompts, end, retry);
}

async function judge(
  context: TaskContext,
  prompts: TaskPrompts,
  end: Exclude<RoundEnd, Unserved>,
  retry: number,
): Promise<Check> {
  if (end.kind === "failed") return { kind: "ended", reason: end.reason };
  const { criteria } = context.task;
  const impossible = prerequisiteFailure(context.task, end.toolCalls);
  if (impossible !== undefined) return { kind: "ended", reason: impossible };
  if (criteria !== undefined) return checkCriteria(context, prompts, criteria, end, retry);
  return end.fault === undefined ? { kind: "holds" } : { kind: "ended", reason: end.fault };
}

/** Statement 11: one check after the other, as long as they hold; the condition last. */
async function checkCriteria(
  context: TaskContext,
  prompts: TaskPrompts,
  criteria: NonNullable<PreparedTask["criteria"]>,
  { toolCalls, fault, text }: Judged,
  retry: number,
): Promise<Check> {
  const { toolExecuted, changed, commands, result, condition } = criteria;
  const missing = missingTools(toolExecuted ?? [], toolCalls);
  if (fault !== undefined)
    return { kind: "fails", failed: { missing }, reason: fault, answer: false };
  let check: Check = { kind: "holds" };
  if (toolExecuted !== undefined) {
    const where = context.startDialogue === undefined ? "in the last turn" : "since the last retry";
    const reason = `not called successfully ${where}: ${missing.join(", ")}`;
    const content = JSON.stringify(toolExecuted);
    const verdict = calledVerdict({ missing, reason, text, otherwise: "all tools were called" });
    check = checked(context, { ...verdict, field: "toolExecuted", content }, verdict.failed);
  }
  if (check.kind === "holds" && changed !== undefined) {
    const verdict = await judgeFiles(changed, context.isChanged);
    check = checked(context, verdict, { unchanged: changed });
  }
  if (check.kind === "holds" && commands !== undefined)
    check = await checkCommands(context, commands);
  if (check.kind === "holds" && result !== undefined) {
    // It may have been handed in in any round.
    const isGiven = context.given.last("result.given") !== undefined;
    const reason = "job_result was not called with a result that fits";
    const content = JSON.stringify(result);
    const missing = isGiven ? [] : ["job_result"];
    const verdict = calledVerdict({ missing, reason, text, otherwise: "job_result was called" });
    check = checked(context, { ...verdict, field: "result", content }, verdict.failed);
  }
  if (check.kind === "holds" && condition !== undefined) {
    const asked = await askCondition(prompts, "criteria", condition, retry);
    check = "field" in asked ? checked(context, asked, {}) : asked;
  }
  return check;
}

function checked(
  context: TaskContext,
  { kind, field, content, reason }: Verdict<CriteriaField>,
  failed: FailedChecks,
): Check {
  const holds = kind === "holds";
  decide(context, { kind: holds ? "criteria-passed" : "criteria-failed", field, content, reason });
  return holds ? { kind } : { kind: "fails", failed, reason, answer: kind === "fails" };
}

async function checkCommands(context: TaskContext, all: readonly Command[]): Promise<Check> {
  const commands: FailedCommand[] = [];
  for (const command of all) {
    const end = await runCommand(context, context, command);
    if (end.kind === "stopped") return { kind: "canceled" };
    if (end.kind === "failed") commands.push(end);
  }
  const content = JSON.stringify(all.map(commandName));
  const passed = all.length === 1 ? "the command passed" : "all commands passed";
  const failed = commands.map(({ name, how }) => `${name} failed (${how})`).join("; ");
  const answer = commands.every((one) => one.answer) ? "fails" : "void";
  const kind = commands.length === 0 ? "holds" : answer;
  const verdict = { kind, field: "commands", content, reason: failed || passed } as const;
  return checked(context, verdict, { commands });
}

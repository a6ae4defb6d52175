/** One run of one task: availability, prompt, criteria, retries (statements 8–14 of `docs/internals/engine.md`). */
import type { AvailabilityField, CriteriaField } from "../events/decision.ts";
import { errorToDetailedString } from "../events/error-detail.ts";
import type { Command, ExpandedPrompt, PreparedTask } from "../entry/model.ts";
import { commandName } from "../entry/work.ts";
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
  withCallAdvice,
  type FailedChecks,
  type FailedCommand,
  type Verdict,
} from "./criteria.ts";
import { startDeadline } from "./limits.ts";
import { stopOf, stoppedAs, type TaskOutcome } from "./outcome.ts";
import type { Judged, RoundEnd } from "./dialogue.ts";
import { runCommand } from "./run-command.ts";
import { stopText } from "./scope.ts";
import { decide, type TaskContext } from "./task-context.ts";
import { TaskPrompts, type Answer } from "./task-prompts.ts";

type PreparedCriteria = NonNullable<PreparedTask["criteria"]>;

export interface AvailabilityInput {
  readonly previousTask: string | undefined;
  readonly skip: boolean;
}

/** Never throws. The caller disposes of the scope. */
export async function runTask(
  context: TaskContext,
  availability: AvailabilityInput,
): Promise<{ readonly outcome: TaskOutcome; readonly answer: Answer }> {
  const { scope, spec, ports, around } = context;
  const deadline = startDeadline(ports.clock, spec.limits, "taskMinutes", scope, 0, around);
  const prompts = new TaskPrompts(context, deadline);
  const outcome = settle(context, await runPhases(context, prompts, availability));
  deadline.end();
  if (outcome.kind === "succeeded") decide(context, { kind: "task-succeeded" });
  if (outcome.kind === "skipped") decide(context, { kind: "task-skipped", reason: outcome.reason });
  if (outcome.kind === "failed") decide(context, { kind: "task-failed", reason: outcome.reason });
  if (outcome.kind === "crashed") {
    decide(context, { kind: "task-failed", reason: `crashed: ${outcome.crash.message}` });
  }
  await prompts.end(outcome.kind === "succeeded");
  return { outcome, answer: prompts.answer };
}

type Result = TaskOutcome | { readonly kind: "canceled" };

/** A stop wins over the failure that it may have caused; a limit of the task's own is a failure. */
function settle(context: TaskContext, result: Result): TaskOutcome {
  const { scope, lastErrors } = context;
  const stopped = stopOf(scope, lastErrors.of(scope));
  if (result.kind !== "canceled" && (stopped === undefined || result.kind === "succeeded")) {
    return result;
  }
  if (
    stopped?.kind === "limit" &&
    (stopped.limit === "taskMinutes" || stopped.limit === "modelCalls")
  ) {
    const of = { kind: "task", taskId: context.work.taskId } as const;
    decide(context, { ...stopped, kind: "limit-exceeded", scope: of });
    return { kind: "failed", reason: stopText(stopped), answer: false };
  }
  return stoppedAs(stopped);
}

async function runPhases(
  context: TaskContext,
  prompts: TaskPrompts,
  availability: AvailabilityInput,
): Promise<Result> {
  try {
    return (
      (await checkAvailability(context, prompts, availability)) ??
      (await runPrompt(context, prompts))
    );
  } catch (error) {
    // A bug in agent-jobs, or a session that breaks its contract: converted once, here.
    const message = error instanceof Error ? error.message : String(error);
    return {
      kind: "crashed",
      crash: { cause: "internal", message, detail: errorToDetailedString(error) },
    };
  }
}

/** Statement 10. Undefined when the task may run. */
async function checkAvailability(
  context: TaskContext,
  prompts: TaskPrompts,
  { previousTask, skip }: AvailabilityInput,
): Promise<Result | undefined> {
  const { availability } = context.task;
  if (availability === undefined || skip) return undefined;
  const { change, previousTasks, condition } = availability;
  if (change !== undefined) {
    const verdict = judgeChange(change, context.spec.change?.files);
    if (verdict.kind !== "holds") return { kind: "skipped", reason: verdict.reason };
    available(context, verdict);
  }
  if (previousTasks !== undefined) {
    const end = available(context, judgePreviousTask(previousTasks, previousTask));
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
  const why = `not available: ${withCallAdvice(reason)}`;
  return { kind: "failed", reason: why, answer: kind === "fails" };
}

async function askCondition(
  prompts: TaskPrompts,
  purpose: "availability" | "criteria",
  prompt: ExpandedPrompt,
  retry: number,
): Promise<Verdict<"condition"> | Unserved> {
  const judge = (judged: Judged): Verdict<"condition"> =>
    judgeCondition(purpose, prompt[0], judged);
  const wentWell = (judged: Judged): boolean => judge(judged).kind === "holds";
  const end = await prompts.condition(purpose, { prompt, retry, wentWell });
  if (end.kind === "failed") throw new Error("A condition is no dialogue.");
  return end.kind === "completed" ? judge(end) : end;
}

type Unserved = Extract<RoundEnd, { kind: "crashed" | "canceled" }>;

async function runPrompt(context: TaskContext, prompts: TaskPrompts): Promise<Result> {
  const { task } = context;
  let check = await runRound(context, prompts, task.prompt, 0);
  if (check.kind === "crashed") return check;
  const of = task.criteria?.failureAction.retryTimes ?? 0;
  let failed: FailedChecks = {};
  let reason = "";
  for (let retry = 0; ; retry += 1) {
    if (check.kind === "canceled") return check;
    // A session that was lent is not replaced: after its crash there is none to go on in.
    if (check.kind === "crashed" && context.mode.kind === "borrowed") return check;
    if (check.kind === "holds") return { kind: "succeeded" };
    if (check.kind === "ended") return { kind: "failed", reason: check.reason, answer: false };
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
  return { kind: "failed", reason: `criteria not met: ${withCallAdvice(reason)}`, answer };
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

/** Judges the session that got the prompt. Later checks serve another purpose. */
function promptWentWell(task: PreparedTask): (judged: Judged) => boolean {
  return ({ toolCalls, fault }) =>
    fault === undefined &&
    prerequisiteFailure(task, toolCalls) === undefined &&
    missingTools(task.criteria?.toolExecuted ?? [], toolCalls).length === 0;
}

/** Statement 7a: after an empty answer, the same session is asked once to go on, unless the task is done. */
async function runRound(
  context: TaskContext,
  prompts: TaskPrompts,
  prompt: ExpandedPrompt,
  retry: number,
): Promise<Check> {
  const { task } = context;
  const round = { prompt, retry, wentWell: promptWentWell(task) };
  const end = await prompts.round(round);
  const check = await judge(context, prompts, end, retry);
  if (end.kind !== "completed" || end.empty !== true) return check;
  const fails = check.kind === "fails";
  if (fails || (check.kind === "holds" && !isProven(task, end.toolCalls))) {
    const text = continuePrompt(fails ? check.failed : {});
    return judge(context, prompts, await prompts.askToContinue(end, round, text), retry);
  }
  await prompts.served("task", end, round.wentWell);
  return check;
}

async function judge(
  context: TaskContext,
  prompts: TaskPrompts,
  end: RoundEnd,
  retry: number,
): Promise<Check> {
  if (end.kind === "failed") return { kind: "ended", reason: end.reason };
  if (end.kind !== "completed") return end;
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
  { toolExecuted, changed, commands, result, condition }: PreparedCriteria,
  { toolCalls, fault, text }: Judged,
  retry: number,
): Promise<Check> {
  const missing = missingTools(toolExecuted ?? [], toolCalls);
  if (fault !== undefined)
    return { kind: "fails", failed: { missing }, reason: fault, answer: false };
  let check: Check = { kind: "holds" };
  if (toolExecuted !== undefined) {
    const where = prompts.hasDialogue ? "since the last retry" : "in the last turn";
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
  if (holds) return { kind };
  return { kind: "fails", failed, reason, answer: kind === "fails" };
}

async function checkCommands(context: TaskContext, all: readonly Command[]): Promise<Check> {
  const commands: FailedCommand[] = [];
  for (const command of all) {
    const end = await runCommand(context.commands, command);
    if (end.kind === "stopped") return { kind: "canceled" };
    if (end.kind === "failed") commands.push(end);
  }
  const content = JSON.stringify(all.map(commandName));
  const passed = all.length === 1 ? "the command passed" : "all commands passed";
  const failed = commands.map(({ name, how }) => `${name} failed (${how})`).join("; ");
  const verdict = {
    kind:
      commands.length === 0 ? "holds" : commands.every(({ answer }) => answer) ? "fails" : "void",
    field: "commands",
    content,
    reason: failed === "" ? passed : failed,
  } as const;
  return checked(context, verdict, { commands });
}

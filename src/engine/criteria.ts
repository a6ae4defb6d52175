/** Judgements over the tool calls of a turn: pure, so that each rule reads like its statement. */
import type { AvailabilityField, CriteriaField } from "../events/decision.ts";
import type { PreparedTask } from "../entry/model.ts";
import type { ToolCall } from "./ports.ts";

export type Verdict<Field> =
  | {
      readonly kind: "holds";
      readonly field: Field;
      readonly content: string;
      readonly reason: string;
    }
  | {
      readonly kind: "fails";
      readonly field: Field;
      readonly content: string;
      readonly reason: string;
    };

/** Rule 10, first half: the task that finished last before this one must be in the list. */
export function judgePreviousTask(
  previousTasks: readonly string[],
  previousTask: string | undefined,
): Verdict<AvailabilityField> {
  const content = JSON.stringify(previousTasks);
  if (previousTask === undefined) {
    return {
      kind: "fails",
      field: "previousTasks",
      content,
      reason: "no task has finished before this one",
    };
  }
  return previousTasks.includes(previousTask)
    ? {
        kind: "holds",
        field: "previousTasks",
        content,
        reason: `the previous task was "${previousTask}"`,
      }
    : {
        kind: "fails",
        field: "previousTasks",
        content,
        reason: `the previous task was "${previousTask}", which is not in the list`,
      };
}

/**
 * A condition holds when `job_boolean_true` is the last of the two boolean tools of the turn. In an
 * availability check a call of `job_prerequisite_failed` is a failure, whatever else was called.
 */
export function judgeCondition<Field extends AvailabilityField | CriteriaField>(
  field: Field,
  mission: "availability" | "criteria",
  condition: string,
  toolCalls: readonly ToolCall[],
): Verdict<Field> {
  const content = JSON.stringify(condition);
  const succeeded = toolCalls.filter((call) => call.succeeded);
  const refused =
    mission === "availability"
      ? succeeded.findLast((call) => call.name === "job_prerequisite_failed")
      : undefined;
  if (refused !== undefined) {
    return {
      kind: "fails",
      field,
      content,
      reason: `job_prerequisite_failed was called: ${refused.argument ?? ""}`,
    };
  }
  const last = succeeded.findLast(
    (call) => call.name === "job_boolean_true" || call.name === "job_boolean_false",
  );
  if (last === undefined) {
    return {
      kind: "fails",
      field,
      content,
      reason: "neither job_boolean_true nor job_boolean_false was called",
    };
  }
  const reason = `${last.name} was called: ${last.argument ?? ""}`;
  return { kind: last.name === "job_boolean_true" ? "holds" : "fails", field, content, reason };
}

/** Rule 11: the tools of the list that the last turn of the task session did not run successfully. */
export function missingTools(
  toolExecuted: readonly string[],
  toolCalls: readonly ToolCall[],
): readonly string[] {
  const executed = new Set(toolCalls.filter((call) => call.succeeded).map((call) => call.name));
  return [...new Set(toolExecuted)].filter((tool) => !executed.has(tool));
}

/** Rule 12: what a retry sends. Parts are one empty line apart. */
export function retryPrompt(task: PreparedTask, missing: readonly string[]): readonly [string] {
  const parts = [task.prompt[0].replace(/(?:\r?\n)+$/, "")];
  if (missing.length > 0) parts.push(`## Required Tool Not Called: ${missing.join(", ")}`);
  const additional = task.criteria?.failureAction.additionalPrompt;
  if (additional !== undefined)
    parts.push(`## You accidentally Stopped\n${withoutEdges(additional[0])}`);
  return [parts.join("\n\n")];
}

/** Without the line breaks around it, which YAML's block text brings: between parts there is one empty line. */
function withoutEdges(text: string): string {
  return text.replace(/^(?:\r?\n)+|(?:\r?\n)+$/g, "");
}

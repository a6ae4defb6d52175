import { plural } from "../text/numbers.ts";
import { defined } from "../text/guards.ts";
import { defaultCommandMinutes, type Command } from "../entry/model.ts";
import { commandName } from "../entry/work.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import { startTimer } from "../platform/waiting.ts";
import { minutes } from "./limits.ts";
import type { Scope } from "./scope.ts";
import type { JobContext } from "./task-context.ts";

export type CommandResult =
  | { readonly kind: "passed"; readonly tail: string; readonly output: string }
  | FailedCommand
  | { readonly kind: "stopped" };

export interface FailedCommand {
  readonly kind: "failed";
  readonly name: string;
  /** `exit 1`, or why it has not exited. */
  readonly how: string;
  readonly tail: string;
  /** It has exited. */
  readonly answer: boolean;
}

export async function runCommand(
  { spec, ports }: Pick<JobContext, "spec" | "ports">,
  { work, scope }: { readonly work: WorkRef; readonly scope: Scope },
  command: Command,
  keepsOutput?: true,
): Promise<CommandResult> {
  const { workspace, values = {} } = spec;
  if (scope.stopped !== undefined) return { kind: "stopped" };
  if (workspace === undefined) throw new Error("This run has no workspace to run commands in.");
  const { minutes: most = defaultCommandMinutes } = command;
  const name = commandName(command);
  const own = scope.child();
  const late = { kind: "canceled", reason: "late" } as const;
  const stopTimer = startTimer(ports.clock, minutes(most), () => own.stop(late));
  const end = await workspace.runCommand({
    command,
    label: work.taskId,
    variables: commandVariables(values, work),
    signal: own.signal,
    keepsOutput,
  });
  stopTimer();
  own.dispose();
  if (scope.stopped !== undefined) return { kind: "stopped" };
  const decide = (decision: MadeDecision): void =>
    ports.emit({ type: "decision", work: work.taskId === "" ? null : work, decision });
  const isLate = own.stopped !== undefined;
  const { tail } = end;
  const file = defined({ file: end.file });
  if (!isLate && end.kind === "exited" && end.code === 0) {
    decide({ kind: "command-passed", name, tail, ...file });
    return { kind: "passed", tail, output: end.output };
  }
  const ended = end.kind === "exited" ? `exit ${end.code}` : end.reason;
  const how = isLate ? `exceeded its time limit of ${plural(most, "minute")}` : ended;
  decide({ kind: "command-failed", name, how, tail, ...file });
  // A shell exits so where a command can't be run, or isn't there: that says nothing of what it checks.
  const isMissing = end.kind === "exited" && (end.code === 126 || end.code === 127);
  const answer = !isLate && end.kind === "exited" && !isMissing;
  return { kind: "failed", name, how, tail, answer };
}

/** Nothing is put into the command itself. */
function commandVariables(
  values: Readonly<Record<string, string>>,
  { item, itemIndex }: Pick<WorkRef, "item" | "itemIndex">,
): Record<string, string> {
  const inputs = Object.entries(values)
    .filter(([name]) => name.startsWith("input-"))
    .map(([name, value]) => [`AGENT_JOBS_${name.toUpperCase().replaceAll("-", "_")}`, value]);
  return {
    ...Object.fromEntries(inputs),
    ...defined({
      AGENT_JOBS_CHANGE_BASE: values["change-base"],
      AGENT_JOBS_ITEM: item,
      AGENT_JOBS_ITEM_INDEX: itemIndex?.toString(),
    }),
  };
}

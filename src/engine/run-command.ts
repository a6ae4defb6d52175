import { plural } from "../text/numbers.ts";
import { defined } from "../text/guards.ts";
import { defaultCommandMinutes, type Command } from "../entry/model.ts";
import { commandName } from "../entry/work.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimer } from "../platform/waiting.ts";
import type { Workspace } from "./ports.ts";
import type { Scope } from "./scope.ts";

export interface CommandContext {
  readonly workspace: Workspace | undefined;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly label: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly decide: (decision: MadeDecision) => void;
}

export type CommandResult =
  | { readonly kind: "passed"; readonly tail: string; readonly output: string }
  /** `answer`: it has exited. `how`: `exit 1`, or why it did not. */
  | {
      readonly kind: "failed";
      readonly name: string;
      readonly how: string;
      readonly tail: string;
      readonly answer: boolean;
    }
  | { readonly kind: "stopped" };

export async function runCommand(
  { workspace, clock, scope, label, variables, decide }: CommandContext,
  command: Command,
  { keepsOutput }: { readonly keepsOutput?: true } = {},
): Promise<CommandResult> {
  if (scope.stopped !== undefined) return { kind: "stopped" };
  if (workspace === undefined) throw new Error("This run has no workspace to run commands in.");
  const { minutes = defaultCommandMinutes } = command;
  const name = commandName(command);
  const own = scope.child();
  const stopTimer = startTimer(clock, minutes * 60_000, () =>
    own.stop({ kind: "canceled", reason: "late" }),
  );
  const end = await workspace.runCommand({
    command,
    label,
    variables,
    signal: own.signal,
    keepsOutput,
  });
  stopTimer();
  own.dispose();
  if (scope.stopped !== undefined) return { kind: "stopped" };
  const isLate = own.stopped !== undefined;
  const file = defined({ file: end.file });
  if (!isLate && end.kind === "exited" && end.code === 0) {
    decide({ kind: "command-passed", name, tail: end.tail, ...file });
    return { kind: "passed", tail: end.tail, output: end.output };
  }
  const ended = end.kind === "exited" ? `exit ${end.code}` : end.reason;
  const how = isLate ? `exceeded its time limit of ${plural(minutes, "minute")}` : ended;
  decide({ kind: "command-failed", name, how, tail: end.tail, ...file });
  // A shell exits so where a command can't be run, or isn't there: that says nothing of what it checks.
  const isMissing = end.kind === "exited" && (end.code === 126 || end.code === 127);
  const answer = !isLate && end.kind === "exited" && !isMissing;
  return { kind: "failed", name, how, tail: end.tail, answer };
}

/** Nothing is put into the command itself. */
export function commandVariables(
  values: Readonly<Record<string, string>>,
  { item, itemIndex }: Pick<WorkRef, "item" | "itemIndex">,
): Record<string, string> {
  const inputs = Object.entries(values).flatMap(([name, value]) =>
    name.startsWith("input-")
      ? [[`AGENT_JOBS_${name.toUpperCase().replaceAll("-", "_")}`, value] as const]
      : [],
  );
  return {
    ...Object.fromEntries(inputs),
    ...defined({
      AGENT_JOBS_CHANGE_BASE: values["change-base"],
      AGENT_JOBS_ITEM: item,
      AGENT_JOBS_ITEM_INDEX: itemIndex?.toString(),
    }),
  };
}

import type { PreparedEntry, Prompt, Work } from "./model.ts";
import { promptsOf, variablesIn } from "./prompt.ts";
import { allWorks, commandsOf, leafWorks, taskWorks } from "./work.ts";

/** The tasks that may run. One with the action protocol may delegate to any other. */
export function reachedTasks(entry: PreparedEntry, work: Work<number>): readonly string[] {
  const own = taskWorks(work).map(({ taskId }) => taskId);
  const delegates = own.some((name) => entry.tasks[name]?.protocol !== undefined);
  return [...new Set(delegates ? Object.keys(entry.tasks) : own)];
}

export function usesChange(entry: PreparedEntry, work: Work<number>): boolean {
  const commands = commandsOf([{ work }], entry.tasks);
  return (
    commands.some(({ run }) =>
      [run].flat().some((text) => text.includes("AGENT_JOBS_CHANGE_BASE")),
    ) ||
    allWorks(work).some((part) => part.kind === "Each" && "changedFiles" in part.items) ||
    reachedTasks(entry, work).some(
      (name) => entry.tasks[name]?.availability?.change !== undefined,
    ) ||
    namesVariable(entry, work, (name) => name.startsWith("change-"))
  );
}

/** Whether a prompt, the lines of an `Each` or a parameter of a workflow names such a variable. */
export function namesVariable(
  entry: PreparedEntry,
  work: Work<number>,
  isOne: (name: string) => boolean,
): boolean {
  const names = (prompt: Prompt): boolean => variablesIn(prompt).some(isOne);
  return (
    allWorks(work).some(
      (part) => part.kind === "Each" && "lines" in part.items && names(part.items.lines),
    ) ||
    reachedTasks(entry, work).some((name) => promptsOf(entry.tasks[name]).some(names)) ||
    leafWorks(work).some(
      (leaf) => leaf.kind === "Flow" && Object.values(leaf.params ?? {}).some(names),
    )
  );
}

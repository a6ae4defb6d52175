import type { ItemSource, PreparedEntry, PreparedTask, Prompt, Work } from "./model.ts";
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
    allWorks(work).some((part) => part.kind === "Each" && isOfChange(part.items)) ||
    reachedTasks(entry, work).some((name) => isAboutChange(entry.tasks[name])) ||
    leafWorks(work).some(
      (leaf) => leaf.kind === "Flow" && Object.values(leaf.params ?? {}).some(namesChange),
    )
  );
}

function isOfChange(items: ItemSource): boolean {
  return "changedFiles" in items || ("lines" in items && namesChange(items.lines));
}

function isAboutChange(task: PreparedTask | undefined): boolean {
  return task?.availability?.change !== undefined || promptsOf(task).some(namesChange);
}

function namesChange(prompt: Prompt): boolean {
  return variablesIn(prompt).some((name) => name.startsWith("change-"));
}

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
  const isOfChange = (name: string): boolean => name.startsWith("change-");
  return (
    commands.some(({ run }) =>
      [run].flat().some((text) => text.includes("AGENT_JOBS_CHANGE_BASE")),
    ) ||
    allWorks(work).some((part) => part.kind === "Each" && "changedFiles" in part.items) ||
    reachedTasks(entry, work).some(
      (name) => entry.tasks[name]?.availability?.change !== undefined,
    ) ||
    usesVariable(entry, work, isOfChange)
  );
}

export function usesPreviousFindings(entry: PreparedEntry, work: Work<number>): boolean {
  return usesVariable(entry, work, (name) => name === "previous-findings");
}

export function usesFailedChecks(entry: PreparedEntry, work: Work<number>): boolean {
  return usesVariable(entry, work, (name) => name === "failed-checks");
}

function usesVariable(
  entry: PreparedEntry,
  work: Work<number>,
  isMeant: (name: string) => boolean,
): boolean {
  const isIn = (prompt: Prompt): boolean => variablesIn(prompt).some(isMeant);
  return (
    allWorks(work).some(
      (part) => part.kind === "Each" && "lines" in part.items && isIn(part.items.lines),
    ) ||
    reachedTasks(entry, work).some((name) => promptsOf(entry.tasks[name]).some(isIn)) ||
    leafWorks(work).some(
      (leaf) => leaf.kind === "Flow" && Object.values(leaf.params ?? {}).some(isIn),
    )
  );
}

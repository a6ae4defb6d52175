/** Warns of variables that can't have a value where a work runs: items, and what other tasks leave. */
import {
  defaultAtMostItems,
  type LeafWork,
  type PreparedEntry,
  type Prompt,
  type Work,
} from "./model.ts";
import type { Path, Problem } from "../document/problem.ts";
import { promptsOf } from "./prompt.ts";
import { variablesIn } from "./prompt-expander.ts";
import { warning } from "./problems.ts";
import { runtimeVariable } from "./runtime-variables.ts";
import { isLeaf, partsOf, taskWorks } from "./work.ts";

/** What asks for the report or the result of a task that can't have run before. `before`: those that can. */
export function dataWarnings(
  entry: PreparedEntry,
  path: Path,
  work: Work,
  before: ReadonlySet<string>,
): Problem[] {
  const missing = (at: Path, prompts: readonly Prompt[]): Problem[] =>
    [...new Set(prompts.flatMap(variablesIn))].flatMap((name) => {
      const variable = runtimeVariable(name);
      if (variable === undefined || variable.kind === "fixed" || variable.kind === "input")
        return [];
      if (before.has(variable.of) || entry.tasks[variable.of] === undefined) return [];
      return [
        warning(
          at,
          `$${name} has no value here: task ${JSON.stringify(variable.of)} can't have run before.`,
        ),
      ];
    });
  if (isLeaf(work)) {
    // A task that delegates to others may ask for what they have left.
    const own = work.kind === "Ref" && entry.tasks[work.taskId]?.protocol !== undefined;
    return own ? [] : missing(path, promptsOfLeaf(entry, work));
  }
  const tasksIn = (part: Work): string[] => taskWorks(part).map(({ taskId }) => taskId);
  const around = work.kind === "Par" || work.kind === "Loop" ? tasksIn(work) : [];
  const known = new Set([...before, ...around]);
  const lines =
    work.kind === "Each" && "lines" in work.items
      ? missing([...path, "items", "lines"], [work.items.lines])
      : [];
  const found = partsOf(path, work).flatMap(([at, part]) => {
    const problems = dataWarnings(entry, at, part, known);
    for (const task of tasksIn(part)) known.add(task);
    return problems;
  });
  return [...lines, ...found];
}

/** What asks for an item where there is none, or for more items than are allowed. */
export function itemWarnings(
  entry: PreparedEntry,
  path: Path,
  work: Work,
  inEach: boolean,
): Problem[] {
  if (isLeaf(work)) {
    const used = promptsOfLeaf(entry, work).flatMap(variablesIn);
    const name = ["item", "item-index"].find((variable) => used.includes(variable));
    if (inEach || name === undefined) return [];
    return [warning(path, `$${name} has no value here: no Each is around this work.`)];
  }
  const below = partsOf(path, work).flatMap(([at, part]) =>
    itemWarnings(entry, at, part, inEach || work.kind === "Each"),
  );
  if (work.kind !== "Each" || !("values" in work.items) || work.sample === true) return below;
  const { atMost = defaultAtMostItems, items } = work;
  const count = new Set(items.values.map((value) => JSON.stringify(value))).size;
  if (count <= atMost) return below;
  const reason = `There are ${count} items, and atMost is ${atMost}: the job fails before it begins.`;
  return [
    warning([...path, "items", "values"], reason, "raise atMost or set sample: true"),
    ...below,
  ];
}

export function promptsOfLeaf(entry: PreparedEntry, leaf: LeafWork): readonly Prompt[] {
  switch (leaf.kind) {
    case "Ref":
      return promptsOf(entry.tasks[leaf.taskId]);
    case "Flow":
      return Object.values(leaf.params ?? {});
    case "Run":
      return [];
  }
}

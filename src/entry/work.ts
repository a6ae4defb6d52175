/** `placedParts` and `mapParts` alone know the parts of each kind of work. */
import type { Path } from "../document/diagnostic.ts";
import { isList, isText } from "../text/guards.ts";
import type {
  Command,
  CompositeWork,
  EachWork,
  LeafWork,
  OnCrash,
  Task,
  TaskWork,
  Work,
  WrittenWork,
} from "./model.ts";

type Id = number;
type Leaves<I extends Id> = LeafWork<I>;

interface Part<W> {
  readonly work: W;
  readonly path: Path;
  /** Its outcome decides how the work that it is in goes on. */
  readonly condition?: true;
}

function placedParts<I extends Id, Leaf extends Leaves<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): readonly Part<Work<I, Leaf>>[] {
  switch (work.kind) {
    case "Ref":
    case "Flow":
    case "Run":
      return [];
    case "Seq":
    case "Par":
      return work.works.map((part, index) => ({ work: part, path: ["works", index] }));
    case "Each":
      return [{ work: work.work, path: ["work"] }];
    case "Loop":
      return present([
        { work: work.preCondition?.[1], path: ["preCondition", 1], condition: true },
        { work: work.body, path: ["body"] },
        { work: work.postCondition?.[1], path: ["postCondition", 1], condition: true },
      ]);
    case "Alt":
      return present([
        { work: work.condition, path: ["condition"], condition: true },
        { work: work.trueWork, path: ["trueWork"] },
        { work: work.falseWork, path: ["falseWork"] },
      ]);
  }
}

function mapParts<From, To>(work: CompositeWork<From>, map: (part: From) => To): CompositeWork<To> {
  switch (work.kind) {
    case "Seq":
    case "Par":
      return { ...work, works: work.works.map(map) };
    case "Each":
      return { ...work, work: map(work.work) };
    case "Loop": {
      const { preCondition: before, postCondition: after, body, ...rest } = work;
      return {
        ...rest,
        ...(before && { preCondition: [before[0], map(before[1])] }),
        body: map(body),
        ...(after && { postCondition: [after[0], map(after[1])] }),
      };
    }
    case "Alt": {
      const { trueWork, falseWork } = work;
      return {
        kind: "Alt",
        condition: map(work.condition),
        ...(trueWork && { trueWork: map(trueWork) }),
        ...(falseWork && { falseWork: map(falseWork) }),
      };
    }
  }
}

export function isLeaf<I extends Id, Leaf extends Leaves<I>>(
  work: Work<I, Leaf>,
): work is Extract<Work<I, Leaf>, LeafWork<I>> {
  return work.kind === "Ref" || work.kind === "Flow" || work.kind === "Run";
}

function isComposite<I extends Id>(work: Work<I>): work is CompositeWork<Work<I>> {
  return !isLeaf(work);
}

export function workParts<I extends Id, Leaf extends Leaves<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): readonly Work<I, Leaf>[] {
  return placedParts<I, Leaf>(work).map((part) => part.work);
}

/** Replaces the short forms. */
export function longWork(work: WrittenWork): Work {
  if (isText(work)) return { kind: "Ref", taskId: work };
  if (isList(work)) return { kind: "Seq", works: work.map(longWork) };
  return work.kind === "Ref" || work.kind === "Flow" || work.kind === "Run"
    ? work
    : mapParts(work, longWork);
}

/** Flattens `Seq` in `Seq` and `Par` in `Par`. A `Par` that takes crashes in another way than that around it stays. */
export function simplifyWork<I extends Id>(work: Work<I>): Work<I> {
  if (!isComposite(work)) return work;
  const simple = mapParts(work, simplifyWork);
  if (simple.kind !== "Seq" && simple.kind !== "Par") return simple;
  const works = simple.works.flatMap((part): readonly Work<I>[] =>
    (part.kind === "Seq" || part.kind === "Par") && joins(part, simple) ? part.works : [part],
  );
  return { ...simple, works };
}

type Listing<I extends Id> = Extract<CompositeWork<Work<I>>, { works: unknown }>;

function joins<I extends Id>(part: Listing<I>, around: Listing<I>): boolean {
  return part.kind === around.kind && takesCrashes(part) === takesCrashes(around);
}

function takesCrashes<I extends Id>(work: Listing<I>): OnCrash {
  return work.kind === "Par" ? (work.onCrash ?? "stop") : "stop";
}

/** Numbers the leaves of a job from 0 in reading order. Ids that are there already are replaced. */
export function assignWorkId(work: Work): Work<number> {
  let next = 0;
  return mapLeaves(work, (leaf): LeafWork<number> => ({ ...leaf, workIdInJob: next++ }));
}

export function mapLeaves<I extends Id, O extends Id, To extends Leaves<O>>(
  work: Work<I>,
  change: (leaf: LeafWork<I>) => To,
): Work<O, To> {
  return isComposite(work)
    ? mapParts(work, (part) => mapLeaves<I, O, To>(part, change))
    : change(work);
}

export function mapEach<I extends Id>(
  work: Work<I>,
  change: (each: EachWork<Work<I>>) => EachWork<Work<I>>,
): Work<I> {
  if (!isComposite(work)) return work;
  const mapped = mapParts(work, (part) => mapEach(part, change));
  return mapped.kind === "Each" ? change(mapped) : mapped;
}

export function leafWorks<I extends Id, Leaf extends Leaves<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): Leaf[] {
  return allWorks<I, Leaf>(work).filter((part) => isLeaf<I, Leaf>(part));
}

export function allWorks<I extends Id, Leaf extends Leaves<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): Work<I, Leaf>[] {
  const found: Work<I, Leaf>[] = [];
  const visit = (part: Work<I, Leaf>): void => {
    found.push(part);
    workParts<I, Leaf>(part).forEach(visit);
  };
  visit(work);
  return found;
}

export function taskWorks<I extends Id>(work: Work<I>): TaskWork<I>[] {
  return leafWorks(work).filter((leaf) => leaf.kind === "Ref");
}

export function commandsOf(
  jobs: readonly { readonly work: Work<Id> }[],
  tasks: Readonly<Record<string, Pick<Task, "criteria">>>,
): readonly Command[] {
  return jobs.flatMap(({ work }) =>
    allWorks(work).flatMap((part): readonly Command[] => {
      if (part.kind === "Run") return [part];
      if (part.kind === "Each") return "run" in part.items ? [part.items] : [];
      if (part.kind !== "Ref" || !Object.hasOwn(tasks, part.taskId)) return [];
      return tasks[part.taskId]?.criteria?.commands ?? [];
    }),
  );
}

export function leafName(leaf: LeafWork | LeafWork<Id>): string {
  switch (leaf.kind) {
    case "Ref":
      return leaf.taskId;
    case "Flow":
      return leaf.file;
    case "Run":
      return commandName(leaf);
  }
}

/** The name that its author gave it, or the command in one line. */
export function commandName({ name, run }: Command): string {
  if (name !== undefined) return name;
  const text = typeof run === "string" ? run : run.map(quoted).join(" ");
  const line = text.trim().replaceAll(/\s+/gu, " ");
  if (line.length <= longestName) return line;
  const words = line.split(" ");
  while (words.length > 1 && words.join(" ").length >= longestName) words.pop();
  return `${words.join(" ")}…`;
}

const longestName = 80;

function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word);
}

/** The ids of the leaves that answer for an `Alt` or a `Loop`: all inside of its conditions. */
export function conditionIds(work: Work<Id>): ReadonlySet<Id> {
  const found = new Set<Id>();
  const visit = (part: Work<Id>, answers: boolean): void => {
    if (answers && isLeaf(part)) found.add(part.workIdInJob);
    for (const { work: inner, condition = answers } of placedParts(part)) visit(inner, condition);
  };
  visit(work, false);
  return found;
}

function present<W>(parts: readonly Part<W | undefined>[]): Part<W>[] {
  return parts.flatMap((part) => (part.work === undefined ? [] : [{ ...part, work: part.work }]));
}

export function itemsText({
  items,
  parallel = false,
}: Pick<EachWork<unknown>, "items" | "parallel">): string {
  const how = parallel ? ", in parallel" : "";
  if ("values" in items) return `of ${items.values.length} values${how}`;
  if ("files" in items) return `file of ${items.files.join(" ")}${how}`;
  if ("changedFiles" in items) return `changed file of ${items.changedFiles.join(" ")}${how}`;
  if ("lines" in items) return `line of ${[items.lines].flat().join("\n")}${how}`;
  if ("run" in items) return `line of ${commandName(items)}${how}`;
  return `item of the result of ${items.result}${how}`;
}

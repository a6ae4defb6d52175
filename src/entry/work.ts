/** Operations on work trees. None of them changes its input. */
import type { AltWork, LeafWork, LoopWork, TaskWork, Work } from "./model.ts";

type Id = number;

/**
 * Flattens `Seq` directly in `Seq` and `Par` directly in `Par`, over any number of levels, in every
 * part of the tree.
 */
export function simplifyWork<I extends Id>(work: Work<I>): Work<I> {
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return work;
    case "Seq":
    case "Par":
      return {
        kind: work.kind,
        works: work.works.flatMap((part) => {
          const simple = simplifyWork(part);
          return simple.kind === work.kind ? simple.works : [simple];
        }),
      };
    case "Loop":
    case "Alt":
      return mapParts(work, simplifyWork);
  }
}

/**
 * Numbers the leaves of a job 0, 1, 2… in reading order: a condition before its branches, a
 * precondition before the body before the postcondition. Ids that are there already are replaced.
 */
export function assignWorkId(work: Work): Work<number> {
  let next = 0;
  return mapLeaves(work, (leaf): LeafWork<number> => ({ ...leaf, workIdInJob: next++ }));
}

/** Maps the leaves of the tree, in reading order. */
export function mapLeaves<I extends Id, O extends Id, To extends LeafWork<O>>(
  work: Work<I>,
  change: (leaf: LeafWork<I>) => To,
): Work<O, To> {
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return change(work);
    case "Seq":
    case "Par":
      return {
        kind: work.kind,
        works: work.works.map((part) => mapLeaves<I, O, To>(part, change)),
      };
    case "Loop":
    case "Alt":
      return mapParts<I, O, To>(work, (part) => mapLeaves<I, O, To>(part, change));
  }
}

/** Every leaf of a tree, in reading order. */
export function leafWorks<I extends Id, Leaf extends LeafWork<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): Leaf[] {
  const found: Leaf[] = [];
  const visit = (part: Work<I, Leaf>): void => {
    if (part.kind === "Ref" || part.kind === "Flow") found.push(part);
    else workParts<I, Leaf>(part).forEach(visit);
  };
  visit(work);
  return found;
}

/** Every task of a tree, in reading order. */
export function taskWorks<I extends Id>(work: Work<I>): TaskWork<I>[] {
  return leafWorks(work).filter((leaf) => leaf.kind === "Ref");
}

/** What a leaf is called where works are listed: its task, or the file of its workflow. */
export function leafName(leaf: LeafWork | LeafWork<Id>): string {
  return leaf.kind === "Ref" ? leaf.taskId : leaf.file;
}

/** The ids of the leaves that answer for an `Alt` or a `Loop`: all inside of its conditions. */
export function conditionIds(work: Work<Id>): ReadonlySet<Id> {
  const conditions = conditionsOf(work).flatMap((condition) => leafWorks(condition));
  const inside = workParts(work).flatMap((part) => [...conditionIds(part)]);
  return new Set([...conditions.map(({ workIdInJob }) => workIdInJob), ...inside]);
}

function conditionsOf<I extends Id>(work: Work<I>): readonly Work<I>[] {
  switch (work.kind) {
    case "Ref":
    case "Flow":
    case "Seq":
    case "Par":
      return [];
    case "Loop":
      return present([work.preCondition?.[1], work.postCondition?.[1]]);
    case "Alt":
      return [work.condition];
  }
}

/** The works directly inside a work, in reading order. */
export function workParts<I extends Id, Leaf extends LeafWork<I> = LeafWork<I>>(
  work: Work<I, Leaf>,
): readonly Work<I, Leaf>[] {
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return [];
    case "Seq":
    case "Par":
      return work.works;
    case "Loop":
      return present([work.preCondition?.[1], work.body, work.postCondition?.[1]]);
    case "Alt":
      return present([work.condition, work.trueWork, work.falseWork]);
  }
}

/** The parts are mapped in reading order. */
function mapParts<I extends Id, O extends Id, To extends LeafWork<O>>(
  work: LoopWork<I> | AltWork<I>,
  map: (part: Work<I>) => Work<O, To>,
): Work<O, To> {
  switch (work.kind) {
    case "Loop": {
      const { preCondition: before, postCondition: after, body, ...rest } = work;
      return {
        ...rest,
        ...(before === undefined ? {} : { preCondition: [before[0], map(before[1])] }),
        body: map(body),
        ...(after === undefined ? {} : { postCondition: [after[0], map(after[1])] }),
      };
    }
    case "Alt": {
      const { trueWork, falseWork } = work;
      return {
        kind: "Alt",
        condition: map(work.condition),
        ...(trueWork === undefined ? {} : { trueWork: map(trueWork) }),
        ...(falseWork === undefined ? {} : { falseWork: map(falseWork) }),
      };
    }
  }
}

function present<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}

/** Where a step runs: what stops it, and which items and members are around it. */
import type { WorkRef } from "../events/event.ts";
import type { Scope } from "./scope.ts";

export interface Place {
  /** A crash stops this: the job, or the part of it that may crash alone. */
  readonly scope: Scope;
  readonly items: readonly Item[];
  /** The index of the member in each `Par` and parallel `Each` around this place, from the outside. */
  readonly branch: readonly number[];
}

export interface Item {
  readonly text: string;
  readonly index: number;
}

export function noWork({ items }: Place): WorkRef {
  return { workId: 0, taskId: "", iteration: 1, ...itemFields(items) };
}

export function itemFields(
  items: Place["items"],
): Pick<WorkRef, "item" | "itemIndex" | "outerItems" | "outerIndexes"> {
  const own = items.at(-1);
  if (own === undefined) return {};
  const outer = items.slice(0, -1);
  const fields = { item: own.text, itemIndex: own.index };
  if (outer.length === 0) return fields;
  const outerItems = outer.map(({ text }) => text);
  return { ...fields, outerItems, outerIndexes: outer.map(({ index }) => index) };
}

/** For a prompt: as it is where it is one line that can be printed, else as a JSON string. */
export function itemInPrompt(text: string): string {
  return /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+$/u.test(text) && text.trim() === text
    ? text
    : JSON.stringify(text);
}

/**
 * What a run must contain in any order, must contain in this order, or must not contain: a fold over what occurs.
 * It keeps no more than the expectations themselves.
 */
import type { ExpectedLists, Place } from "./format/script.ts";

interface Words<Item, Found> {
  /** What occurs: "decision". */
  readonly noun: string;
  readonly fits: (item: Item, found: Found) => boolean;
  /** As the predicate of a sentence: "contains …". */
  readonly describe: (item: Item) => string;
  readonly show: (found: Found) => string;
  /** Sentences about what there was instead, with a space before them; or nothing. */
  readonly instead: (item: Item) => string;
}

export class ListedExpectations<Item extends { readonly place: Place }, Found> {
  readonly #lists: ExpectedLists<Item>;
  readonly #words: Words<Item, Found>;
  readonly #missing: Set<Item>;
  /** How far the expected sequence has come. */
  #step = 0;
  readonly #unwanted = new Map<Item, string>();

  constructor(lists: ExpectedLists<Item>, words: Words<Item, Found>) {
    this.#lists = lists;
    this.#words = words;
    this.#missing = new Set(lists.include);
  }

  see(found: Found): void {
    const { fits, show } = this.#words;
    for (const item of this.#missing) if (fits(item, found)) this.#missing.delete(item);
    const next = this.#lists.sequence[this.#step];
    if (next !== undefined && fits(next, found)) this.#step += 1;
    for (const item of this.#lists.exclude) {
      if (!this.#unwanted.has(item) && fits(item, found)) this.#unwanted.set(item, show(found));
    }
  }

  failures(): string[] {
    const { noun, describe, instead } = this.#words;
    const next = this.#lists.sequence[this.#step];
    const after = this.#step === 0 ? "" : " after the previous one of the sequence";
    return [
      ...[...this.#missing].map(
        (item) => `${item.place}: no ${noun} ${describe(item)}.${instead(item)}`,
      ),
      ...(next === undefined
        ? []
        : [`${next.place}: no ${noun} ${describe(next)}${after}.${instead(next)}`]),
      ...[...this.#unwanted].map(
        ([item, text]) => `${item.place}: unexpected ${noun} ${text}: it ${describe(item)}.`,
      ),
    ];
  }
}

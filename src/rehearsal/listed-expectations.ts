/** Lists of items that a run must contain, or not. An item is compared field by field with what occurs. */
import { isDeepStrictEqual } from "node:util";
import type { Listed } from "./format/expect.ts";
import type { Place } from "./format/script.ts";
import { describeCondition, type Fill, mismatch, quote } from "./format/text-condition.ts";

export interface Found {
  readonly title: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ExpectedItem {
  readonly place: Place;
  readonly fields: object;
  /** Whether a field is a condition on a text. */
  readonly isText: (name: string) => boolean;
}

/** The field of a decision as it is printed: `[CATEGORY] text`. */
export const PRINTED = "printed text";

/** How many different ones are kept, and how many of them are shown instead of a missing one. */
const KEPT = 200;
const SHOWN = 3;

export class ListedExpectations {
  readonly #noun: string;
  readonly #fill: Fill;
  readonly #missing: Set<ExpectedItem>;
  readonly #sequence: readonly ExpectedItem[];
  readonly #excluded: readonly ExpectedItem[];
  #step = 0;
  readonly #unwanted = new Map<ExpectedItem, string>();
  readonly #seen = new Map<string, Found>();

  constructor(items: readonly Listed<ExpectedItem>[], noun: string, fill: Fill) {
    const listed = (name: Listed<ExpectedItem>["list"]): ExpectedItem[] =>
      items.flatMap(({ list, item }) => (list === name ? [item] : []));
    this.#missing = new Set(listed("include"));
    this.#sequence = listed("sequence");
    this.#excluded = listed("exclude");
    this.#noun = noun;
    this.#fill = fill;
  }

  see(found: Found): void {
    const fits = (item: ExpectedItem): boolean => distance(item, found, this.#fill) === 0;
    for (const item of this.#missing) if (fits(item)) this.#missing.delete(item);
    const next = this.#sequence[this.#step];
    if (next !== undefined && fits(next)) this.#step += 1;
    for (const item of this.#excluded)
      if (!this.#unwanted.has(item) && fits(item)) this.#unwanted.set(item, found.title);
    if (this.#seen.size < KEPT) this.#seen.set(shown(found), found);
  }

  /** `others` have occurred as well, but can't be what is expected. */
  failures(others: readonly Found[] = []): string[] {
    const noun = this.#noun;
    const missing = (item: ExpectedItem, after = ""): string =>
      `${item.place}: there is no ${noun} with ${describe(item)}${after}.${this.#nearest(item, others)}`;
    const next = this.#sequence[this.#step];
    const after = this.#step === 0 ? "" : " after the previous one of the sequence";
    return [
      ...[...this.#missing].map((item) => missing(item)),
      ...(next === undefined ? [] : [missing(next, after)]),
      ...[...this.#unwanted].map(
        ([item, title]) => `${item.place}: unexpected ${noun} ${title}: it has ${describe(item)}.`,
      ),
    ];
  }

  #nearest(item: ExpectedItem, others: readonly Found[]): string {
    const all = [...this.#seen.values(), ...others];
    if (all.length === 0) return ` There is no ${this.#noun} at all.`;
    const near = all
      .map((found) => ({ found, far: distance(item, found, this.#fill) }))
      .toSorted((a, b) => a.far - b.far)
      .filter(({ far }, _index, [nearest]) => far < (nearest?.far ?? 0) + 2)
      .slice(0, SHOWN);
    return ` The nearest: ${near.map(({ found }) => shown(found)).join("; ")}.`;
  }
}

/** `expected` has all that the run may have. */
export function listFailures(
  noun: string,
  place: Place,
  expected: readonly ExpectedItem[],
  seen: readonly Found[],
  fill: Fill,
): string[] {
  const free = new Set(seen);
  const failures: string[] = [];
  // The most specific first, so that another one doesn't take what only it fits.
  const size = ({ fields }: ExpectedItem): number => Object.keys(fields).length;
  for (const item of expected.toSorted((a, b) => size(b) - size(a))) {
    const found = [...free].find((one) => distance(item, one, fill) === 0);
    if (found !== undefined) free.delete(found);
    else failures.push(`${item.place}: there is no ${noun} with ${describe(item)}.`);
  }
  for (const one of free) failures.push(`${place}: unexpected ${noun} ${one.title}.`);
  return failures;
}

/** Fields that identify an item weigh more than others. */
const weights: Readonly<Record<string, number>> = { kind: 8, id: 4, action: 2 };

function distance({ fields, isText }: ExpectedItem, found: Found, fill: Fill): number {
  let sum = 0;
  for (const [name, wanted] of Object.entries(fields)) {
    const is = found.fields[name];
    const holds = isText(name)
      ? typeof is === "string" && mismatch(wanted, is, fill) === undefined
      : isDeepStrictEqual(is, wanted);
    if (!holds) sum += weights[name] ?? 1;
  }
  return sum;
}

function describe({ fields, isText }: ExpectedItem): string {
  return Object.entries(fields)
    .map(([name, wanted]) =>
      isText(name)
        ? `${name} that ${describeCondition(wanted)}`
        : `${name} ${JSON.stringify(wanted)}`,
    )
    .join(", ");
}

function shown({ title, fields }: Found): string {
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || name === PRINTED) return [];
    return [`${name} ${typeof value === "string" ? quote(value) : JSON.stringify(value)}`];
  });
  return `${title} (${parts.join(", ")})`;
}

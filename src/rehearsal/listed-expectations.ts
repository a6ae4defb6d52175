/** Lists of items that a run must contain, or not. An item is compared field by field with what occurs. */
import { isDeepStrictEqual } from "node:util";
import {
  PRINTED,
  type ExpectedField,
  type ExpectedItem,
  type ExpectedLists,
  type Placed,
} from "./format/script.ts";
import { describeCondition, mismatch, quote } from "./format/text-condition.ts";

export type Fill = (template: string) => string;

export interface Found {
  readonly title: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How many different ones are kept, and how many of them are shown instead of a missing one. */
const KEPT = 200;
const SHOWN = 3;

export class ListedExpectations {
  readonly #lists: ExpectedLists;
  readonly #noun: string;
  readonly #fill: Fill;
  readonly #missing: Set<ExpectedItem>;
  #step = 0;
  readonly #unwanted = new Map<ExpectedItem, string>();
  readonly #seen = new Map<string, Found>();

  constructor(lists: ExpectedLists, noun: string, fill: Fill) {
    this.#lists = lists;
    this.#noun = noun;
    this.#fill = fill;
    this.#missing = new Set(lists.include);
  }

  see(found: Found): void {
    const fits = (item: ExpectedItem): boolean => distance(item, found, this.#fill) === 0;
    for (const item of this.#missing) if (fits(item)) this.#missing.delete(item);
    const next = this.#lists.sequence[this.#step];
    if (next !== undefined && fits(next)) this.#step += 1;
    for (const item of this.#lists.exclude) {
      if (!this.#unwanted.has(item) && fits(item)) this.#unwanted.set(item, found.title);
    }
    if (this.#seen.size < KEPT) this.#seen.set(shown(found), found);
  }

  /** `others` have occurred as well, but can't be what is expected. */
  failures(others: readonly Found[] = []): string[] {
    const noun = this.#noun;
    const missing = (item: ExpectedItem, after = ""): string =>
      `${item.place}: there is no ${noun} with ${describe(item)}${after}.${this.#nearest(item, others)}`;
    const next = this.#lists.sequence[this.#step];
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

export function listFailures(
  noun: string,
  expected: Placed<readonly ExpectedItem[]> | undefined,
  seen: readonly Found[],
  fill: Fill,
): string[] {
  if (expected === undefined) return [];
  const free = new Set(seen);
  const failures: string[] = [];
  // The most specific first, so that another one doesn't take what only it fits.
  const ordered = expected.value.toSorted((a, b) => b.fields.length - a.fields.length);
  for (const item of ordered) {
    const found = [...free].find((one) => distance(item, one, fill) === 0);
    if (found !== undefined) free.delete(found);
    else failures.push(`${item.place}: there is no ${noun} with ${describe(item)}.`);
  }
  for (const one of free) failures.push(`${expected.place}: unexpected ${noun} ${one.title}.`);
  return failures;
}

/** Fields that identify an item weigh more than others. */
const weights: Readonly<Record<string, number>> = { kind: 8, id: 4, action: 2 };

function distance({ fields }: ExpectedItem, found: Found, fill: Fill): number {
  return fields
    .filter((field) => !holds(field, found.fields[field.name], fill))
    .reduce((sum, { name }) => sum + (weights[name] ?? 1), 0);
}

function holds(field: ExpectedField, found: unknown, fill: Fill): boolean {
  if ("value" in field) return isDeepStrictEqual(found, field.value);
  return typeof found === "string" && mismatch(field.condition, found, fill) === undefined;
}

function describe({ fields }: ExpectedItem): string {
  return fields
    .map((field) =>
      "value" in field
        ? `${field.name} ${JSON.stringify(field.value)}`
        : `${field.name} that ${describeCondition(field.condition)}`,
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

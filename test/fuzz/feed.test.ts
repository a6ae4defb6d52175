/** A feed against a plain array: whatever is appended, read, taken and given back, in tiny memory, with a store that fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Feed, type FeedItem, type FeedStore, type Place } from "../../src/host/feed.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { holds } from "../rig/fuzz.ts";

type Step =
  | { readonly kind: "append"; readonly size: number }
  | { readonly kind: "read"; readonly reader: number; readonly most: number }
  | { readonly kind: "take"; readonly outcome: "kept" | "given back" | "canceled" }
  | { readonly kind: "fail"; readonly fails: boolean }
  | { readonly kind: "close" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("append"), size: fc.nat(300) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("read"),
      reader: fc.nat(2),
      most: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("take"),
      outcome: fc.constantFrom("kept", "kept", "kept", "given back", "canceled"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail"), fails: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ kind: "close" }) },
);

/** No time passes in it: whoever waits has waited. */
const impatient: Clock = { now: () => 0, sleep: () => Promise.resolve() };

/** Remembers which items it was given and did not keep. */
class UnreliableStore implements FeedStore {
  fails = false;
  readonly lost = new Set<number>();
  readonly #texts: string[] = [];

  write(text: string): Place | undefined {
    if (this.fails) {
      for (const line of text.trimEnd().split("\n")) this.lost.add(numberIn(line));
      return undefined;
    }
    this.#texts.push(text);
    return { offset: this.#texts.length - 1, bytes: text.length };
  }

  read({ offset }: Place): string | undefined {
    return this.#texts[offset];
  }

  remove(): void {}
}

function numberIn(json: string): number {
  const value: unknown = JSON.parse(json);
  return typeof value === "object" && value !== null && "n" in value ? Number(value.n) : NaN;
}

function checkNext(
  items: readonly FeedItem[],
  after: number,
  all: readonly string[],
  lost: (seq: number) => boolean,
): void {
  const [first] = items;
  if (after >= all.length) assert.deepEqual(items, []);
  else if (lost(after + 1)) {
    let last = after + 1;
    while (last < all.length && lost(last + 1)) last += 1;
    const json = JSON.stringify({ callback: "onResponsesDropped", count: last - after });
    assert.deepEqual(items, [{ seq: last, json }]);
  } else {
    assert.ok(first !== undefined, `nothing after ${after} of ${all.length}`);
    items.forEach(({ seq, json }, index) => {
      assert.equal(seq, after + 1 + index);
      assert.equal(json, all[seq - 1]);
    });
  }
}

for (const stored of [true, false]) {
  test(`a feed ${stored ? "with a store that may fail" : "without a store"} gives every item once, in order, or says what is lost`, async (t) => {
    await holds(
      t,
      fc.asyncProperty(fc.integer({ min: 1, max: 2_000 }), fc.array(step), async (kept, steps) => {
        const store = new UnreliableStore();
        const feed = new Feed({
          clock: impatient,
          kept,
          file: stored ? store : undefined,
        });
        const all: string[] = [];
        const bytes: number[] = [];
        const inMemory = (seq: number): boolean =>
          bytes.slice(seq - 1).reduce((sum, one) => sum + one, 0) <= kept;
        const lost = (seq: number): boolean => (stored ? store.lost.has(seq) : !inMemory(seq));
        const readers = [0, 0, 0];
        let taken = 0;
        let closed = false;
        let said = false;
        for (const one of steps) {
          switch (one.kind) {
            case "append": {
              const value = { n: all.length + 1, text: "x".repeat(one.size) };
              if (!closed) {
                all.push(JSON.stringify(value));
                bytes.push(JSON.stringify(value).length + 64);
              }
              feed.append(value);
              break;
            }
            case "read": {
              const at = readers[one.reader] ?? 0;
              const items = feed.read(at, one.most);
              assert.ok(items.length <= one.most);
              checkNext(items, at, all, lost);
              readers[one.reader] = items.at(-1)?.seq ?? at;
              break;
            }
            case "take": {
              const gone = new AbortController();
              if (one.outcome === "canceled") gone.abort();
              const result = await feed.take(1, gone.signal);
              if (said) assert.equal(result.kind, "gone");
              else if (one.outcome === "canceled") assert.equal(result.kind, "canceled");
              else if (taken < all.length) {
                assert.ok(result.kind === "response");
                checkNext([{ seq: result.seq, json: result.json }], taken, all, lost);
                if (one.outcome === "kept") taken = result.seq;
                else result.giveBack();
              } else if (!closed) assert.equal(result.kind, "timeout");
              else {
                assert.ok(result.kind === "closed");
                if (one.outcome === "kept") said = true;
                else result.giveBack();
              }
              break;
            }
            case "fail":
              store.fails = one.fails;
              break;
            case "close":
              feed.close();
              closed = true;
              break;
          }
          assert.equal(feed.last, all.length);
          assert.equal(feed.closed, closed);
        }
      }),
      500,
    );
  });
}

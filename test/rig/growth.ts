/**
 * How a cost grows with the size of an input: what is asked of everything that reads what a model sends.
 *
 * Time is measured as the least CPU time of some runs, and only judged where it is well above what a timer
 * can tell, over a large ratio of sizes and with slack: a linear cost passes on a busy machine, and a
 * quadratic one fails at once. Where calls can be counted (`linearInCalls`), nothing is measured at all.
 */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { nightly } from "./nightly.ts";

interface Growth<T> {
  readonly name: string;
  /** An input of about that size. */
  readonly make: (size: number) => T;
  readonly run: (input: T) => unknown;
  /** The smallest and the largest size. Default: 1,000 and 64,000. */
  readonly sizes?: readonly [number, number];
}

/** Below that, a time says nothing. */
const noiseMs = 15;
/** A single run that takes longer is a failure, whatever the others took. */
const patienceMs = 4_000;
/** How much worse than linear a measurement may look. */
const slack = 4;

/**
 * Fails unless a doubled size takes at most about the doubled time. Only in the nightly workflow: `npm test` runs the
 * smallest size and judges no time.
 */
export function linearInTime<T>(growth: Growth<T>): void {
  const { name, make, run, sizes = [1_000, 64_000] } = growth;
  if (!nightly) {
    run(make(sizes[0]));
    return;
  }
  const measured: { size: number; ms: number }[] = [];
  for (let size = sizes[0]; size <= sizes[1]; size *= 2) {
    const input = make(size);
    const ms = leastTime(() => run(input));
    assert.ok(ms < patienceMs, `${name}: ${ms.toFixed(0)} ms for size ${size}${table(measured)}`);
    for (const before of measured) {
      const allowed = Math.max(before.ms, noiseMs / 8) * (size / before.size) * slack;
      assert.ok(
        ms < noiseMs || ms <= allowed,
        `${name}: more than linear, ${ms.toFixed(1)} ms for size ${size}${table(measured)}`,
      );
    }
    measured.push({ size, ms });
  }
}

/** Fails unless a doubled size makes at most the doubled number of calls, apart from a few. */
export function linearInCalls<T>(
  growth: Omit<Growth<T>, "run"> & { readonly count: (input: T) => number },
): void {
  const { name, make, count, sizes = [1_000, 64_000] } = growth;
  const first = count(make(sizes[0]));
  for (let size = sizes[0] * 2; size <= sizes[1]; size *= 2) {
    const calls = count(make(size));
    const allowed = (first + 10) * (size / sizes[0]) * 1.5;
    assert.ok(
      calls <= allowed,
      `${name}: ${calls} calls for size ${size}, ${first} for ${sizes[0]}`,
    );
  }
}

/** Milliseconds of the processor: what other processes do at the same time hardly counts. */
export function cpuTime(run: () => unknown): number {
  const begin = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

function leastTime(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    least = Math.min(least, cpuTime(run));
    if (least > patienceMs || (round >= 1 && least < noiseMs / 4)) break;
  }
  return least;
}

function table(measured: readonly { size: number; ms: number }[]): string {
  return measured.map(({ size, ms }) => `\n  ${size}: ${ms.toFixed(1)} ms`).join("");
}

/**
 * Texts that can be made longer: a beginning, a middle that is repeated, an end, each a few of `pieces`. Where
 * a matcher backtracks, such a text finds it.
 */
export function pumped(pieces: readonly string[]): fc.Arbitrary<(size: number) => string> {
  const few = (minLength: number): fc.Arbitrary<string> =>
    fc
      .array(fc.constantFrom(...pieces), { minLength, maxLength: 4 })
      .map((parts) => parts.join(""));
  return fc.tuple(few(0), few(1), few(0)).map(([begin, middle, end]) =>
    Object.assign(
      (size: number) => {
        const times = Math.max(1, Math.ceil(size / Math.max(1, middle.length)));
        return `${begin}${middle.repeat(times)}${end}`;
      },
      // The text of a counter-example.
      { [fc.toStringMethod]: () => JSON.stringify([begin, middle, end]) },
    ),
  );
}

/**
 * How long the fuzz suites (`test/fuzz`) look for a counter-example: a share of the cases, always the same ones, in
 * `npm test`; all of them, new ones each time, in the nightly workflow; and `AGENT_JOBS_FUZZ_SECONDS` for each
 * property in `npm run fuzz`.
 */
import type { TestContext } from "node:test";
import * as fc from "fast-check";
import { nightly } from "./nightly.ts";

const SHARE = 0.1;

const seconds = Number(process.env["AGENT_JOBS_FUZZ_SECONDS"] ?? "0");

/** Whether the suites run by time, not by a number of cases. */
const fuzzingLong = seconds > 0;

/** Fails with the smallest counter-example; prints how many cases were tried, and the seed of the generator. */
export async function holds<T>(
  t: TestContext,
  property: fc.IRawProperty<T>,
  cases: number,
): Promise<void> {
  const began = performance.now();
  const details = await fc.check(property, {
    ...(fuzzingLong
      ? { numRuns: 1_000_000_000, interruptAfterTimeLimit: seconds * 1000 }
      : nightly
        ? { numRuns: cases }
        : { numRuns: Math.ceil(cases * SHARE), seed: 1 }),
    // An interruption by the time limit ends the search; it is no failure.
    markInterruptAsFailure: false,
  });
  const took = ((performance.now() - began) / 1000).toFixed(1);
  t.diagnostic(`fuzz: ${details.numRuns} cases in ${took} s, seed ${details.seed}`);
  if (details.failed) {
    throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  }
}

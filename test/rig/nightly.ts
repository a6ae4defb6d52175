/**
 * What `npm test` plays of the long suites, and what is left to the nightly workflow (`npm run test:nightly`): a
 * change has to pass a small share that is always the same; the whole matrix, new random cases and everything that
 * measures time run every night.
 */

export const nightly: boolean = (process.env["AGENT_JOBS_NIGHTLY"] ?? "") !== "";

/** Cases that differ in a detail: all of them, or the first ones. */
export function share<T>(cases: readonly T[], count = 2): readonly T[] {
  return nightly ? cases : cases.slice(0, count);
}

/** For `it` and `describe`. */
export const onlyNightly: { readonly skip: string | false } = {
  skip: nightly ? false : "only in the nightly workflow",
};

/** How often a property is tried, for fast-check: `cases` times with new ones, or a share that is always the same. */
export function rounds(
  cases: number,
  part = 5,
): { readonly numRuns: number; readonly seed?: number } {
  return nightly ? { numRuns: cases } : { numRuns: Math.ceil(cases / part), seed: 1 };
}

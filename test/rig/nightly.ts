/**
 * What `npm test` plays of the long suites, and what is left to the nightly workflow (`npm run test:nightly`): a
 * change has to pass a small share that is always the same; the whole matrix, new random cases and everything that
 * measures time run every night.
 */

export const nightly: boolean = (process.env["AGENT_JOBS_NIGHTLY"] ?? "") !== "";

/** For `it` and `describe`. */
export const onlyNightly: { readonly skip: string | false } = {
  skip: nightly ? false : "only in the nightly workflow",
};

/** Which of the works of a recorded run a replay must repeat. */
import type { WorkFields } from "../format/rehearsal-schema.ts";
import type { WorkTally } from "../work-tallies.ts";

export function worksExpectation(works: readonly WorkTally[]): readonly WorkFields[] {
  return works.map(({ taskId, workId, outcomes, runs, retries, crashes, rejected }) => {
    const [first] = outcomes;
    if (first === undefined) return { task: taskId, workId, outcome: "skipped" };
    const uniform = outcomes.every((outcome) => outcome === first);
    return {
      task: taskId,
      workId,
      outcome: uniform ? first : outcomes,
      ...(uniform && runs > 1 ? { runs } : {}),
      ...(retries > 0 ? { retries } : {}),
      ...(crashes > 0 ? { crashes } : {}),
      ...(rejected > 0 ? { rejected } : {}),
    };
  });
}

/**
 * Whether a crash or a cancel stopped works that ran at the same time: how far each had come by then
 * is a matter of time, so a replay may stop them at other points.
 */
export function isTorn(works: readonly WorkTally[]): boolean {
  return works.some(
    ({ overlapped, outcomes }) =>
      overlapped && outcomes.some((one) => one === "crashed" || one === "canceled"),
  );
}

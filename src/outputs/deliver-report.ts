/** The comment on a pull request that every run of a job updates. */
import type { Origin } from "../events/output-shapes.ts";
import type { CollectedOutputs } from "./collect.ts";
import { attempt, skipped, write, writeOnce, type Delivering, type Delivery } from "./delivery.ts";
import type { OwnComment } from "./github-port.ts";
import { reportComment } from "./report-comment.ts";

const needs = "`pull-requests: write`";

/** Whether a comment is of the same attempt, or of a later run or attempt. */
function isLater(key: string | undefined, { workflowRun, attempt }: Origin): boolean {
  const [run = 0, tried = 0] = (key ?? "").split("/").map(Number);
  const own = Number(workflowRun);
  return run > own || (run === own && tried >= attempt);
}

export async function deliverReport(
  delivering: Delivering,
  { findings, omitted, verdict }: CollectedOutputs,
): Promise<readonly Delivery[]> {
  const { about, github, ours } = delivering;
  const { isPullRequest, number } = about.origin;
  if (isPullRequest !== true || number === undefined)
    return [skipped("report comment", "the run is about no pull request")];
  const what = `report comment on #${number}`;
  const find = async (): Promise<readonly OwnComment[]> =>
    (await github.ownComments(number)).filter(({ body }) => ours(body, "report") !== undefined);
  const older: Delivery[] = [];
  const made = await attempt(delivering, { what, needs }, async () => {
    const [newest, ...rest] = await find();
    const last = ours(newest?.body ?? "", "report");
    if (last?.head === about.origin.head && isLater(last.key, about.origin))
      return skipped(what, "it is there already, of this run or of a later one");
    const { report, outcome, durationMs, view } = about;
    const body = reportComment({
      ...about,
      outcome,
      verdict,
      report: report === undefined ? undefined : { markdown: report },
      findings,
      omitted,
      earlier: last?.fingerprints ?? [],
      totals: view.totals,
      durationMs,
    });
    for (const { nodeId, isMinimized } of rest) {
      if (isMinimized) continue;
      const writing = { what: `an older ${what}, minimized`, needs };
      const minimize = (): Promise<Delivery> =>
        write(delivering, writing, () => github.minimize(nodeId));
      older.push(await attempt(delivering, writing, minimize));
    }
    if (newest !== undefined) {
      const writing = { what: `${what}, updated`, needs, preview: body };
      return write(delivering, writing, () => github.updateComment(newest.id, body));
    }
    return writeOnce(
      delivering,
      { what, needs, preview: body },
      {
        find: async () => ((await find()).length > 0 ? {} : undefined),
        create: () => github.createComment(number, body),
      },
    );
  });
  return [made, ...older];
}

/** One review with the findings that are new, and the threads of those that are gone. */
import type { CollectedOutputs } from "./collect.ts";
import { attempt, skipped, write, writeOnce, type Delivering, type Delivery } from "./delivery.ts";
import { GithubFailure, type OwnThread } from "./github-port.ts";
import { reviewOf } from "./review-comments.ts";

const needs = "`pull-requests: write`";

export async function deliverReview(
  delivering: Delivering,
  collected: CollectedOutputs,
): Promise<readonly Delivery[]> {
  const { about, github, ours } = delivering;
  const { isPullRequest, number, head } = about.origin;
  if (isPullRequest !== true || number === undefined)
    return [skipped("review", "the run is about no pull request")];
  const writing = { what: `review of #${number}`, needs };
  const resolved: Delivery[] = [];
  const made = await attempt(delivering, writing, async () => {
    const { findings } = collected;
    const threads = await github.ownThreads(number);
    resolved.push(...(await resolveGone(delivering, number, threads, collected)));
    const posted = new Set(threads.flatMap(({ body }) => ours(body, "finding")?.key ?? []));
    const isPosted = async (fingerprint: string): Promise<boolean> => {
      for (const body of await github.ownReviews(number))
        for (const one of ours(body, "review")?.fingerprints ?? []) posted.add(one);
      return posted.has(fingerprint);
    };
    await isPosted("");
    const fresh = findings.filter(({ fingerprint }) => !posted.has(fingerprint));
    const [first] = fresh;
    if (first === undefined)
      return skipped(writing.what, findings.length === 0 ? "no findings" : "no new findings");
    const isInDiff = linesInDiff(await github.diffOf(number));
    const review = reviewOf({ ...about, findings: fresh, isInDiff });
    return writeOnce(
      delivering,
      {
        ...writing,
        preview: [review.body, ...review.comments.map(({ body }) => body)].join("\n\n"),
      },
      {
        find: async () => ((await isPosted(first.fingerprint)) ? {} : undefined),
        async create() {
          try {
            return await github.createReview(number, { head, ...review });
          } catch (error) {
            if (!(error instanceof GithubFailure) || error.status !== 422) throw error;
            // GitHub takes no comment at one of the lines: all findings go into the body.
            const body = reviewOf({ ...about, findings: fresh, isInDiff: () => false });
            return github.createReview(number, { head, ...body });
          }
        },
      },
    );
  });
  return [made, ...resolved];
}

async function resolveGone(
  delivering: Delivering,
  number: number,
  threads: readonly OwnThread[],
  { findings, omitted }: CollectedOutputs,
): Promise<readonly Delivery[]> {
  // What there was no room for may still be there.
  if (omitted > 0) return [];
  const current = new Set(findings.map(({ fingerprint }) => fingerprint));
  const deliveries: Delivery[] = [];
  for (const { nodeId, body, isResolved } of threads) {
    const key = delivering.ours(body, "finding")?.key;
    if (key === undefined || isResolved || current.has(key)) continue;
    const writing = { what: `a finding that is gone from #${number}, resolved`, needs };
    const resolve = (): Promise<Delivery> =>
      write(delivering, writing, () => delivering.github.resolveThread(nodeId));
    deliveries.push(await attempt(delivering, writing, resolve));
  }
  return deliveries;
}

type LinesInDiff = (path: string, from: number, to: number) => boolean;

/** `patch`: the hunks of one file, as GitHub gives them. */
function linesInDiff(
  files: readonly { readonly path: string; readonly patch: string | undefined }[],
): LinesInDiff {
  const hunks = new Map(files.map(({ path, patch = "" }) => [path, hunksOf(patch)]));
  return (path, from, to) =>
    hunks.get(path)?.some(([first, last]) => first <= from && to <= last) === true;
}

function hunksOf(patch: string): readonly (readonly [first: number, last: number])[] {
  return patch.split("\n").flatMap((line) => {
    // Lines of a file begin with a space, a plus or a minus.
    const [, start, count = "1"] = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    return start === undefined ? [] : [[Number(start), Number(start) + Number(count) - 1] as const];
  });
}

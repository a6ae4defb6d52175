import type { CollectedOutputs } from "../outputs/collect.ts";
import { attempt, skipped, write, type Delivering, type Delivery } from "./delivery.ts";
import type { DiffFile, Made, NewReview } from "./github-port.ts";
import type { ReviewThread } from "./review-threads.ts";
import { GithubFailure } from "./github-api.ts";
import { defined } from "../text/guards.ts";
import { fenceOf, harmlessCode, withoutInstructions } from "../text/harmless-text.ts";
import type { Finding } from "../events/output-shapes.ts";
import {
  bodyOf,
  countsText,
  findingsTable,
  markerLine,
  maxBody,
  runLink,
  safeText,
  severitySigns,
  type Publisher,
} from "./comments.ts";
import { headLines } from "../outputs/line-address.ts";
import { codeText, safeCell } from "./markdown.ts";

const needs = "`pull-requests: write`";

export async function deliverReview(
  delivering: Delivering,
  collected: CollectedOutputs,
): Promise<readonly Delivery[]> {
  const { about, github, ours } = delivering;
  const { isPullRequest, number, head } = about.origin;
  if (isPullRequest !== true || number === undefined)
    return [skipped("review", "the run has no pull request")];
  const writing = { what: `review of #${number}`, needs };
  const resolved: Delivery[] = [];
  const made = await attempt(delivering, writing, async () => {
    const { findings } = collected;
    const ownThreads = async (): Promise<readonly ReviewThread[]> =>
      (await github.threads(number)).filter(({ first }) => first.isOurs);
    const threads = await ownThreads();
    resolved.push(...(await resolveGone(delivering, number, threads, collected)));
    const posted = new Set(threads.flatMap(({ first }) => ours(first.body, "finding")?.key ?? []));
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
    const preview = [review.body, ...review.comments.map(({ body }) => body)].join("\n\n");
    return write(
      delivering,
      { ...writing, preview },
      async () => {
        const made = await unlessInvalid(github.createReview(number, { head, ...review }));
        if (made !== undefined) return made;
        // GitHub doesn't say which of the lines it refuses, so each of them is sent by itself.
        const there = new Set(
          (await ownThreads()).flatMap(({ first }) => ours(first.body, "finding")?.key ?? []),
        );
        const places: string[] = [];
        for (const comment of review.comments) {
          const key = ours(comment.body, "finding")?.key ?? "";
          const one = { head, body: "", comments: [comment] };
          if (there.has(key)) continue;
          if ((await unlessInvalid(github.createReview(number, one))) !== undefined) there.add(key);
          else places.push(`${comment.path}:${comment.line}`);
        }
        const rest = reviewOf({ ...about, findings: fresh, isInDiff: () => false, there });
        const last = await github.createReview(number, { head, ...rest });
        return places.length === 0 ? last : { ...last, reason: inBody(places) };
      },
      async () => ((await isPosted(first.fingerprint)) ? {} : undefined),
    );
  });
  return [made, ...resolved];
}

const MAX_PLACES = 10;

function inBody(places: readonly string[]): string {
  const left = places.length - MAX_PLACES;
  const named = places.slice(0, MAX_PLACES).join(", ");
  return `GitHub refuses comments at ${named}${left > 0 ? ` and ${left} more` : ""}, so these findings are in the body`;
}

/** Returns undefined if GitHub refuses the content of a request. */
async function unlessInvalid(sent: Promise<Made>): Promise<Made | undefined> {
  return sent.catch((error: unknown) => {
    if (error instanceof GithubFailure && error.status === 422) return undefined;
    throw error;
  });
}

async function resolveGone(
  delivering: Delivering,
  number: number,
  threads: readonly ReviewThread[],
  { findings, complete }: CollectedOutputs,
): Promise<readonly Delivery[]> {
  if (!complete) return [];
  const current = new Set(findings.map(({ fingerprint }) => fingerprint));
  const deliveries: Delivery[] = [];
  for (const { nodeId, first, isResolved } of threads) {
    const key = delivering.ours(first.body, "finding")?.key;
    if (key === undefined || isResolved || current.has(key)) continue;
    const writing = {
      what: `a finding that is gone from #${number}, resolved`,
      needs: "`contents: write` and `pull-requests: write`",
    };
    const resolve = (): Promise<Delivery> =>
      write(delivering, writing, () => delivering.github.resolveThread(nodeId));
    deliveries.push(await attempt(delivering, writing, resolve));
  }
  return deliveries;
}

type LinesInDiff = (path: string, from: number, to: number) => boolean;

function linesInDiff(files: readonly DiffFile[]): LinesInDiff {
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

export type Review = Omit<NewReview, "head">;

interface ReviewContent extends Publisher {
  /** The worst first. */
  readonly findings: readonly Finding[];
  /** Whether one hunk of the diff shows all these lines of the head. */
  readonly isInDiff: LinesInDiff;
  /** The fingerprints of findings that have a comment already. Default: none. */
  readonly there?: ReadonlySet<string>;
}

const MAX_COMMENT = 30_000;
const MAX_NAME = 100;

export function reviewOf(content: ReviewContent): Review {
  const { findings, isInDiff, origin, there = new Set() } = content;
  const comments: NewReview["comments"][number][] = [];
  const others: Finding[] = [];
  for (const finding of findings.filter(({ fingerprint }) => !there.has(fingerprint))) {
    const { path } = finding;
    const { from, to } = headLines(finding, origin) ?? { from: 0, to: 0 };
    if (from > 0 && isInDiff(path, from, to)) {
      const body = commentBody(finding, content, true);
      comments.push({ path, line: to, ...(to > from && { startLine: from }), body });
    } else if (from > 0 && isInDiff(path, from, from)) {
      // GitHub takes no comment on lines of which the diff shows only some.
      comments.push({ path, line: from, body: commentBody(finding, content, false) });
    } else others.push(finding);
  }
  const fingerprints = findings.map(({ fingerprint }) => fingerprint);
  const marker = markerLine(content, { kind: "review", fingerprints });
  const room = maxBody - 5_000 - marker.length;
  const { text: table } = findingsTable(others, { target: origin, room });
  const body = bodyOf(marker, [
    `Job ${codeText(content.job, MAX_NAME)} found ${countsText(findings) || "nothing"}.`,
    others.length > 0 && comments.length + there.size > 0 ? "Not in the lines of the diff:" : "",
    table,
    `<sub>${runLink(origin, "run")}</sub>`,
  ]);
  return { body, comments };
}

function commentBody(finding: Finding, publisher: Publisher, isWhole: boolean): string {
  const { severity, title, message, rule, suggestion, fingerprint, lineDigest } = finding;
  const name = title === undefined ? "" : `: ${safeCell(title, { maxLength: 200 })}`;
  const ofFinding = { key: fingerprint, rule, severity, ...defined({ text: lineDigest }) };
  return bodyOf(markerLine(publisher, { kind: "finding", ...ofFinding }), [
    `**${severitySigns[severity]} ${severity}**${name}`,
    safeText(message, MAX_COMMENT, publisher),
    suggestion === undefined ? "" : suggestionBlock(suggestion, isWhole),
    `<sub>${codeText(rule, MAX_NAME)} · ${runLink(publisher.origin, "run")}</sub>`,
  ]);
}

/** A button applies it, so it must be what it looks like, and replace just the lines of the comment. */
function suggestionBlock(suggestion: string, isWhole: boolean): string {
  const code = harmlessCode(suggestion);
  const isApplied = isWhole && withoutInstructions(code) === suggestion.replace(/\r\n?/g, "\n");
  if (code.length > MAX_COMMENT / 2) return "_The suggestion is too long to be shown._";
  const fence = fenceOf(code);
  // An empty one deletes the lines.
  return `${fence}${isApplied ? "suggestion" : ""}\n${code === "" ? "" : `${code}\n`}${fence}`;
}

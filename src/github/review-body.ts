/** The texts of a review: comments at lines, the body for what has no line, and the text that is added to a thread later. */
import type { Finding } from "../events/output-shapes.ts";
import { headLines } from "../outputs/line-address.ts";
import { defined } from "../text/guards.ts";
import { fenceOf, harmlessCode, withoutInstructions } from "../text/harmless-text.ts";
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
import type { DiffFile, NewReview } from "./github-port.ts";
import { codeText, safeCell } from "./markdown.ts";
import { markerOf, readMarker } from "./markers.ts";

type LinesInDiff = (path: string, from: number, to: number) => boolean;

export function linesInDiff(files: readonly DiffFile[]): LinesInDiff {
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

export interface Review extends Omit<NewReview, "head"> {
  /** `key`: the fingerprint of the finding. */
  readonly comments: readonly (NewReview["comments"][number] & { readonly key: string })[];
  /** The findings that have no line in the diff. The body lists them. */
  readonly others: readonly Finding[];
}

interface ReviewContent extends Publisher {
  /** The worst first. */
  readonly findings: readonly Finding[];
  /** Whether one hunk of the diff shows all these lines of the head. */
  readonly isInDiff: LinesInDiff;
  /** Fingerprints of findings that have a line but get no comment. Default: none. */
  readonly refusals?: ReadonlyMap<string, unknown>;
}

const MAX_COMMENT = 30_000;
const MAX_NAME = 100;

/** A finding with a line stands there and nowhere else, so the body is empty if all of them have one. */
export function reviewOf(content: ReviewContent): Review {
  const { findings, isInDiff, origin, refusals } = content;
  const comments: Review["comments"][number][] = [];
  const others: Finding[] = [];
  for (const finding of findings) {
    const { path, fingerprint: key } = finding;
    const lines = refusals?.has(key) === true ? undefined : headLines(finding, origin);
    const { from, to } = lines ?? { from: 0, to: 0 };
    if (from > 0 && isInDiff(path, from, to)) {
      const body = commentBody(finding, content, { isWhole: true });
      comments.push({ key, path, line: to, ...(to > from && { startLine: from }), body });
    } else if (from > 0 && isInDiff(path, from, from)) {
      // GitHub takes no comment on lines of which the diff shows only some.
      const body = commentBody(finding, content, { isWhole: false });
      comments.push({ key, path, line: from, body });
    } else others.push(finding);
  }
  return { body: others.length === 0 ? "" : bodyWith(others, content), comments, others };
}

function bodyWith(others: readonly Finding[], content: ReviewContent): string {
  const fingerprints = others.map(({ fingerprint }) => fingerprint);
  const marker = markerLine(content, { kind: "review", fingerprints });
  const room = maxBody - 5_000 - marker.length;
  const { text: table } = findingsTable(others, { target: content.origin, room });
  return bodyOf(marker, [
    `Job ${codeText(content.job, MAX_NAME)} found ${countsText(others)} outside of the lines of the diff.`,
    table,
    `<sub>${runLink(content.origin, "run")}</sub>`,
  ]);
}

export function commentBody(
  finding: Finding,
  publisher: Publisher,
  {
    isWhole,
    head = publisher.origin.head,
  }: {
    /** Whether the comment is at all lines of the finding, so that a button can apply the suggestion. */
    readonly isWhole: boolean;
    /** The head at which it was found first. Default: that of the run. */
    readonly head?: string | undefined;
  },
): string {
  const { severity, title, message, rule, suggestion, fingerprint, lineDigest } = finding;
  const name = title === undefined ? "" : `: ${safeCell(title, { maxLength: 200 })}`;
  const ofFinding = { key: fingerprint, rule, severity, ...defined({ text: lineDigest }) };
  return bodyOf(markerLine(publisher, { kind: "finding", ...ofFinding, head }), [
    `**${severitySigns[severity]} ${severity}**${name}`,
    safeText(message, MAX_COMMENT, publisher),
    suggestion === undefined ? "" : suggestionBlock(suggestion, isWhole),
    `<sub>${codeText(rule, MAX_NAME)} · ${runLink(publisher.origin, "run")}</sub>`,
  ]);
}

const MAX_REASON = 1_000;

/** The comment of a finding whose thread is closed. Its last line says why, and at which commit. */
export function closedBody(comment: string, reason: string, publisher: Publisher): string {
  const [line = "", ...rest] = comment.split(/\r?\n/);
  const marker = readMarker(line);
  if (marker === undefined) return comment;
  const { head } = publisher.origin;
  const text = marker.closed === undefined ? [...rest, ""] : rest.slice(0, -1);
  const why = safeCell(reason, { maxLength: MAX_REASON });
  const note = `**✓ Resolved** at ${codeText(head.slice(0, 12), 12)}: ${why}`;
  return [markerOf({ ...marker, closed: head }), ...text, withoutInstructions(note)].join("\n");
}

export function replyBody(message: string, key: string, publisher: Publisher): string {
  return bodyOf(markerLine(publisher, { kind: "reply", key }), [
    safeText(message, MAX_COMMENT, publisher),
    `<sub>${runLink(publisher.origin, "run")}</sub>`,
  ]);
}

/** A button applies it, so it must contain only what is visible, and replace exactly the lines of the comment. */
function suggestionBlock(suggestion: string, isWhole: boolean): string {
  const code = harmlessCode(suggestion);
  const isApplied = isWhole && withoutInstructions(code) === suggestion.replace(/\r\n?/g, "\n");
  if (code.length > MAX_COMMENT / 2) return "_The suggestion is too long to be shown._";
  const fence = fenceOf(code);
  // An empty one deletes the lines.
  return `${fence}${isApplied ? "suggestion" : ""}\n${code === "" ? "" : `${code}\n`}${fence}`;
}

/** One review with the findings of a run: comments at the lines that the diff shows, the others in its body. */
import { fenceOf } from "../document/fence.ts";
import type { Finding } from "../events/output-shapes.ts";
import {
  bodyOf,
  fingerprintsOf,
  markerLine,
  maxBody,
  runLink,
  safeText,
  type Publisher,
} from "./comment-parts.ts";
import { codeText, countsText, findingsTable, severitySigns } from "./findings-table.ts";
import { headLines } from "./line-address.ts";
import { harmlessCode } from "./harmless-text.ts";
import { safeCell } from "./safe-markdown.ts";

export interface ReviewComment {
  readonly path: string;
  /** The last line, in the head of the pull request. */
  readonly line: number;
  /** The first line, if there are several. */
  readonly startLine?: number;
  readonly body: string;
  readonly fingerprint: string;
}

export interface Review {
  readonly body: string;
  readonly comments: readonly ReviewComment[];
}

export interface ReviewContent extends Publisher {
  /** The worst first. */
  readonly findings: readonly Finding[];
  /** Whether one hunk of the diff shows all these lines of the head. */
  readonly isInDiff: (path: string, from: number, to: number) => boolean;
}

const MAX_COMMENT = 30_000;
const MAX_NAME = 100;

export function reviewOf(content: ReviewContent): Review {
  const { findings, isInDiff, origin } = content;
  const comments: ReviewComment[] = [];
  const others: Finding[] = [];
  for (const finding of findings) {
    const { path, fingerprint } = finding;
    const { from, to } = headLines(finding, origin) ?? { from: 0, to: 0 };
    if (from > 0 && isInDiff(path, from, to)) {
      const startLine = to > from ? { startLine: from } : {};
      const body = commentBody(finding, content, true);
      comments.push({ path, line: to, ...startLine, body, fingerprint });
    } else if (from > 0 && isInDiff(path, from, from)) {
      // GitHub takes no comment on lines of which the diff shows only some.
      const body = commentBody(finding, content, false);
      comments.push({ path, line: from, body, fingerprint });
    } else others.push(finding);
  }
  const marker = markerLine(content, { kind: "review", fingerprints: fingerprintsOf(findings) });
  const room = maxBody - 5_000 - marker.length;
  const { text: table } = findingsTable(others, { target: origin, room });
  const body = bodyOf(marker, [
    `Job ${codeText(content.job, MAX_NAME)} found ${countsText(findings) || "nothing"}.`,
    others.length > 0 && comments.length > 0 ? "Not in the lines of the diff:" : "",
    table,
    `<sub>${runLink(origin, "run")}</sub>`,
  ]);
  return { body, comments };
}

function commentBody(finding: Finding, publisher: Publisher, isWhole: boolean): string {
  const { severity, title, message, rule, suggestion, fingerprint } = finding;
  const name = title === undefined ? "" : `: ${safeCell(title, { maxLength: 200 })}`;
  return bodyOf(markerLine(publisher, { kind: "finding", key: fingerprint }), [
    `**${severitySigns[severity]} ${severity}**${name}`,
    safeText(message, MAX_COMMENT, publisher),
    suggestion === undefined ? "" : suggestionBlock(suggestion, isWhole),
    `<sub>${codeText(rule, MAX_NAME)} · ${runLink(publisher.origin, "run")}</sub>`,
  ]);
}

/**
 * A button applies it, so it must be what it looks like, and replace just the lines of the comment; otherwise it is only
 * shown.
 */
function suggestionBlock(suggestion: string, isWhole: boolean): string {
  const code = harmlessCode(suggestion);
  const isApplied = isWhole && code === suggestion.replace(/\r\n?/g, "\n");
  if (code.length > MAX_COMMENT / 2) return "_The suggestion is too long to be shown._";
  const fence = fenceOf(code);
  // An empty one deletes the lines.
  return `${fence}${isApplied ? "suggestion" : ""}\n${code === "" ? "" : `${code}\n`}${fence}`;
}

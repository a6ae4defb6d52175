/** The texts of comments and reviews on GitHub. The first line is a marker, by which a comment is found again. */
import { endWords, type RunOutcome } from "../events/event.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import type { CollectedOutputs } from "../outputs/collect.ts";
import { blobs, headLines, lineAddress, type LinkTarget } from "../outputs/line-address.ts";
import { verdictTitle } from "../outputs/verdict.ts";
import { fenceOf, harmlessCode, oneLine, withoutInstructions } from "../text/harmless-text.ts";
import { costWords, countText, durationText, plural, unbroken } from "../text/numbers.ts";
import { defined } from "../text/guards.ts";
import { truncate } from "../text/truncate.ts";
import { tableHead, tableRow, wholeItems } from "./layout.ts";
import { codeText, linkText, safeCell, safeMarkdown } from "./markdown.ts";
import type { DiffFile, NewReview } from "./github-port.ts";
import { markerOf, readMarker, type Marker } from "./markers.ts";

/** GitHub's limit, in characters. */
export const maxBody = 65_536;

export interface Publisher {
  readonly job: string;
  /** The path of the entry, as the marker has it. */
  readonly entry: string;
  /** The head, if the run has left nothing out: later runs may begin there. */
  readonly reviewed?: string | undefined;
  readonly origin: Origin;
}

export function markerLine(
  { job, entry, origin, reviewed }: Publisher,
  rest: Omit<Marker, "job" | "entry" | "leg">,
): string {
  return markerOf({
    job,
    entry,
    ...defined({ leg: origin.leg, reviewed }),
    head: origin.head,
    ...rest,
  });
}

/** Paragraphs that have something in them, after the marker. */
export function bodyOf(marker: string, parts: readonly string[]): string {
  return withoutInstructions([marker, ...parts.filter((part) => part !== "")].join("\n\n"));
}

export function runUrl({ server, repository, workflowRun, attempt }: Origin): string {
  return `${server}/${repository}/actions/runs/${encodeURIComponent(workflowRun)}/attempts/${attempt}`;
}

export function runLink(origin: Origin, text: string): string {
  return linkText(text, runUrl(origin));
}

/** Keeps links to files of the repository. */
export function safeText(text: string, maxLength: number, { origin }: Publisher): string {
  const options = { maxLength, allowedLinks: [blobs(origin)], lowered: 3 };
  const { text: safe, whole } = safeMarkdown(text, options);
  return whole ? safe : `${safe}\n\n${rest(origin)}`;
}

function rest(origin: Origin): string {
  return `_This is too long for GitHub. The rest is in the ${runLink(origin, "job summary")}._`;
}

const MAX_NAME = 100;

export function byline({ job, origin }: Publisher, task: string): string {
  return `<sub>Proposed by job ${codeText(job, MAX_NAME)}, task ${codeText(truncate(task, MAX_NAME, "…"), MAX_NAME)} · ${runLink(origin, "run")}</sub>`;
}

const MAX_MESSAGE = 500;
const MAX_TITLE = 200;
const MAX_PATH = 300;

const severitySigns: Readonly<Record<Finding["severity"], string>> = {
  error: "✗",
  warning: "⚠",
  notice: "ℹ",
};

const tableStart = tableHead(["Severity", "Place", "Rule", "Finding"]);

/** Shows the first rows that fit into `room`, and counts the others and those `omitted` before. */
export function findingsTable(
  findings: readonly Finding[],
  {
    target,
    omitted = 0,
    room,
  }: {
    readonly target?: LinkTarget | undefined;
    readonly omitted?: number;
    readonly room: number;
  },
): { readonly text: string; readonly left: number } {
  const all = findings.map((finding) => rowOf(finding, target));
  // The last row counts the others.
  const rows = wholeItems(all, room - tableStart.length - 100, (row) => row.length);
  const left = findings.length - rows.length + omitted;
  if (rows.length === 0) return { text: "", left };
  if (left > 0) rows.push(tableRow(["", `and ${left} more`, "", ""]));
  return { text: (tableStart + rows.join("")).trimEnd(), left };
}

function rowOf(finding: Finding, target: LinkTarget | undefined): string {
  const { severity, title, message, rule } = finding;
  const about = safeCell(message, { maxLength: MAX_MESSAGE, title: title?.slice(0, MAX_TITLE) });
  const sign = unbroken(`${severitySigns[severity]} ${severity}`);
  return tableRow([sign, placeText(finding, target), codeText(rule, MAX_NAME), about]);
}

/** `src/index.ts:3-5`, a link if the lines are in the commit that it leads to. */
function placeText(finding: Finding, target?: LinkTarget): string {
  const url = target === undefined ? undefined : lineAddress(finding, target);
  const { path, line, endLine = line } = finding;
  const text = `${oneLine(path, MAX_PATH)}:${line}${endLine > line ? `-${endLine}` : ""}`;
  const place = codeText(text, text.length);
  return url === undefined ? place : linkText(place, url);
}

/** `2 errors, 1 warning` */
export function countsText(findings: readonly Finding[]): string {
  return (["error", "warning", "notice"] as const)
    .flatMap((severity) => {
      const count = findings.filter((one) => one.severity === severity).length;
      return count === 0 ? [] : [plural(count, severity)];
    })
    .join(", ");
}

export interface ReportComment extends Publisher {
  readonly view: Pick<RunView, "totals" | "startedAt" | "endedAt">;
  readonly outcome: RunOutcome;
  /** `findings`: all that hold, wherever they are shown. */
  readonly collected: Pick<CollectedOutputs, "findings" | "omitted" | "verdict">;
  /** Markdown. */
  readonly report?: string | undefined;
  /** The findings that are shown nowhere else. Default: all. */
  readonly listed?: readonly Finding[];
  /** The counts of new findings, and so on. */
  readonly counts?: string | undefined;
  /** Fingerprints of the findings that this and, if it failed, earlier runs have listed. */
  readonly fingerprints?: readonly string[];
  /** The number of reviewed heads. */
  readonly round?: string | undefined;
}

const MAX_REASON = 2_000;
/** Maximum length of the table of findings. The report gets the rest of the body. */
const MAX_TABLE = 24_000;
const NOTES = 1_000;

export function reportComment(comment: ReportComment): string {
  const { origin, report, counts = "", fingerprints = [], round } = comment;
  const { findings, omitted } = comment.collected;
  const { listed = findings } = comment;
  const key = `${origin.workflowRun}/${origin.attempt}`;
  const more = { key, fingerprints, ...defined({ round }) };
  const marker = markerLine(comment, { kind: "report", ...more });
  const { text: table } = findingsTable(listed, { target: origin, omitted, room: MAX_TABLE });
  const before = headline(comment);
  const hasFindings = findings.length > 0 || counts !== "";
  const after = [
    hasFindings ? `#### Findings: ${countsText(findings) || "none"}` : "",
    counts,
    table !== "" && listed.length < findings.length ? "Not in the lines of the diff:" : "",
    table,
    listed.length > 0 && table === "" ? rest(origin) : "",
    footer(comment),
  ];
  const room = maxBody - NOTES - bodyOf(marker, [before, ...after]).length;
  const text = report === undefined ? "" : safeText(report, room, comment);
  return bodyOf(marker, [before, text, ...after]);
}

function headline(comment: ReportComment): string {
  const { job, outcome } = comment;
  const { verdict } = comment.collected;
  const name = codeText(job, MAX_NAME);
  const result = `### ${signs[outcome.kind]} Job ${name} ${endWords[outcome.kind]}`;
  const why =
    outcome.kind === "succeeded" ? "" : `\n\n${safeText(outcome.reason, MAX_REASON, comment)}`;
  if (verdict === undefined) return result + why;
  const title = verdictTitle(verdict);
  const reason = safeText(verdict.reason, MAX_REASON, comment);
  const judged = [`### ${title} · ${name}`, reason].filter((text) => text !== "").join("\n\n");
  return outcome.kind === "succeeded" ? judged : `${result}${why}\n\n#${judged}`;
}

const signs = { succeeded: "✓", failed: "✗", canceled: "■", skipped: "–" } as const;

function footer({ view, origin }: ReportComment): string {
  const { totals, startedAt = 0, endedAt = 0 } = view;
  const facts = [
    plural(totals.modelCalls, "model call"),
    `${countText(totals.inputTokens)} tokens in, ${countText(totals.outputTokens)} out`,
    ...costWords(totals, (modelId) => codeText(modelId, MAX_NAME)),
    durationText(endedAt - startedAt),
    `commit ${codeText(origin.head.slice(0, 12), 12)}`,
    runLink(origin, "run"),
  ];
  return `<sub>${facts.join(" · ")}</sub>`;
}

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

export interface Review extends Pick<NewReview, "body"> {
  /** `key`: the fingerprint of the finding. */
  readonly comments: readonly (NonNullable<NewReview["comments"]>[number] & {
    readonly key: string;
  })[];
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

const MAX_RESOLVED = 1_000;

/** The comment of a finding whose thread is closed. Its last line says why, and at which commit. */
export function closedBody(comment: string, reason: string, publisher: Publisher): string {
  const [line = "", ...rest] = comment.split(/\r?\n/);
  const marker = readMarker(line);
  if (marker === undefined) return comment;
  const { head } = publisher.origin;
  const text = marker.closed === undefined ? [...rest, ""] : rest.slice(0, -1);
  const why = safeCell(reason, { maxLength: MAX_RESOLVED });
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

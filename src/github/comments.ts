/** Texts of comments on GitHub. The first line is a marker, by which a comment is found again. */
import { endWords, type RunOutcome } from "../events/event.ts";
import type { Finding, Origin, Verdict } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { blobs, lineAddress, type LinkTarget } from "../outputs/line-address.ts";
import { verdictTitle } from "../outputs/verdict.ts";
import { oneLine, withoutInstructions } from "../text/harmless-text.ts";
import { costWords, countText, durationText, plural, unbroken } from "../text/numbers.ts";
import { defined } from "../text/guards.ts";
import { truncate } from "../text/truncate.ts";
import { tableHead, tableRow, wholeItems } from "./layout.ts";
import { codeText, linkText, safeCell, safeMarkdown } from "./markdown.ts";
import { markerOf, type Marker } from "./markers.ts";

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

export const severitySigns: Readonly<Record<Finding["severity"], string>> = {
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
  readonly outcome: RunOutcome;
  readonly verdict?: Verdict | undefined;
  /** Markdown. */
  readonly report?: string | undefined;
  /** All findings that hold, wherever they are shown. */
  readonly findings: readonly Finding[];
  /** The findings that are shown nowhere else. Default: all. */
  readonly listed?: readonly Finding[];
  /** The number of findings that are left out. */
  readonly omitted?: number;
  /** The counts of new findings, and so on. */
  readonly counts?: string | undefined;
  /** Fingerprints of the findings that this and, if it failed, earlier runs have listed. */
  readonly fingerprints: readonly string[];
  /** The number of reviewed heads. */
  readonly round?: string | undefined;
  readonly totals: RunView["totals"];
  readonly durationMs: number;
}

const MAX_REASON = 2_000;
/** Maximum length of the table of findings. The report gets the rest of the body. */
const MAX_TABLE = 24_000;
const NOTES = 1_000;

export function reportComment(comment: ReportComment): string {
  const { findings, listed = findings, omitted = 0, counts = "", origin, report } = comment;
  const { fingerprints, round } = comment;
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
  const { job, verdict, outcome } = comment;
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

function footer({ totals, durationMs, origin }: ReportComment): string {
  const facts = [
    plural(totals.modelCalls, "model call"),
    `${countText(totals.inputTokens)} tokens in, ${countText(totals.outputTokens)} out`,
    ...costWords(totals, (modelId) => codeText(modelId, MAX_NAME)),
    durationText(durationMs),
    `commit ${codeText(origin.head.slice(0, 12), 12)}`,
    runLink(origin, "run"),
  ];
  return `<sub>${facts.join(" · ")}</sub>`;
}

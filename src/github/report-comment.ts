/** Found again by the marker in its first line, which also keeps the fingerprints of the findings for the next run. */
import type { Finding, Verdict } from "../events/output-shapes.ts";
import { endWords, type RunOutcome } from "../events/event.ts";
import type { RunView } from "../events/view.ts";
import {
  bodyOf,
  markerLine,
  maxBody,
  rest,
  runLink,
  safeText,
  type Publisher,
} from "./comment-parts.ts";
import { countsText, findingsTable } from "./findings-table.ts";
import { codeText } from "./markdown.ts";
import { costText, countText, durationText, plural } from "../text/numbers.ts";
import { verdictTitle } from "../outputs/verdict.ts";

export interface ReportComment extends Publisher {
  readonly outcome: RunOutcome;
  readonly verdict?: Verdict | undefined;
  /** Markdown. */
  readonly report?: string | undefined;
  readonly findings: readonly Finding[];
  /** The number of findings that are not listed. */
  readonly omitted?: number;
  /** No finding is missing. */
  readonly complete: boolean;
  /** Fingerprints of the findings in the comment that is updated. */
  readonly earlier?: readonly string[];
  readonly totals: RunView["totals"];
  readonly durationMs: number;
}

const MAX_REASON = 2_000;
const MAX_NAME = 100;
/** Maximum length of the table of findings. The report gets the rest of the body. */
const MAX_TABLE = 24_000;
const NOTES = 1_000;

export function reportComment(comment: ReportComment): string {
  const { findings, omitted = 0, earlier = [], outcome, origin, report } = comment;
  // A failed run may have missed what is still there.
  const isComplete = outcome.kind === "succeeded" && comment.complete;
  const current = new Set(findings.map(({ fingerprint }) => fingerprint));
  const fingerprints = [...(isComplete ? current : new Set([...current, ...earlier]))];
  const key = `${origin.workflowRun}/${origin.attempt}`;
  const marker = markerLine(comment, { kind: "report", key, fingerprints });
  const { text: table } = findingsTable(findings, { target: origin, omitted, room: MAX_TABLE });
  const resolved = isComplete ? earlier.filter((one) => !current.has(one)).length : 0;
  const before = headline(comment);
  const after = [
    findings.length === 0 ? "" : `#### Findings: ${countsText(findings)}`,
    table,
    findings.length > 0 && table === "" ? rest(origin) : "",
    resolved === 0 ? "" : `Resolved since the last run: ${resolved}.`,
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
    ...(totals.cost > 0 ? [costText(totals.cost)] : []),
    durationText(durationMs),
    `commit ${codeText(origin.head.slice(0, 12), 12)}`,
    runLink(origin, "run"),
  ];
  return `<sub>${facts.join(" · ")}</sub>`;
}

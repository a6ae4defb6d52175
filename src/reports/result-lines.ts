/** What a run found, at its end: a line for the verdict, and one for each finding. */
import type { RunView } from "../events/view.ts";
import type { Finding, Verdict } from "../events/output-shapes.ts";
import { collectOutputs } from "../outputs/collect.ts";
import { verdictLine } from "../outputs/verdict.ts";
import type { Tone } from "./paint.ts";
import { oneLine, plural } from "./text.ts";

export interface ResultLine {
  readonly tone: Tone;
  /** One line, harmless. */
  readonly text: string;
}

const MAX_LINE = 600;
const MAX_PATH = 300;

export const severityTones: Readonly<Record<Finding["severity"], Tone>> = {
  error: "bad",
  warning: "warn",
  notice: "plain",
};
const verdictTones: Readonly<Record<Verdict["verdict"], Tone>> = {
  pass: "good",
  "needs-work": "warn",
  reject: "bad",
};

/** The findings come before the verdict, which is about them. */
export function resultLines(view: RunView): readonly ResultLine[] {
  const { findings, omitted, verdict } = collectOutputs(view);
  const lines = findings.map((finding): ResultLine => {
    return { tone: severityTones[finding.severity], text: findingLine(finding) };
  });
  if (omitted > 0) lines.push({ tone: "plain", text: `and ${plural(omitted, "more finding")}` });
  return verdict === undefined ? lines : [...lines, verdictResult(verdict)];
}

export function verdictResult(verdict: Verdict): ResultLine {
  return { tone: verdictTones[verdict.verdict], text: oneLine(verdictLine(verdict), MAX_LINE) };
}

/** `error at src/index.ts:3-5: The title: the message (rule)` */
export function findingLine(finding: Finding): string {
  const { path, line, endLine = line, severity, title, message, rule } = finding;
  const place = `${oneLine(path, MAX_PATH)}:${line}${endLine > line ? `-${endLine}` : ""}`;
  const about = oneLine(title === undefined ? message : `${title}: ${message}`, MAX_LINE);
  return `${severity} at ${place}: ${about} (${oneLine(rule, 100)})`;
}

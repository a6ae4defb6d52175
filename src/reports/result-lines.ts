/** The findings of a run, and its last line. */
import { oneLine } from "../text/harmless-text.ts";
import { costWords, plural } from "../text/numbers.ts";
import { sentence } from "../text/truncate.ts";
import { outcomeText } from "../events/event.ts";
import type { Finding, Verdict } from "../events/output-shapes.ts";
import { endText, type RunView } from "../events/view.ts";
import { collectOutputs, previousOutcomes, previousOutcomeText } from "../outputs/collect.ts";
import { verdictLine } from "../outputs/verdict.ts";
import type { Line, Tone } from "./paint.ts";

const MAX_LINE = 600;
const MAX_SAID = 300;
const tones: Readonly<Record<Finding["severity"] | Verdict["verdict"], Tone>> = {
  error: "bad",
  warning: "warn",
  notice: "plain",
  pass: "good",
  "needs-work": "warn",
  reject: "bad",
};

/** The lines before the last one, which has the verdict. */
export function resultLines(view: RunView): readonly Line[] {
  const { findings, omitted } = collectOutputs(view);
  const { reportedDocument: document } = view;
  const cost = costWords(view.totals).join(", ");
  return [
    ...(cost === "" ? [] : [said("cost", cost)]),
    ...(document === undefined ? [] : [said("reported document", document)]),
    ...findings.map(findingLine),
    ...previousOutcomes(view).map((one) =>
      said(oneLine(previousOutcomeText(one), MAX_SAID), one.text),
    ),
    ...(omitted > 0 ? [line("plain", `and ${plural(omitted, "more finding")}`)] : []),
  ];
}

function line(tone: Tone, text: string): Line {
  return { tone, from: "normal", text };
}

export function said(what: string, text: string): Line {
  return line("plain", `${what}: ${oneLine(text, MAX_SAID)}`);
}

export function verdictGiven(verdict: Verdict): Line {
  return line(tones[verdict.verdict], `verdict: ${oneLine(verdictLine(verdict), MAX_LINE)}`);
}

/** `error at src/index.ts:3-5: The title: the message (rule)` */
export function findingLine(finding: Finding): Line {
  const { path, line: from, endLine = from, severity, title, message, rule } = finding;
  const place = `${oneLine(path, MAX_SAID)}:${from}${endLine > from ? `-${endLine}` : ""}`;
  const about = oneLine(title === undefined ? message : `${title}: ${message}`, MAX_LINE);
  return line(tones[severity], `${severity} at ${place}: ${about} (${oneLine(rule, 100)})`);
}

export interface Exit {
  readonly passes: boolean;
  /** Why the exit code is what it is; empty for a plain success. */
  readonly reason: string;
  /** Clauses such as `the exit code is 1`, and why a failure passes. */
  readonly words: { readonly fails: string; readonly passes: string };
}

/** How a job ended, what the exit code means where that differs, and the verdict. `head`: such as `job x succeeded`. */
export function lastLine(view: RunView, head: string, exit: Exit): string {
  const { passes, words } = exit;
  const [reason = ""] = exit.reason.split("\n", 1);
  const { verdict } = collectOutputs(view);
  const isOther = reason !== "" && reason !== endText(view);
  const ended =
    endText(view) || (view.jobOutcome === undefined ? "" : outcomeText(view.jobOutcome));
  const own = ended === "" ? head : `${head}: ${ended}`;
  const but = `${own}, but ${words.fails}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
  const parts = [
    isOther && !passes ? but : own,
    ...(isOther && passes ? [reason] : []),
    ...(passes && (isOther || view.status === "failed") ? [words.passes] : []),
    ...(verdict === undefined ? [] : [`Verdict: ${verdictLine(verdict)}`]),
  ];
  return parts.map((part, index) => (index < parts.length - 1 ? sentence(part) : part)).join(" ");
}

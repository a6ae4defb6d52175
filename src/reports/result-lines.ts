/** The table of steps at the end of a log, the findings, and the last line. The summary of the job has its own table. */
import { oneLine } from "../text/harmless-text.ts";
import { costWords, plural, clockText, countText } from "../text/numbers.ts";
import { sentence, fitColumns, fit, fitName } from "../text/truncate.ts";
import { outcomeText } from "../events/event.ts";
import type { Finding, Verdict } from "../events/output-shapes.ts";
import {
  endText,
  type RunView,
  elapsedMs,
  itemsOf,
  itemsText,
  failuresFirst,
  statusText,
  isFailure,
  worksOf,
  type Counters,
  type WorkStatus,
  type WorkView,
} from "../events/view.ts";
import { collectOutputs, previousOutcomes, previousOutcomeText } from "../outputs/collect.ts";
import { verdictLine } from "../outputs/verdict.ts";
import type { Line, Tone, Paint } from "./paint.ts";
import stringWidth from "fast-string-width";

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

const MAX_ROWS = 100;
const MAX_ITEMS = 20;
const MIN_TASK = 8;

const header = ["#", "task", "status", "attempts", "calls", "tokens in", "out", "time"];
/** The column that gives way when the terminal is narrow. */
const TASK = 1;
const STATUS = 2;

/** A line for each work and one for the totals, at most `width` columns wide where that is possible. */
export function worksTable(view: RunView, width: number, paint: Paint): string[] {
  const now = view.endedAt ?? view.startedAt ?? 0;
  const all = worksOf(view);
  const shown = failuresFirst(all, MAX_ROWS);
  const rows = shown.flatMap((work) => [
    {
      cells: [
        String(work.workId),
        oneLine([work.taskId, itemsText(work)].filter((text) => text !== "").join(", "), 200),
        statusText(work.status),
        ...numbers(work, elapsedMs(work, now)),
      ],
      tone: toneOfStatus[work.status],
    },
    ...failedItems(work).map((cells) => ({ cells, tone: toneOfStatus.failed })),
  ]);
  const total = [
    "",
    view.rehearsed ? "total, rehearsed" : "total",
    "",
    ...numbers(view.totals, now - (view.startedAt ?? now)),
  ];
  const widths = columnWidths([header, ...rows.map(({ cells }) => cells), total], width);
  return [
    paint("faint", tableLine(header, widths)),
    ...rows.map(({ cells, tone }) => tableLine(cells, widths, (status) => paint(tone, status))),
    ...(shown.length < all.length
      ? [fitColumns(`… and ${all.length - shown.length} more`, width)]
      : []),
    paint("faint", tableLine(total, widths)),
  ];
}

function failedItems(work: WorkView): string[][] {
  const failed = itemsOf(work).filter(isFailure);
  const row = (name: string, status: string, time: string): string[] => {
    return ["", `  ${name}`, status, "", "", "", "", time];
  };
  const rows = failed
    .slice(0, MAX_ITEMS)
    .map(({ name, status, elapsedMs: took = 0 }) =>
      row(oneLine(name, 200), statusText(status), clockText(took)),
    );
  const left = failed.length - rows.length;
  return left > 0 ? [...rows, row(`… and ${left} more`, statusText("failed"), "")] : rows;
}

function numbers(counters: Counters, milliseconds: number): string[] {
  return [
    String(counters.attempts),
    countText(counters.modelCalls),
    countText(counters.inputTokens),
    countText(counters.outputTokens),
    clockText(milliseconds),
  ];
}

const toneOfStatus: Readonly<Record<WorkStatus, Tone>> = {
  succeeded: "good",
  failed: "bad",
  crashed: "bad",
  canceled: "warn",
  "answered-no": "plain",
  pending: "faint",
  skipped: "faint",
  running: "plain",
};

function columnWidths(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = header.map((_, column) =>
    rows.reduce((widest, cells) => Math.max(widest, stringWidth(cells[column] ?? "")), 0),
  );
  const tooMuch = widths.reduce((sum, each) => sum + each + 2, -2 - width);
  const task = widths[TASK] ?? 0;
  if (tooMuch > 0) widths[TASK] = Math.max(Math.min(task, MIN_TASK), task - tooMuch);
  return widths;
}

function tableLine(
  cells: readonly string[],
  widths: readonly number[],
  paintStatus: (status: string) => string = (status) => status,
): string {
  return cells
    .map((cell, column) => {
      const width = widths[column] ?? 0;
      if (column === TASK) return fitName(cell, width);
      return column === STATUS ? paintStatus(fit(cell, width)) : fit(cell, width, "right");
    })
    .join("  ")
    .trimEnd();
}

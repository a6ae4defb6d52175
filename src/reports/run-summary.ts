import { endText, type Counters, type RunStatus, type RunView } from "../events/view.ts";
import { truncate } from "../text/truncate.ts";

export interface RunSummary extends Pick<
  Counters,
  | "modelCalls"
  | "inputTokens"
  | "outputTokens"
  | "cost"
  | "attempts"
  | "retries"
  | "crashes"
  | "denials"
> {
  readonly runId: string;
  readonly jobName: string;
  /**
   * `running`: its end is not in the journal, because it still runs, or its process was killed on another machine.
   * `interrupted`: its process is gone.
   */
  readonly status: RunStatus | "interrupted";
  /** A script played the model. */
  readonly rehearsed?: true;
  /** ISO 8601; absent if the journal lacks the start of the run. */
  readonly startTime?: string;
  /** Absent until the run has ended. */
  readonly endTime?: string;
  /** The time up to its last event, if it has not ended. */
  readonly durationMs: number;
  /** Models with calls of unknown cost. Absent: there are none. */
  readonly unpriced?: readonly string[];
  /** Why it failed or was canceled, and what to do about it. */
  readonly reason?: string;
  /** The run that it continues, with that run's part of `cost`. */
  readonly resumed?: { readonly runId: string; readonly cost: number };
}

/** A journal of a folder, in the list of a server. */
export interface JournalInfo {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601. */
  readonly modified: string;
  readonly runs: readonly RunSummary[];
  /** How many lines can't be used, and other differences from what was written. */
  readonly problems: number;
}

/** Some journals of a folder, the latest first. */
export interface JournalPage {
  readonly journals: readonly JournalInfo[];
  /** The number of journals in the folder. */
  readonly total: number;
  /** The position of the next page. Absent on the last one. */
  readonly next?: string;
}

/** Shown in lists: the whole reason is in the run itself. */
const MAX_REASON = 1000;

export function summaryOf(view: RunView): RunSummary {
  const { runId, jobName, status, startedAt, endedAt, totals, firstAt, lastAt } = view;
  const { runs: _r, cacheReadTokens: _c, reasoningTokens: _t, unpriced, ...counters } = totals;
  const reason = endText(view);
  const { resumed } = view.plan ?? {};
  return {
    runId,
    jobName,
    // A run whose beginning is missing is running, too.
    status: status === "pending" ? "running" : status,
    ...(view.rehearsed && { rehearsed: true }),
    ...(startedAt !== undefined && { startTime: isoTime(startedAt) }),
    ...(endedAt !== undefined && { endTime: isoTime(endedAt) }),
    durationMs: Math.max(0, (endedAt ?? lastAt) - (startedAt ?? firstAt)),
    ...(unpriced.length > 0 && { unpriced }),
    ...(resumed && { resumed: { runId: resumed.runId, cost: resumed.cost } }),
    ...(reason !== "" && { reason: truncate(reason, MAX_REASON, "…") }),
    ...counters,
  };
}

/** A journal may contain any number: one that is no date becomes the last date that there is. */
function isoTime(at: number): string {
  return new Date(Math.min(at, 8.64e15)).toISOString();
}

/* The numbers of a run that are summed up and compared, in tables of runs. */

type Format = (value: number) => string;

export interface Figure {
  readonly key: "durationMs" | "tokens" | "cost" | "retries" | "crashes";
  readonly text: string;
  readonly of: (run: RunSummary) => number;
  readonly format: Format;
}

export function figuresIn(
  formats: Readonly<Record<"duration" | "count" | "credits", Format>>,
): readonly Figure[] {
  const { duration, count, credits } = formats;
  return [
    { key: "durationMs", text: "Duration", of: (run) => run.durationMs, format: duration },
    { key: "tokens", text: "Tokens", of: tokensOf, format: count },
    { key: "cost", text: "Credits", of: (run) => run.cost, format: credits },
    { key: "retries", text: "Retries", of: (run) => run.retries, format: count },
    { key: "crashes", text: "Crashes", of: (run) => run.crashes, format: count },
  ];
}

export function tokensOf({ inputTokens, outputTokens }: RunSummary): number {
  return inputTokens + outputTokens;
}

/** From the first run to the second, such as `−340 ms (−12 %)`; undefined where both look the same. */
export function differenceOf({ of, format }: Figure, a: RunSummary, b: RunSummary) {
  const [from, to] = [of(a), of(b)];
  if (from === to || format(from) === format(to)) return undefined;
  const sign = to > from ? "+" : "−";
  const by = `${sign}${format(Math.abs(to - from))}`;
  if (from === 0) return by;
  const percent = Math.round((Math.abs(to - from) / from) * 100);
  return `${by} (${sign}${percent.toLocaleString("en-US")} %)`;
}

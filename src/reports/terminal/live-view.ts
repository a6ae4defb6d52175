/**
 * The running works, below the log. Each refresh is one write, so a partial frame is never visible. The cursor is never
 * hidden, so that no way to die can leave it so. Lines that a narrower terminal wraps are erased at their new height.
 */
import stringWidth from "fast-string-width";
import type { OpenAction, RunView, WorkView } from "../../events/view.ts";
import type { Clock } from "../../platform/clock.ts";
import {
  actionDoing,
  actionsUnderWay,
  busySession,
  doing,
  phaseOf,
  runningLabel,
  runningWorks,
} from "../doing.ts";
import type { Paint } from "../paint.ts";
import { fitColumns, fitName } from "../../text/truncate.ts";
import { oneLine } from "../../text/harmless-text.ts";
import { clockText, countText, plural } from "../../text/numbers.ts";

export interface LiveStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface LiveView {
  start(view: RunView): void;
  /** Whole lines, each with its LF, above the frame. */
  print(lines: string): void;
  /** Removes the frame and prints the remaining lines. Idempotent. `start` starts again. */
  stop(): void;
}

const REFRESH_MS = 100;
/** So much text is written at once, without waiting for the next refresh. */
const MAX_WAITING = 64 * 1024;

export function createLiveView(stream: LiveStream, clock: Clock, paint: Paint): LiveView {
  let drawn: readonly string[] = [];
  let waiting = "";
  let ticks = 0;
  let running: AbortController | undefined;

  const draw = (columns: number, lines: readonly string[]): void => {
    const height = drawn.reduce((sum, line) => sum + rowsOf(line, columns), 0);
    const erase = height === 0 ? "" : `\u001B[${height}A\u001B[J`;
    const text = erase + waiting + lines.map((line) => `${line}\n`).join("");
    drawn = lines;
    waiting = "";
    if (text !== "") stream.write(`\u001B[?2026h${text}\u001B[?2026l`);
  };
  const columnsNow = (): number => Math.max(1, stream.columns ?? 80);

  const refresh = (view: RunView): void => {
    const columns = columnsNow();
    const rows = Math.max(1, stream.rows ?? 24);
    draw(columns, frame(view, clock.now(), columns, rows, ticks, paint));
    ticks += 1;
  };

  const keepRefreshing = async (view: RunView, signal: AbortSignal): Promise<void> => {
    for (;;) {
      await clock.sleep(REFRESH_MS, signal);
      if (signal.aborted) return;
      refresh(view);
    }
  };

  return {
    start(view) {
      if (running !== undefined) return;
      running = new AbortController();
      void keepRefreshing(view, running.signal);
    },
    print(lines) {
      waiting += lines;
      if (running === undefined || waiting.length > MAX_WAITING) draw(columnsNow(), []);
    },
    stop() {
      running?.abort();
      running = undefined;
      draw(columnsNow(), []);
    },
  };
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(stringWidth(line) / columns));
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export function frame(
  view: RunView,
  now: number,
  columns: number,
  rows: number,
  tick: number,
  paint: Paint,
): string[] {
  const width = columns - 1;
  const running = runningWorks(view);
  if (running.length === 0) return [];
  const { totals, works, startedAt = now } = view;
  const isDone = ({ status }: WorkView): boolean => status !== "pending" && status !== "running";
  const queued = running.filter((work) => phaseOf(work) === "queued").length;
  const facts = [
    `${running.length - queued} running`,
    ...(queued > 0 ? [`${queued} queued`] : []),
    `${[...works.values()].filter(isDone).length} of ${works.size} done`,
    clockText(now - startedAt),
    plural(totals.modelCalls, "model call"),
    `${countText(totals.inputTokens + totals.outputTokens)} tokens`,
  ];
  // At most 60 % of the terminal: the log above stays readable.
  const room = Math.max(0, Math.floor(rows * 0.6) - 1);
  const first = running.slice(0, room);
  const label = Math.min(
    Math.max(8, Math.floor(width * 0.4)),
    first.reduce((widest, work) => Math.max(widest, stringWidth(runningLabel(work))), 0),
  );
  const lines = first.flatMap((work) => [
    workLine(work, now, width, label, tick, paint),
    ...actionsUnderWay(work)
      .slice(0, MAX_ACTIONS)
      .map((action) => paint("faint", fitColumns(actionLine(action, now), width))),
  ]);
  if (lines.length > room || first.length < running.length)
    lines.splice(Math.max(0, room - 1), lines.length, ...(room > 0 ? ["…"] : []));
  return [paint("faint", fitColumns(facts.join(", "), width)), ...lines];
}

const MAX_ACTIONS = 4;
const BAR = 20;

function actionLine(action: OpenAction, now: number): string {
  const { percent, message = "", startedAt = now } = action;
  const filled = Math.round(((percent ?? 0) / 100) * BAR);
  const bar = percent === undefined ? "" : ` ${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  const said = message === "" ? "" : ` ${oneLine(message, 100)}`;
  return `    ${actionDoing(action)}${bar} ${clockText(now - startedAt)}${said}`;
}

/** A narrow terminal cuts the end, so the least important facts come last. */
function workLine(
  work: WorkView,
  now: number,
  width: number,
  label: number,
  tick: number,
  paint: Paint,
): string {
  const session = busySession(work) ?? [...work.sessions.values()].at(-1);
  const sign = phaseOf(work) === "queued" ? "·" : spinner[tick % spinner.length];
  const start = fitColumns(`${sign} ${fitName(runningLabel(work), label)}`, width);
  const facts = [
    doing(work, now),
    plural(work.modelCalls, "call"),
    oneLine(session?.modelId ?? work.modelId, 100),
  ];
  const rest = ` ${clockText(now - (work.startedAt ?? now))} ${facts.join(", ")}`;
  return paint("name", start) + fitColumns(rest, Math.max(0, width - stringWidth(start)));
}

/**
 * The running works, below the log, redrawn ten times a second. Owns the bottom of the terminal between
 * `start` and `stop`; everything else that wants to be printed meanwhile goes through `print`.
 *
 * - Each refresh is one write (erase, new log lines, new frame), so a partial frame is never visible.
 * - The cursor is never hidden, so that no way to die can leave it hidden.
 * - A frame has fewer lines than the terminal, and each line fewer columns: the terminal wraps none of them.
 *   When it gets narrower it wraps those already drawn; they are erased at their new height.
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
import { clockText, countText, cutMiddle, cutTo, fitName, oneLine, plural } from "../text.ts";

export interface LiveStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface LiveView {
  start(): void;
  /** Whole lines, each with its LF, above the frame. */
  print(lines: string): void;
  /** Removes the frame and prints the remaining lines. Idempotent. `start` starts again. */
  stop(): void;
}

const REFRESH_MS = 100;
/** So much text is written at once, without waiting for the next refresh. */
const MAX_WAITING = 64 * 1024;

export function createLiveView(
  stream: LiveStream,
  clock: Clock,
  view: RunView,
  paint: Paint,
  /** `line`: the totals alone, as a sign of life. */
  form: "full" | "line" = "full",
): LiveView {
  let drawn: readonly string[] = [];
  let waiting = "";
  let ticks = 0;
  let running: AbortController | undefined;

  /** In one write: the frame is erased, what waits is printed, and `lines` are the new frame. */
  const draw = (columns: number, lines: readonly string[]): void => {
    const height = drawn.reduce((sum, line) => sum + rowsOf(line, columns), 0);
    const erase = height === 0 ? "" : `\u001B[${height}A\u001B[J`;
    const text = erase + waiting + lines.map((line) => `${line}\n`).join("");
    drawn = lines;
    waiting = "";
    if (text !== "") stream.write(`\u001B[?2026h${text}\u001B[?2026l`);
  };
  const columnsNow = (): number => Math.max(1, stream.columns ?? 80);

  const refresh = (): void => {
    const columns = columnsNow();
    const rows = Math.max(1, stream.rows ?? 24);
    const whole = frame(view, clock.now(), columns, rows, ticks, paint);
    const sign = spinner[ticks % spinner.length] ?? "";
    const [head] = whole;
    ticks += 1;
    if (form === "full" || head === undefined) draw(columns, whole);
    else draw(columns, [cutTo(`${sign} ${head}`, columns - 1)]);
  };

  const keepRefreshing = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      await clock.sleep(REFRESH_MS, signal);
      if (signal.aborted) return;
      refresh();
    }
  };

  return {
    start() {
      if (running !== undefined) return;
      running = new AbortController();
      void keepRefreshing(running.signal);
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

/** Exported for its test: the lines of one frame. */
export function frame(
  view: RunView,
  now: number,
  columns: number,
  rows: number,
  tick: number,
  paint: Paint,
): string[] {
  const width = columns - 1;
  const works = [...view.works.values()];
  const running = runningWorks(view);
  if (running.length === 0) return [];
  const done = works.filter(({ status }) => status !== "pending" && status !== "running").length;
  const queued = running.filter((work) => phaseOf(work) === "queued").length;
  const { totals } = view;
  const mark = spinner[tick % spinner.length] ?? "";
  const facts = [
    `${running.length - queued} running`,
    ...(queued > 0 ? [`${queued} queued`] : []),
    `${done} of ${works.length} done`,
    clockText(now - (view.startedAt ?? now)),
    plural(totals.modelCalls, "model call"),
    `${countText(totals.inputTokens + totals.outputTokens)} tokens`,
  ];
  const head = cutTo(facts.join(", "), width);
  // At most 60 % of the terminal: the log above stays readable.
  const room = Math.max(0, Math.floor(rows * 0.6) - 1);
  const shown = running.length <= room ? running : running.slice(0, Math.max(0, room - 1));
  const label = Math.min(
    Math.max(8, Math.floor(width * 0.4)),
    shown.reduce((widest, work) => Math.max(widest, stringWidth(runningLabel(work))), 0),
  );
  const lines = [paint("faint", head)];
  // Works come first: their actions share what room is left.
  let left = room - shown.length - (shown.length < running.length ? 1 : 0);
  for (const work of shown) {
    lines.push(workLine(work, now, width, label, mark, paint));
    const actions = actionLines(work, now, width, Math.min(MAX_ACTIONS, left));
    left -= actions.length;
    for (const line of actions) lines.push(paint("faint", line));
  }
  if (shown.length < running.length && room > 0) {
    lines.push(paint("faint", cutTo(`… and ${running.length - shown.length} more`, width)));
  }
  return lines;
}

const MAX_ACTIONS = 6;
const BAR = 20;

/** The actions that run; at most `room` lines. */
function actionLines(work: WorkView, now: number, width: number, room: number): readonly string[] {
  if (room < 1) return [];
  const running = actionsUnderWay(work);
  const shown = running.length <= room ? running : running.slice(0, Math.max(1, room - 1));
  const name = shown.reduce(
    (widest, action) => Math.max(widest, stringWidth(actionDoing(action))),
    0,
  );
  const lines = shown.map((action) => actionLine(action, now, width, name));
  if (shown.length < running.length && room > 1)
    lines.push(`    … and ${running.length - shown.length} more actions`);
  return lines.map((line) => cutTo(line, width));
}

function actionLine(action: OpenAction, now: number, width: number, name: number): string {
  const { percent, message = "", startedAt = now } = action;
  const text = actionDoing(action);
  const time = clockText(now - startedAt);
  // On a narrow terminal the number is enough.
  const hasRoom = percent !== undefined && width >= name + BAR + 16;
  const filled = Math.round(((percent ?? 0) / 100) * BAR);
  const bar = hasRoom ? ` ${"█".repeat(filled)}${"░".repeat(BAR - filled)}` : "";
  const padding = hasRoom ? " ".repeat(name - stringWidth(text)) : "";
  const said = message === "" ? "" : ` ${oneLine(message, 100)}`;
  return `    ${text}${padding}${bar} ${time}${said}`;
}

function workLine(
  work: WorkView,
  now: number,
  width: number,
  label: number,
  mark: string,
  paint: Paint,
): string {
  const session = busySession(work) ?? [...work.sessions.values()].at(-1);
  const details = [doing(work, now)];
  // On a narrow terminal the tool is worth more than the model.
  if (width >= 50) details.unshift(plural(work.modelCalls, "call"));
  if (width >= 64) details.unshift(oneLine(session?.modelId ?? work.modelId, 100));
  const sign = phaseOf(work) === "queued" ? "·" : mark;
  const start = `${sign} ${fitName(runningLabel(work), label)}`;
  // Of the current run, not of all: this is what a user who watches wants to know.
  const rest = ` ${clockText(now - (work.startedAt ?? now))} ${details.join(", ")}`;
  return (
    paint("name", cutMiddle(start, width)) + cutTo(rest, Math.max(0, width - stringWidth(start)))
  );
}

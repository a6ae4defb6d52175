/** A run on a terminal or in a log file. Text of an agent, a tool or an entry never reaches the terminal raw. */
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";
import type { RunEvent, WorkRef } from "../../events/event.ts";
import { plannedWorks } from "../../events/plan.ts";
import type { Reporter } from "../../events/sink.ts";
import type { RunView, WorkView, OpenAction } from "../../events/view.ts";
import { eventLines } from "../event-lines.ts";
import { createPaint, type Verbosity, type Paint } from "../paint.ts";
import { lastLine, resultLines, type Exit, worksTable } from "../result-lines.ts";
import {
  Heartbeat,
  actionDoing,
  actionsUnderWay,
  busySession,
  doing,
  phaseOf,
  runningLabel,
  runningWorks,
} from "../doing.ts";
import { fitColumnsMiddle, fitColumns, fitName } from "../../text/truncate.ts";
import { harmless, oneLine, paragraph } from "../../text/harmless-text.ts";
import { clockText, countText, plural } from "../../text/numbers.ts";
import type { Clock } from "../../platform/clock.ts";

export interface TerminalStream extends LiveStream {
  readonly isTTY?: boolean | undefined;
}

export interface TerminalOptions {
  readonly stream: TerminalStream;
  readonly verbosity: Verbosity;
  readonly colors: boolean;
  /** A view of the running works below the log; takes effect on a TTY only, and not with `quiet`. */
  readonly live: boolean;
  readonly clock: Clock;
  readonly pause?: TerminalPause;
  /** Draws what ran, at the end. */
  readonly chart?: ((view: RunView) => string) | undefined;
}

/** Lets a question to a person have the terminal: the live view is gone until the answer, and the log waits. */
export interface TerminalPause {
  /** Set by the reporter. */
  setPaused: (paused: boolean) => void;
}

/** The width of a log file. */
const LOG_COLUMNS = 120;
/** On a narrower terminal, the terminal itself breaks lines. */
const MIN_COLUMNS = 20;
const MAX_LABEL = 32;
const MAX_STILL = 600;
const SAID_LINES = 20;
const SAID_LENGTH = 4000;
const RESULT_LINES = 200;
const RESULT_LENGTH = 20_000;
const MAX_LAST = 4000;

export function createTerminalReporter(options: TerminalOptions): Reporter {
  const { stream, verbosity, clock } = options;
  const tty = stream.isTTY === true;
  const paint = createPaint(options.colors);
  const isQuiet = verbosity === "quiet";
  const live = options.live && tty && !isQuiet ? createLiveView(stream, clock, paint) : undefined;
  /** Undefined until the first event. */
  let view: RunView | undefined;
  let labelWidth = 0;
  let over = false;
  /** Lines that were printed during a pause. Undefined: there is none. */
  let held: string[] | undefined;

  const heartbeat = new Heartbeat(clock, (now, line) =>
    printLine(now, paint("faint", oneLine(line, MAX_STILL))),
  );

  const print = (line: string): void => {
    if (held !== undefined) return void held.push(line);
    heartbeat.printed();
    if (live === undefined) stream.write(`${line}\n`);
    else live.print(`${line}\n`);
  };

  const wrapped = (begin: string, text: string): string => wrap(stream, begin, text);

  const printLine = (at: number, text: string): void =>
    print(wrapped(`${paint("faint", clockText(at - (view?.startedAt ?? at)))} `, text));

  const resume = (): void => {
    const lines = held;
    if (lines === undefined) return;
    held = undefined;
    lines.forEach(print);
    if (view?.startedAt !== undefined && !over) live?.start(view);
  };

  if (tty && options.pause !== undefined) {
    options.pause.setPaused = (now) => {
      if (!now || over) return resume();
      live?.stop();
      held ??= [];
    };
  }

  const label = (work: WorkRef | null): string => {
    if (work === null) return "";
    const name = workLabel(work);
    const padding = " ".repeat(Math.max(0, labelWidth - stringWidth(name)) + 1);
    return paint("name", name) + padding;
  };

  const printEvent = (event: RunEvent, view: RunView): void => {
    for (const line of eventLines(event, view, verbosity)) {
      printLine(event.at, label(line.work) + paint(line.tone, line.text));
    }
  };

  const printEnd = (view: RunView): void => {
    resume();
    live?.stop();
    heartbeat.stop();
    if (!isQuiet) {
      const words = lastWords(view).map((line) => {
        const text = line.trimStart();
        return wrapped(line.slice(0, line.length - text.length), text);
      });
      const chart = harmless(options.chart?.(view) ?? "").trimEnd();
      for (const section of [words.join("\n"), chart]) if (section !== "") print(`\n${section}`);
      print(
        ["", ...worksTable(view, tty ? (stream.columns ?? 80) : LOG_COLUMNS, paint)].join("\n"),
      );
      print("");
      for (const line of resultLines(view)) print(wrapped("", paint(line.tone, line.text)));
    }
    over = true;
  };

  return {
    name: "terminal",
    report(event, shared) {
      if (over) return;
      view = shared;
      if (event.type === "run.started") {
        labelWidth = plannedWorks(event.work).reduce(
          (widest, work) => Math.max(widest, stringWidth(workLabel({ ...work, iteration: 1 }))),
          0,
        );
        live?.start(view);
        if (live === undefined && !isQuiet) heartbeat.start(view);
      }
      if (event.type === "run.ended") printEnd(view);
      else printEvent(event, view);
    },
    async close() {
      over = true;
      resume();
      live?.stop();
      heartbeat.stop();
    },
  };
}

function workLabel(work: WorkRef): string {
  const name = fitColumnsMiddle(oneLine(`#${work.workId} ${work.taskId}`, 200), MAX_LABEL);
  if (work.item !== undefined)
    return `${name} ${fitColumnsMiddle(oneLine(work.item, 200), MAX_LABEL)}`;
  return work.iteration > 1 ? `${name} iteration ${work.iteration}` : name;
}

/** The RESULT of each workflow, else what the agent that spoke last has said. */
function lastWords(view: RunView): string[] {
  const results = [...view.works.values()].flatMap((work) => {
    const { flow, report = "" } = work;
    const lines = flow === undefined ? [] : paragraph(report, RESULT_LINES, RESULT_LENGTH);
    return report.trim() === "" || lines.length === 0 ? [] : quoted("RESULT of", work, lines);
  });
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  const { lastMessage, flow, report } = speaker ?? {};
  const isShown = flow !== undefined && report !== undefined;
  if (speaker === undefined || lastMessage === undefined || isShown) return results;
  return [...quoted("", speaker, paragraph(lastMessage, SAID_LINES, SAID_LENGTH)), ...results];
}

function quoted(what: string, work: WorkView, lines: readonly string[]): string[] {
  const { workId, taskId, runs: iteration } = work;
  const label = workLabel({ workId, taskId, iteration });
  const title = what === "" ? `${label} said:` : `${what} ${label}:`;
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())];
}

/** Prints the last line, which only the caller knows: what the exit code means is decided after the run. */
export function printLastLine(
  { stream, colors }: Pick<TerminalOptions, "stream" | "colors">,
  view: RunView,
  exit: Exit,
): void {
  const { status, jobName } = view;
  const tone =
    !exit.passes && status !== "canceled" ? "bad" : status === "succeeded" ? "good" : "warn";
  const mark = view.rehearsed ? " (rehearsal)" : "";
  const line = lastLine(view, `job ${oneLine(jobName, 200)} ${status}${mark}`, exit);
  stream.write(`${wrap(stream, "", createPaint(colors)(tone, oneLine(line, MAX_LAST)))}\n`);
}

/** On a terminal, lines end between words, and those that go on are indented. A long word, such as a URL, stays whole. */
function wrap(stream: TerminalStream, begin: string, text: string): string {
  if (stream.isTTY !== true) return begin + text;
  const indent = stringWidth(begin);
  // Some terminals don't know their width and report 0.
  const width = stream.columns === 0 ? undefined : stream.columns;
  const columns = Math.max(MIN_COLUMNS, (width ?? 80) - indent);
  return begin + wrapAnsi(text, columns).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

interface LiveStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/**
 * The running works, below the log. Each refresh is one write, so a partial frame is never visible. The cursor is never
 * hidden, so that no way to die can leave it so. Lines that a narrower terminal wraps are erased at their new height.
 */
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

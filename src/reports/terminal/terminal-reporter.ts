/** A run on a terminal or in a log file. Text of an agent, a tool or an entry never reaches the terminal raw. */
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";
import { outcomeText, type RunEvent, type RunOutcome, type WorkRef } from "../../events/event.ts";
import { plannedWorks } from "../../events/plan.ts";
import type { Reporter } from "../../events/sink.ts";
import { applyEvent, createRunView, type RunView } from "../../events/view.ts";
import { eventLines, resultLines, type Verbosity } from "../event-line.ts";
import { createLiveView, type LiveStream } from "./live-view.ts";
import { chartOf } from "../flow-chart.ts";
import { createPaint } from "../paint.ts";
import { Heartbeat } from "../doing.ts";
import { clockText, cutMiddle, harmless, oneLine, paragraph } from "../text.ts";
import { worksTable } from "../works-table.ts";
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
  /** A Mermaid chart of what ran, at the end. */
  readonly chart?: boolean;
}

/** Lets a question to a person have the terminal: the live view is gone until the answer, and the log waits. */
export interface TerminalPause {
  /** Set by the reporter. */
  setPaused: (paused: boolean) => void;
}

/** Without a terminal there is no width to keep to. */
const LOG_COLUMNS = 120;
/** On a narrower terminal, the terminal itself breaks lines. */
const MIN_COLUMNS = 20;
const MAX_LABEL = 32;
const MAX_STILL = 600;
const SAID_LINES = 20;
const SAID_LENGTH = 4000;

export function createTerminalReporter(options: TerminalOptions): Reporter {
  const { stream, verbosity, clock } = options;
  const tty = stream.isTTY === true;
  const paint = createPaint(options.colors);
  const view = createRunView();
  const isQuiet = verbosity === "quiet";
  const live =
    options.live && tty && !isQuiet ? createLiveView(stream, clock, view, paint) : undefined;
  let labelWidth = 0;
  let over = false;
  /** What was printed during a pause; undefined: there is none. */
  let held: string[] | undefined;

  const heartbeat = new Heartbeat(clock, view, (now, line) =>
    printLine(now, paint("faint", oneLine(line, MAX_STILL))),
  );

  const print = (line: string): void => {
    if (held !== undefined) return void held.push(line);
    heartbeat.printed();
    if (live === undefined) stream.write(`${line}\n`);
    else live.print(`${line}\n`);
  };

  /** On a terminal, lines end between words, and those that go on are indented. A long word, such as a URL, stays whole. */
  const wrapped = (begin: string, text: string): string => {
    if (!tty) return begin + text;
    const indent = stringWidth(begin);
    // Some terminals don't know their width and report 0.
    const width = stream.columns === 0 ? undefined : stream.columns;
    const columns = Math.max(MIN_COLUMNS, (width ?? 80) - indent);
    return begin + wrapAnsi(text, columns).replaceAll("\n", `\n${" ".repeat(indent)}`);
  };

  const printLine = (at: number, text: string): void =>
    print(wrapped(`${paint("faint", clockText(at - (view.startedAt ?? at)))} `, text));

  const resume = (): void => {
    const lines = held;
    if (lines === undefined) return;
    held = undefined;
    lines.forEach(print);
    if (view.startedAt !== undefined && !over) live?.start();
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

  const printEvent = (event: RunEvent): void => {
    for (const line of eventLines(event, view, verbosity)) {
      printLine(event.at, label(line.work) + paint(line.tone, line.text));
    }
  };

  const printEnd = (outcome: RunOutcome): void => {
    resume();
    live?.stop();
    heartbeat.stop();
    if (!isQuiet) {
      const words = lastWords(view).map((line) => {
        const text = line.trimStart();
        return wrapped(line.slice(0, line.length - text.length), text);
      });
      const chart = options.chart === true ? harmless(chartOf(view)).trimEnd() : "";
      for (const section of [words.join("\n"), chart]) if (section !== "") print(`\n${section}`);
      print(
        ["", ...worksTable(view, tty ? (stream.columns ?? 80) : LOG_COLUMNS, paint)].join("\n"),
      );
      print("");
      for (const line of resultLines(view)) print(wrapped("", paint(line.tone, line.text)));
    }
    const tone = outcome.kind === "succeeded" ? "good" : outcome.kind === "failed" ? "bad" : "warn";
    print(wrapped("", paint(tone, lastLine(view.jobName, outcome))));
    over = true;
  };

  return {
    name: "terminal",
    report(event) {
      if (over) return;
      applyEvent(view, event);
      if (event.type === "run.started") {
        labelWidth = plannedWorks(event.work).reduce(
          (widest, work) => Math.max(widest, stringWidth(workLabel({ ...work, iteration: 1 }))),
          0,
        );
        live?.start();
        if (live === undefined && !isQuiet) heartbeat.start();
      }
      if (event.type === "run.ended") printEnd(event.outcome);
      else printEvent(event);
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
  const name = cutMiddle(oneLine(`#${work.workId} ${work.taskId}`, 200), MAX_LABEL);
  if (work.item !== undefined) return `${name} ${cutMiddle(oneLine(work.item, 200), MAX_LABEL)}`;
  return work.iteration > 1 ? `${name} iteration ${work.iteration}` : name;
}

function lastWords(view: RunView): string[] {
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  if (speaker?.lastMessage === undefined) return [];
  const { workId, taskId, runs: iteration } = speaker;
  const label = workLabel({ workId, taskId, iteration });
  return [
    `${label} said:`,
    ...paragraph(speaker.lastMessage, SAID_LINES, SAID_LENGTH).map((line) => `  ${line}`.trimEnd()),
  ];
}

function lastLine(jobName: string, outcome: RunOutcome): string {
  const end =
    outcome.kind === "succeeded"
      ? "succeeded"
      : `${outcome.kind}: ${oneLine(outcomeText(outcome), 2000)}`;
  return `job ${oneLine(jobName, 200)} ${end}`;
}

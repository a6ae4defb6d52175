/**
 * The log of a step. A group can neither be nested nor reopened, so the last lines of a work are printed as one at its
 * end; starts and failures also at once. No foreign text can be a command: a line begins with a prefix of ours,
 * its old markers are broken, and a group's content stands between `::stop-commands::` and its token.
 */
import type { AnnotationProperties } from "@actions/core";
import type { RunEvent, WorkRef } from "../events/event.ts";
import { iterationOf, type RunView } from "../events/view.ts";
import { eventLines, isUrgent, startOfJob, startText } from "../reports/event-lines.ts";
import { resultLines, worksTable } from "../reports/result-lines.ts";
import { breakOldMarker, logLine, paragraph } from "../text/harmless-text.ts";
import { createPaint } from "../reports/paint.ts";
import { clockText, plural } from "../text/numbers.ts";
import { workKey } from "../events/plan.ts";
import { truncate } from "../text/truncate.ts";

/** The part of `@actions/core` that we use. `writeSummary` wraps its `summary`. */
export interface GithubCore {
  readonly info: (message: string) => void;
  readonly startGroup: (name: string) => void;
  readonly endGroup: () => void;
  readonly error: Annotate;
  readonly warning: Annotate;
  readonly notice: Annotate;
  /** Replaces the summary of the step. */
  readonly writeSummary: (markdown: string) => Promise<void>;
}

export type Annotate = (message: string, properties: AnnotationProperties) => void;

/** Prints one line to the log. `text` must begin with a fixed prefix, so that it can be no workflow command. */
export function sayLine(core: Pick<GithubCore, "info">, text: string): void {
  core.info(logLine(text, 4000));
}

/** Lines kept of a work that runs, and the length of each in UTF-16 units. */
const KEPT = 400;
const LENGTH = 1000;
const SAID_LINES = 60;
const SAID_LENGTH = 16_000;

interface Kept {
  readonly work: WorkRef;
  readonly lines: string[];
  left: number;
}

export function createGithubLog(
  core: Pick<GithubCore, "info" | "startGroup" | "endGroup">,
  randomToken: () => string,
  hasJournal: boolean,
) {
  const where = hasJournal ? ": see the journal" : "";
  const running = new Map<string, Kept>();

  const print = (work: WorkRef | null, time: string, text: string): void => {
    const name = work === null ? "" : `${nameOf(work)}: `;
    core.info(`${time} ${logLine(name + text, LENGTH)}`);
  };

  const printLive = (event: RunEvent, view: RunView, time: string): void => {
    // A line that belongs to no step is in no group.
    const isShown = isUrgent(event) || (event.type === "decision" && event.work === null);
    for (const line of eventLines(event, view, isShown ? "normal" : "quiet"))
      print(line.work, time, line.text);
  };

  const printGroup = (kept: Kept, title: string): void => {
    core.startGroup(logLine(`${nameOf(kept.work)} ${title}`, LENGTH));
    const token = randomToken();
    core.info(`::stop-commands::${token}`);
    try {
      if (kept.left > 0) core.info(`… ${plural(kept.left, "line")} omitted${where}`);
      for (const line of kept.lines) core.info(line);
    } finally {
      core.info(`::${token}::`);
      core.endGroup();
    }
  };

  const keptOf = (work: WorkRef): Kept => {
    const known = running.get(workKey(work));
    if (known !== undefined) return known;
    const kept = { work, lines: [], left: 0 };
    running.set(workKey(work), kept);
    return kept;
  };

  const flush = (key: string, title: string): void => {
    const kept = running.get(key);
    if (kept === undefined) return;
    running.delete(key);
    printGroup(kept, title);
  };

  return {
    report(event: RunEvent, view: RunView): void {
      const time = clockText(event.at - (view.startedAt ?? event.at));
      switch (event.type) {
        case "run.started":
        case "run.ended":
          if (event.type === "run.ended") this.end();
          for (const line of runLines(event, view, time)) core.info(line);
          return;
        case "items.listed":
          return;
        case "work.ended":
          printLive(event, view, time);
          keep(keptOf(event.work), linesOf(event, view), time, event.work.taskId);
          // The end of what was run on behalf of an action is not the end of the work.
          if (event.work.taskId !== view.works.get(event.work.workId)?.taskId) return;
          flush(workKey(event.work), ended(event, view));
          return;
        default:
          printLive(event, view, time);
          if (event.type === "work.started") print(event.work, time, startText(event));
          if (event.work !== null)
            keep(keptOf(event.work), linesOf(event, view), time, event.work.taskId);
      }
    },
    end(): void {
      for (const key of running.keys()) flush(key, "did not end");
    },
  };
}

function nameOf({ workId, taskId, iteration, item }: WorkRef): string {
  const which = item !== undefined ? ` ${item}` : iteration > 1 ? ` iteration ${iteration}` : "";
  return `#${workId} ${taskId}${which}`;
}

function ended(event: Extract<RunEvent, { type: "work.ended" }>, view: RunView): string {
  const work = view.works.get(event.work.workId);
  const { outcome } = event;
  const kind =
    outcome.kind === "canceled"
      ? "canceled"
      : work?.status === "answered-no"
        ? "answered no"
        : outcome.kind;
  if (work === undefined) return kind;
  const { finishedMs, attempts, modelCalls } = iterationOf(work);
  return `${kind} after ${clockText(finishedMs)}, ${plural(attempts, "attempt")}, ${plural(modelCalls, "model call")}`;
}

/** The lines of an event in the group of its work. The first line follows the time, the others are indented. */
function linesOf(event: RunEvent, view: RunView): readonly string[] {
  if (event.type === "activity" && event.activity.kind === "message.ended") {
    const { text } = event.activity;
    if (text.trim() === "") return [];
    return ["says:", ...paragraph(text, SAID_LINES, SAID_LENGTH).map((line) => `  ${line}`)];
  }
  // The previous event has already shown the message.
  if (event.type === "turn.ended") return [];
  return eventLines(event, view, "verbose").map(({ text }) => text);
}

/** `task`: whose lines these are. */
function keep(kept: Kept, all: readonly string[], time: string, task: string): void {
  // It was run on behalf of an action.
  const lines = task === kept.work.taskId ? all : all.map((line) => `${task}: ${line}`);
  for (const [index, text] of lines.entries()) {
    // `| ` keeps a line of an agent from being the start of a line. Output has it already.
    const mark = /^\|( |$)/.test(text) ? "" : "| ";
    const line =
      index === 0 ? `${time} ${logLine(text, LENGTH)}` : `      ${mark}${shortened(text)}`;
    kept.lines.push(line);
    if (kept.lines.length > KEPT) {
      kept.lines.shift();
      kept.left += 1;
    }
  }
}

/** Shortens a line that is harmless already, and keeps its indentation. */
function shortened(line: string): string {
  return breakOldMarker(line.length <= LENGTH ? line : truncate(line, LENGTH - 1, "…")).trimEnd();
}

function runLines(
  event: Extract<RunEvent, { type: "run.started" | "run.ended" }>,
  view: RunView,
  time: string,
): readonly string[] {
  if (event.type === "run.started") {
    return [logLine(`${time} ${startOfJob(event)}`, LENGTH)];
  }
  // Each row starts with a number or a word of the table.
  const table = worksTable(view, 120, createPaint(false)).map((row) => `  ${breakOldMarker(row)}`);
  const found = resultLines(view).map(({ text: line }) => logLine(`${time} ${line}`, LENGTH));
  return [...table, ...found];
}

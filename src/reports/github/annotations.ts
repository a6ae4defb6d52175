/**
 * Chooses the annotations of a step: failed tasks first, then findings, then other problems. GitHub shows ten per level and
 * step. If there are more, the tenth gives their number.
 */
import { defined } from "../../document/guards.ts";
import type { Diagnostic } from "../../document/diagnostic.ts";
import { diagnosticMessage } from "../../document/diagnostic.ts";
import { decisionTraits } from "../../events/decision.ts";
import {
  endText,
  flowNode,
  wentBadly,
  type ActivityView,
  type DecisionEntry,
  type RunView,
  type WorkView,
} from "../../events/view.ts";
import { collectOutputs } from "../../outputs/collect.ts";
import { headLines } from "../../outputs/line-address.ts";
import { breakOldMarker, logLine } from "./escape.ts";
import { resultText } from "./layout.ts";
import { harmless, plural } from "../text.ts";
import { cut } from "../../events/cut.ts";

export interface Annotation {
  readonly level: Level;
  /** At most 4096 UTF-16 units. */
  readonly message: string;
  readonly title: string;
  readonly file?: string;
  readonly startLine?: number;
  readonly endLine?: number;
}

type Level = "error" | "warning" | "notice";

export interface AnnotationOptions {
  readonly annotations: "all" | "errors" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** 1-based line of a task in the entry file. */
  readonly lineOf: (taskId: string) => number | undefined;
  readonly journal?: string;
}

const PER_LEVEL = 10;
const MAX_MESSAGE = 4096;
const MAX_TITLE = 200;

interface Candidate extends Annotation {
  /** The most important first. */
  readonly rank: number;
  readonly at: number;
  /** How many times just this happened. */
  count: number;
}

/** In order of importance. The first failure comes first. */
export function chooseAnnotations(view: RunView, options: AnnotationOptions): Annotation[] {
  if (options.annotations === "off") return [];
  const works = [...view.works.values()];
  const found = foundBy(view);
  // Failures in a rehearsal that passed are part of its script.
  const meant = view.status === "succeeded" && view.jobOutcome !== undefined;
  const rankOf = (kind: DecisionEntry["kind"]): number | undefined =>
    meant && scripted.has(kind) ? undefined : decisionTraits(kind).audience.annotation;
  const candidates = merged([
    ...resultOf(view, options),
    ...works.flatMap((work) => (meant ? [] : failureOf(work, options))),
    ...works.flatMap((work) =>
      work.decisions.flatMap((entry) => warningOf(entry, rankOf(entry.kind), work, options)),
    ),
    ...works.flatMap((work) => (meant ? [] : handledFailures(work, options))),
    ...found,
  ]);
  const levels: readonly Level[] =
    options.annotations === "errors" ? ["error"] : ["error", "warning", "notice"];
  return levels.flatMap((level) => {
    const ofLevel = candidates.filter((candidate) => candidate.level === level);
    const isLevel = (one: Candidate): boolean => one.level === level;
    const kept = ofLevel.reduce((sum, { count }) => sum + count, 0) - found.filter(isLevel).length;
    // Including those that the view no longer holds.
    let decided = 0;
    for (const [kind, count] of view.decided) if (rankOf(kind) !== undefined) decided += count;
    const forgotten = level === "warning" ? Math.max(0, decided - kept) : 0;
    return limited(level, ofLevel, forgotten, options);
  });
}

/** Decisions that a script causes on purpose. */
const scripted: ReadonlySet<DecisionEntry["kind"]> = new Set([
  "session-crashed",
  "criteria-failed",
  "permission-denied",
]);

/** What is wrong with an entry or a rehearsal: an error at each line, at most ten. */
export function diagnosticAnnotations(
  diagnostics: readonly Diagnostic[],
  { entryFile, rehearsal }: { readonly entryFile: string; readonly rehearsal?: string | undefined },
): Annotation[] {
  const candidates = diagnostics.map((diagnostic, index): Candidate => {
    const { line, hint, severity = "error", file = entryFile } = diagnostic;
    const what = file === rehearsal ? "rehearsal" : "entry";
    const message = diagnosticMessage(diagnostic) + (hint === undefined ? "" : `\n${hint}`);
    return {
      level: severity,
      title: severity === "error" ? `Invalid ${what}` : "Entry",
      message: bounded(message),
      file,
      ...defined({ startLine: line }),
      rank: 0,
      at: index,
      count: 1,
    };
  });
  return limited(candidates[0]?.level ?? "error", candidates, 0, { entryFile });
}

/** Reasons that have no place in a file, at most ten. */
export function reasonAnnotations(level: Level, reasons: readonly string[]): Annotation[] {
  const candidates = reasons.map((reason, at): Candidate => {
    const message = cut(breakOldMarker(reason), MAX_MESSAGE);
    return { level, title: "agent-jobs", message, rank: 0, at, count: 1 };
  });
  return limited(level, candidates, 0, {});
}

function limited(
  level: Level,
  candidates: readonly Candidate[],
  forgotten: number,
  { entryFile: file, journal }: Partial<Pick<AnnotationOptions, "entryFile" | "journal">>,
): Annotation[] {
  const sorted = candidates.toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  const all = sorted.length + (forgotten > 0 ? 1 : 0);
  const shown = all > PER_LEVEL ? sorted.slice(0, PER_LEVEL - 1) : sorted;
  const more =
    forgotten + sorted.slice(shown.length).reduce((sum, candidate) => sum + candidate.count, 0);
  const annotations = shown.map(({ rank: _rank, at: _at, count, ...annotation }): Annotation => {
    if (count === 1) return annotation;
    return { ...annotation, message: bounded(annotation.message, ` (${count} times)`) };
  });
  if (more === 0) return annotations;
  const where = journal === undefined ? "the log has" : "the log and the journal have";
  const message = `GitHub shows only ${PER_LEVEL} annotations of each kind: ${where} the others.`;
  const title = `And ${plural(more, `more ${level}`)}`;
  return [...annotations, { level, title, message, ...defined({ file }) }];
}

function resultOf(view: RunView, { entryFile }: AnnotationOptions): Candidate[] {
  const title = resultText(view, logLine(view.jobName, 100));
  const about = { file: entryFile, rank: 0, at: 0, count: 1 };
  switch (view.status) {
    case "succeeded":
      return [{ ...about, level: "notice", title, message: totals(view) }];
    case "failed": {
      // A job may fail although no task did, by a limit: then nothing else would be an error.
      const level = [...view.works.values()].some(wentBadly) ? "notice" : "error";
      const message = bounded(endText(view), `\n${totals(view)}`);
      return [{ ...about, level, title, message }];
    }
    case "canceled":
    case "skipped": {
      const message = bounded(view.reason ?? "", `\n${totals(view)}`);
      return [{ ...about, level: "notice", title, message }];
    }
    case "pending":
    case "running":
      return [];
  }
}

/** At their lines in the head of the change, where GitHub shows them. */
function foundBy(view: RunView): Candidate[] {
  const origin = view.plan?.origin ?? {};
  return collectOutputs(view).findings.map((finding, at): Candidate => {
    const { path, line, endLine = line, severity, rule, title = rule, message } = finding;
    const { from, to } = headLines(finding, origin) ?? { from: line, to: endLine };
    return {
      level: severity,
      title: logLine(title, MAX_TITLE),
      message: bounded(message),
      file: logLine(path, MAX_TITLE * 5),
      startLine: from,
      ...(to > from ? { endLine: to } : {}),
      rank: 1.5,
      at,
      count: 1,
    };
  });
}

function totals({ works, totals: { modelCalls, inputTokens, outputTokens } }: RunView): string {
  return `${plural(works.size, "work")}, ${plural(modelCalls, "model call")}, ${inputTokens} tokens in, ${outputTokens} out`;
}

function failureOf(work: WorkView, options: AnnotationOptions): Candidate[] {
  if (!wentBadly(work)) return [];
  const at = work.endedAt ?? 0;
  const { reason = "", advice } = work;
  const text = advice === undefined || reason.includes(advice) ? reason : `${reason}\n${advice}`;
  const place = lastFailure(work);
  const title = place === undefined ? `TASK FAILED: ${work.taskId}` : `FAILED: ${place.activity}`;
  return [about(work, options, { level: "error", title, text, rank: 1, at, place })];
}

type FlowPlace = NonNullable<DecisionEntry["place"]>;

/** The activity whose failure ended a workflow. */
function lastFailure({ flow }: WorkView): FlowPlace | undefined {
  if (flow === undefined) return undefined;
  const isAction = (place: FlowPlace): boolean => {
    const kind = flowNode(flow, place)?.kind;
    return kind !== "failed" && kind !== "call" && kind !== "on";
  };
  const ended = flow.steps.filter(({ status }) => status === "failed" || status === "canceled");
  // A CALL fails because something in the called file did.
  return ended.findLast(isAction) ?? ended.at(-1) ?? flow.steps.at(-1);
}

/** Activities that failed although the workflow went on. */
function handledFailures(work: WorkView, options: AnnotationOptions): Candidate[] {
  const { flow } = work;
  if (flow === undefined) return [];
  const ended = wentBadly(work) ? lastFailure(work) : undefined;
  const failed = (file: string, activity: string, { status }: ActivityView): boolean => {
    const kind = flowNode(flow, { file, activity })?.kind;
    const isSame = file === ended?.file && activity === ended.activity;
    return status === "failed" && !isSame && kind !== "check" && kind !== "failed";
  };
  return [...flow.activities].flatMap(([file, activities]) =>
    [...activities].flatMap(([activity, visited]) =>
      failed(file, activity, visited)
        ? [
            about(work, options, {
              level: "warning",
              title: `FAILED: ${activity}`,
              text: visited.reason ?? `${activity} failed.`,
              rank: 2,
              at: work.endedAt ?? 0,
              place: { file, activity },
            }),
          ]
        : [],
    ),
  );
}

function warningOf(
  entry: DecisionEntry,
  rank: number | undefined,
  work: WorkView,
  options: AnnotationOptions,
): Candidate[] {
  if (rank === undefined || entry.answer) return [];
  const { at } = entry;
  // The attempts that crashed for the same reason are one annotation.
  const text = entry.text.replace(/^([A-Za-z ]+), attempt \d+ of \d+: /, "$1: ");
  const title = `${entry.category}: ${work.taskId}`;
  const { place } = entry;
  return [about(work, options, { level: "warning", title, text, rank, at, place })];
}

function about(
  { taskId, flow }: WorkView,
  { entryFile, lineOf }: AnnotationOptions,
  {
    title,
    text,
    place,
    ...rest
  }: Pick<Candidate, "level" | "title" | "rank" | "at"> & {
    readonly text: string;
    readonly place: FlowPlace | undefined;
  },
): Candidate {
  const node = flow === undefined || place === undefined ? undefined : flowNode(flow, place);
  const file = node === undefined ? undefined : flow?.chart?.files[place?.file ?? ""]?.file;
  const line = node?.line ?? lineOf(taskId);
  return {
    ...rest,
    title: logLine(title, MAX_TITLE),
    message: bounded(text),
    file: file ?? entryFile,
    ...defined({ startLine: line }),
    count: 1,
  };
}

/** Equal annotations (of the iterations of a loop) are merged. */
function merged(candidates: readonly Candidate[]): Candidate[] {
  const known = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const { level, title, message, file, startLine } = candidate;
    const key = JSON.stringify([level, title, message, file, startLine]);
    const same = known.get(key);
    if (same === undefined) known.set(key, candidate);
    else same.count += candidate.count;
  }
  return [...known.values()];
}

/** At most `MAX_MESSAGE` units, the end included; not cut inside a character. */
function bounded(text: string, end = ""): string {
  // Twice the length is enough to fill it, and keeps megabytes out of the expressions.
  const whole = breakOldMarker(harmless(text.slice(0, 2 * MAX_MESSAGE)));
  const room = MAX_MESSAGE - end.length;
  if (whole.length <= room) return whole + end;
  const kept = cut(whole, room - 1);
  return `${kept}…${end}`;
}

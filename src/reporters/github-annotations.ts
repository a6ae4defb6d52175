/**
 * Which decisions are worth an annotation, and which of too many. GitHub shows ten of each level for a
 * step: where there are more, the tenth says how many.
 */
import type { Diagnostic } from "../entry/diagnostic.ts";
import { diagnosticMessage } from "../entry/diagnostic.ts";
import type { Decision } from "../events/decision.ts";
import type { DecisionEntry, RunView, WorkView } from "../events/view.ts";
import { breakOldMarker, logLine } from "./github-escape.ts";
import { harmless, plural } from "./text.ts";

export interface Annotation {
  readonly level: Level;
  /** At most 4096 UTF-16 units. */
  readonly message: string;
  readonly title: string;
  readonly file?: string;
  readonly startLine?: number;
}

type Level = "error" | "warning" | "notice";

export interface AnnotationOptions {
  readonly annotations: "all" | "errors" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** 1-based line of a task in the entry file. */
  readonly lineOf: (taskId: string) => number | undefined;
}

const PER_LEVEL = 10;
const MAX_MESSAGE = 4096;
const MAX_TITLE = 200;

interface Candidate extends Annotation {
  /** The most important first. */
  readonly rank: number;
  readonly at: number;
  /** How many decisions say just this. */
  count: number;
}

/** In the order in which they should be said. */
export function chooseAnnotations(view: RunView, options: AnnotationOptions): Annotation[] {
  if (options.annotations === "off") return [];
  const works = [...view.works.values()];
  const candidates = merged([
    ...resultOf(view, options),
    ...view.decisions.flatMap((entry) => candidateOf(entry, undefined, options)),
    ...works.flatMap((work) =>
      work.decisions.flatMap((entry) => candidateOf(entry, work, options)),
    ),
  ]);
  const levels: readonly Level[] =
    options.annotations === "errors" ? ["error"] : ["error", "warning", "notice"];
  return levels.flatMap((level) => {
    const ofLevel = candidates.filter((candidate) => candidate.level === level);
    const kept = ofLevel.reduce((sum, { count }) => sum + count, 0);
    return limited(level, ofLevel, Math.max(0, made(view, level) - kept), options.entryFile);
  });
}

/** What is wrong with an entry: an error at each line, at most ten. */
export function diagnosticAnnotations(
  diagnostics: readonly Diagnostic[],
  entryFile: string,
): Annotation[] {
  const candidates = diagnostics.map((diagnostic, index): Candidate => {
    const { line, hint } = diagnostic;
    const message = diagnosticMessage(diagnostic) + (hint === undefined ? "" : `\n${hint}`);
    return {
      level: "error",
      title: "Invalid entry",
      message: bounded(message),
      file: diagnostic.file ?? entryFile,
      ...(line === undefined ? {} : { startLine: line }),
      rank: 0,
      at: index,
      count: 1,
    };
  });
  return limited("error", candidates, 0, entryFile);
}

/** Reasons that have no place in a file, at most ten. */
export function reasonAnnotations(level: Level, reasons: readonly string[]): Annotation[] {
  const candidates = reasons.map((reason, at): Candidate => {
    const message = breakOldMarker(reason).slice(0, MAX_MESSAGE);
    return { level, title: "agent-jobs", message, rank: 0, at, count: 1 };
  });
  return limited(level, candidates, 0, undefined);
}

function limited(
  level: Level,
  candidates: readonly Candidate[],
  forgotten: number,
  file: string | undefined,
): Annotation[] {
  const sorted = candidates.toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  const all = sorted.length + (forgotten > 0 ? 1 : 0);
  const shown = all > PER_LEVEL ? sorted.slice(0, PER_LEVEL - 1) : sorted;
  const more =
    forgotten + sorted.slice(shown.length).reduce((sum, candidate) => sum + candidate.count, 0);
  const said = shown.map(({ rank: _rank, at: _at, count, ...annotation }): Annotation => {
    if (count === 1) return annotation;
    return { ...annotation, message: bounded(annotation.message, ` (${count} times)`) };
  });
  if (more === 0) return said;
  const message = `GitHub shows ${PER_LEVEL} annotations of a level: see the job summary and the journal for the others.`;
  const title = `And ${plural(more, `more ${level}`)}`;
  return [...said, { level, title, message, ...(file === undefined ? {} : { file }) }];
}

function resultOf(view: RunView, { entryFile }: AnnotationOptions): Candidate[] {
  const job = `Job ${logLine(view.jobName, 100)}`;
  const about = { file: entryFile, rank: 0, at: 0, count: 1 };
  switch (view.status) {
    case "succeeded":
      return [{ ...about, level: "notice", title: `${job} succeeded`, message: totals(view) }];
    case "failed": {
      // A job may fail although no task did, by a limit: then nothing else would be an error.
      const level = made(view, "error") > 0 ? "notice" : "error";
      const message = bounded(view.reason ?? "", `\n${totals(view)}`);
      return [{ ...about, level, title: `${job} failed`, message }];
    }
    case "canceled": {
      const message = bounded(view.reason ?? "", `\n${totals(view)}`);
      return [{ ...about, level: "notice", title: `${job} was cancelled`, message }];
    }
    case "pending":
    case "running":
      return [];
  }
}

function totals({ works, totals: { modelCalls, inputTokens, outputTokens } }: RunView): string {
  return `${plural(works.size, "work")}, ${plural(modelCalls, "model call")}, ${inputTokens} tokens in, ${outputTokens} out`;
}

function candidateOf(
  entry: DecisionEntry,
  work: WorkView | undefined,
  { entryFile, lineOf }: AnnotationOptions,
): Candidate[] {
  const kind = annotated(entry.kind);
  if (kind === undefined) return [];
  const line = work === undefined ? undefined : lineOf(work.taskId);
  // A task that failed on the way and succeeded in the end matters less than one that stayed failed.
  const mended = work?.status === "succeeded" && kind.level === "error" ? 1 : 0;
  return [
    {
      level: kind.level,
      title: logLine(`${entry.category}${work === undefined ? "" : `: ${work.taskId}`}`, MAX_TITLE),
      message: bounded(entry.text),
      file: entryFile,
      ...(line === undefined ? {} : { startLine: line }),
      rank: kind.rank + mended,
      at: entry.at,
      count: 1,
    },
  ];
}

function annotated(
  kind: Decision["kind"],
): { readonly level: Level; readonly rank: number } | undefined {
  switch (kind) {
    case "task-failed":
      return { level: "error", rank: 1 };
    case "crash-budget-drained":
    case "criteria-budget-drained":
    case "limit-crossed":
      return { level: "warning", rank: 1 };
    case "permission-denied":
      return { level: "warning", rank: 2 };
    case "session-crashed":
      return { level: "warning", rank: 3 };
    case "availability-failed":
    case "criteria-failed":
      return { level: "warning", rank: 4 };
    case "task-succeeded":
      return { level: "notice", rank: 1 };
    case "availability-passed":
    case "criteria-passed":
    case "crash-retry":
    case "criteria-retry":
    // It says again what failed.
    case "availability-drained":
    case "session-started":
    case "session-ended":
    case "waiting":
    case "runtime-restarted":
    case "model-unreachable":
    case "leftovers-ended":
    case "note":
      return undefined;
  }
}

/** How many decisions of a level were made, those included that the view no longer holds. */
function made(view: RunView, level: Level): number {
  let sum = 0;
  for (const [kind, count] of view.decided) if (annotated(kind)?.level === level) sum += count;
  return sum;
}

/** The same said several times (by the runs of a loop) is said once. */
function merged(candidates: readonly Candidate[]): Candidate[] {
  const known = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const { level, title, message } = candidate;
    const key = JSON.stringify([level, title, message]);
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
  const cut = whole.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut}…${end}`;
}

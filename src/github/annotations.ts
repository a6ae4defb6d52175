/** Chooses the annotations of a step: of each level the most important ones, because GitHub shows ten per level and step. */
import { harmless, breakOldMarker, logLine } from "../text/harmless-text.ts";
import { plural } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import { diagnosticLine, diagnosticMessage, type Diagnostic } from "../document/diagnostic.ts";
import { annotationRank, decisionTraits } from "../events/decision.ts";
import {
  endText,
  flowNode,
  isFailure,
  type DecisionEntry,
  type FlowView,
  type RunView,
  type StepView,
  type WorkView,
} from "../events/view.ts";
import { collectOutputs } from "../outputs/collect.ts";
import { mayHaveCheck } from "./deliver-check.ts";
import { asksForDelivery } from "./deliver.ts";
import { headLines } from "../outputs/line-address.ts";
import { judgementOf, verdictLine } from "../outputs/verdict.ts";
import { resultText } from "./layout.ts";
import { sayLine, type GithubCore } from "./step-log.ts";

export interface Annotation {
  readonly level: Level;
  readonly message: string;
  readonly title: string;
  readonly file?: string;
  readonly startLine?: number | undefined;
  readonly endLine?: number;
}

const levels = ["error", "warning", "notice"] as const;
type Level = (typeof levels)[number];

export interface AnnotationOptions {
  /** Whether the outputs of the job are written on GitHub. */
  readonly isPublished?: boolean;
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** 1-based line of a task in the entry file. */
  readonly lineOf: (taskId: string) => number | undefined;
  readonly jobLine?: number | undefined;
}

const PER_LEVEL = 10;
/** Warnings that are left to the deliveries, which come after the run. */
const OF_DELIVERIES = 3;
const MAX_MESSAGE = 4096;
const MAX_TITLE = 200;

export function chooseAnnotations(view: RunView, options: AnnotationOptions): Annotation[] {
  const works = [...view.works.values()];
  // Failures in a rehearsal that passed are part of its script.
  const passed = view.status === "succeeded" && view.jobOutcome !== undefined;
  const failed = works.filter((work) => !passed && isFailure(work));
  const decided = [undefined, ...works].flatMap((work) => {
    const final = work && isFailure(work) ? work.decisions.findLast(isEnd) : undefined;
    return (work ?? view).decisions.flatMap((entry) => {
      const rank = annotationRank(entry.kind);
      const { listed = false } = decisionTraits(entry.kind).audience;
      const isShown = !entry.answer && entry !== final && (!passed || listed);
      return isShown && rank !== undefined ? [{ work, entry, rank }] : [];
    });
  });
  const all = [
    jobAnnotation(view, options),
    ...failed
      .toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
      .map((work) => failureAnnotation(work, options)),
    // A script names lines that the checkout need not have; the merge annotates for a plan and its shards.
    ...(view.rehearsed || isPart(view) || areReviewed(view, options)
      ? []
      : findingAnnotations(view)),
    ...(passed ? [] : works.flatMap((work) => handledFailures(work, options))),
    ...decided
      .toSorted((a, b) => a.rank - b.rank || a.entry.at - b.entry.at)
      .map(({ work, entry }) => decisionAnnotation(work, entry, options)),
  ];
  return mostImportant(
    all,
    asksForDelivery(view.plan?.outputs ?? {}) ? PER_LEVEL - OF_DELIVERIES : PER_LEVEL,
  );
}

export function diagnosticAnnotations(
  diagnostics: readonly Diagnostic[],
  { entryFile, rehearsal }: { readonly entryFile: string; readonly rehearsal?: string | undefined },
): Annotation[] {
  return mostImportant(
    diagnostics.map((diagnostic) => {
      const { line, hint, severity = "error", file = entryFile } = diagnostic;
      const what = file === rehearsal ? "rehearsal" : "entry";
      return {
        level: severity,
        title: severity === "error" ? `Invalid ${what}` : "Entry",
        message: bounded(diagnosticMessage(diagnostic) + (hint === undefined ? "" : `\n${hint}`)),
        file,
        startLine: line,
      };
    }),
  );
}

export function annotate(core: GithubCore, all: readonly Annotation[]): void {
  for (const { level, message, ...properties } of all) core[level](message, properties);
}

/** Logs those for which there is no annotation, too. */
export function reportDiagnostics(
  core: GithubCore,
  diagnostics: readonly Diagnostic[],
  options: Parameters<typeof diagnosticAnnotations>[1],
): void {
  const shown = diagnosticAnnotations(diagnostics, options);
  annotate(core, shown);
  if (shown.length === diagnostics.length && diagnostics.length < PER_LEVEL) return;
  for (const diagnostic of diagnostics) sayLine(core, `Invalid: ${diagnosticLine(diagnostic)}`);
}

/** `label`: logs all, after it, if there are too many. */
export function reportReasons(
  core: GithubCore,
  level: Level,
  reasons: readonly string[],
  label?: string,
): void {
  const shown = mostImportant(
    reasons.map((reason) => ({ level, title: "agent-jobs", message: bounded(reason) })),
  );
  annotate(core, shown);
  if (label !== undefined && reasons.length > shown.length)
    for (const reason of reasons) sayLine(core, `${label}: ${reason}`);
}

/** The warnings of an entry that are annotations: the other places are left to the run. */
const OF_ENTRY = 3;

export function reportWarnings(
  core: GithubCore,
  warnings: readonly Diagnostic[],
  options: { readonly entryFile: string },
): void {
  annotate(core, diagnosticAnnotations(warnings.slice(0, OF_ENTRY), options));
  for (const warning of warnings) sayLine(core, `Entry: ${diagnosticLine(warning)}`);
}

export function annotationText(text: string): string {
  return truncate(breakOldMarker(text), MAX_MESSAGE);
}

/** Counts equal annotations. The tenth of more says how many others there are. */
function mostImportant(all: readonly Annotation[], warnings = PER_LEVEL): Annotation[] {
  const equal = new Map<string, Annotation[]>();
  for (const one of all) {
    const key = JSON.stringify(one);
    equal.set(key, [...(equal.get(key) ?? []), one]);
  }
  const distinct = [...equal.values()].flatMap(([one, ...more]) => {
    if (one === undefined) return [];
    const count = more.length === 0 ? "" : ` (${more.length + 1} times)`;
    return [{ ...one, message: bounded(one.message, count) }];
  });
  return levels.flatMap((level) => {
    const own = distinct.filter((annotation) => annotation.level === level);
    const most = level === "warning" ? warnings : PER_LEVEL;
    if (own.length <= most) return own;
    const shown = own.slice(0, most - 1);
    const title = `And ${plural(own.length - shown.length, `more ${level}`)}`;
    const message = `GitHub shows only ${PER_LEVEL} annotations of each kind: the log has the others.`;
    return [...shown, { level, title, message }];
  });
}

/** Whether the task itself failed, and not one that it delegated to. */
function isEnd({ kind, delegate }: DecisionEntry): boolean {
  return kind === "task-failed" && delegate === undefined;
}

function jobAnnotation(view: RunView, { entryFile: file, jobLine }: AnnotationOptions): Annotation {
  const { works, status, totals } = view;
  const judgement = view.rehearsed ? undefined : judgementOf(view);
  const isRejected = judgement?.kind === "failed";
  const { verdict } = collectOutputs(view);
  // A job may fail although no task did, by a limit: then nothing else would be an error.
  const isError = isRejected || (status === "failed" && ![...works.values()].some(isFailure));
  const usage = `${plural(works.size, "step")}, ${plural(totals.modelCalls, "model call")}, ${totals.inputTokens} tokens in, ${totals.outputTokens} out`;
  const reason = isRejected
    ? [verdict && verdictLine(verdict), judgement.reason].filter(Boolean).join("\n")
    : endText(view);
  return {
    level: isError ? "error" : "notice",
    title: isRejected
      ? `Job ${logLine(view.jobName, 100)}: threshold reached`
      : resultText(view, logLine(view.jobName, 100)),
    message: reason === "" ? usage : bounded(reason, `\n${usage}`),
    file,
    startLine: jobLine,
  };
}

function isPart({ plan }: RunView): boolean {
  return plan?.part?.kind === "plan" || plan?.part?.kind === "shard";
}

/** A review, or a check run, shows them at the same lines. */
function areReviewed(
  { plan, status }: RunView,
  { isPublished = false }: AnnotationOptions,
): boolean {
  const { outputs: { findings, check } = {}, origin } = plan ?? {};
  if (!isPublished || origin === undefined) return false;
  const isReviewed = findings?.review !== undefined && origin.isPullRequest === true;
  // A failed or canceled job makes no review.
  if (isReviewed && status === "succeeded") return true;
  return check !== undefined && mayHaveCheck(origin) && status !== "canceled";
}

/** GitHub shows them at their lines in the head of the change. */
function findingAnnotations(view: RunView): Annotation[] {
  return collectOutputs(view).findings.map((finding) => {
    const { path, line, endLine = line, severity, rule, title = rule, message } = finding;
    const { from, to } = headLines(finding, view.plan?.origin ?? {}) ?? { from: line, to: endLine };
    return {
      level: severity,
      title: logLine(title, MAX_TITLE),
      message: bounded(message),
      file: logLine(path, MAX_TITLE * 5),
      startLine: from,
      ...(to > from ? { endLine: to } : {}),
    };
  });
}

function failureAnnotation(work: WorkView, options: AnnotationOptions): Annotation {
  const { taskId, flow, reason = "", advice } = work;
  const text = advice === undefined || reason.includes(advice) ? reason : `${reason}\n${advice}`;
  const place = flow && lastFailure(flow);
  const title = place === undefined ? `TASK FAILED: ${taskId}` : `FAILED: ${place.activity}`;
  return {
    level: "error",
    title: logLine(title, MAX_TITLE),
    message: bounded(`[TASK FAILED] ${text}`),
    ...placeOf(work, options, place),
  };
}

function lastFailure(flow: FlowView): StepView | undefined {
  const failed = flow.steps.filter(({ status }) => status === "failed" || status === "canceled");
  // These fail because something before them or in the called file did.
  const isAction = (step: StepView): boolean =>
    !["call", "failed", "on"].includes(flowNode(flow, step)?.kind ?? "");
  return failed.findLast(isAction) ?? flow.steps.at(-1);
}

function handledFailures(work: WorkView, options: AnnotationOptions): Annotation[] {
  const { flow } = work;
  const ended = flow && isFailure(work) ? lastFailure(flow) : undefined;
  return [...(flow?.activities ?? [])].flatMap(([file, activities]) =>
    [...activities].flatMap(([activity, { status, reason = `${activity} failed.` }]) => {
      const place = { file, activity };
      const kind = flow && flowNode(flow, place)?.kind;
      const isEnd = file === ended?.file && activity === ended.activity;
      if (status !== "failed" || isEnd || kind === "check" || kind === "failed") return [];
      const title = logLine(`FAILED: ${activity}`, MAX_TITLE);
      const at = placeOf(work, options, place);
      return [{ level: "warning" as const, title, message: bounded(reason), ...at }];
    }),
  );
}

function decisionAnnotation(
  work: WorkView | undefined,
  { kind, category, text, place, delegate }: DecisionEntry,
  options: AnnotationOptions,
): Annotation {
  // A failed item or round fails the job only if its work failed in the end.
  const isError = kind === "task-failed" && work !== undefined && isFailure(work);
  const taskId = delegate ?? work?.taskId;
  return {
    level: isError ? "error" : "warning",
    title: logLine(taskId === undefined ? category : `${category}: ${taskId}`, MAX_TITLE),
    // The attempts that crashed for the same reason are one annotation.
    message: bounded(
      `[${category}] ${text.replace(/^([A-Za-z ]+), attempt \d+ of \d+: /, "$1: ")}`,
    ),
    ...placeOf({ taskId, flow: work?.flow }, options, place),
  };
}

function placeOf(
  { taskId, flow }: { readonly taskId: string | undefined } & Pick<WorkView, "flow">,
  { entryFile, lineOf, jobLine }: AnnotationOptions,
  place: DecisionEntry["place"],
): Pick<Annotation, "file" | "startLine"> {
  const node = flow === undefined || place === undefined ? undefined : flowNode(flow, place);
  const file = node === undefined ? undefined : flow?.chart?.files[place?.file ?? ""]?.file;
  return {
    file: file ?? entryFile,
    startLine: node?.line ?? (taskId === undefined ? jobLine : lineOf(taskId)),
  };
}

function bounded(text: string, end = ""): string {
  // Twice the length is enough to fill it, and keeps megabytes out of the expressions.
  const whole = breakOldMarker(harmless(text.slice(0, 2 * MAX_MESSAGE)));
  return truncate(whole, MAX_MESSAGE - 1 - end.length, "…") + end;
}

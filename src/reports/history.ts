/** Facts about the runs of many journals together. */
import { isDismissed } from "../events/output-shapes.ts";
import { isFailure, wasRetried, type RunView } from "../events/view.ts";
import type { FoundRun } from "./from-journals.ts";
import { summaryOf, type RunSummary } from "./run-summary.ts";

export interface History {
  /** The earliest first. */
  readonly runs: readonly RunSummary[];
  /** Tasks that failed or were retried in some runs, and in others they succeeded at once, although they were the same. */
  readonly flaky: readonly FlakyTask[];
  readonly findings: FindingFates;
}

export interface FlakyTask {
  readonly job: string;
  readonly task: string;
  readonly runs: number;
  readonly failed: number;
  readonly retried: number;
}

/** The fates of findings on pull requests, by the latest run of each that has read the conversation. */
export interface FindingFates {
  readonly open: number;
  /** Closed because a later run said so, or their lines are gone. */
  readonly resolved: number;
  /** Closed by a person. */
  readonly dismissed: number;
  /** The number of dismissed findings of each rule. */
  readonly dismissedByRule: Readonly<Record<string, number>>;
}

export function historyOf(found: readonly FoundRun[]): History {
  const views = found.map(({ view }) => view).filter(({ rehearsed }) => !rehearsed);
  return {
    runs: found.map(({ view }) => summaryOf(view)),
    flaky: flakyTasks(views),
    findings: fatesOf(views),
  };
}

function flakyTasks(views: readonly RunView[]): readonly FlakyTask[] {
  const tallies = new Map<string, { -readonly [Name in keyof FlakyTask]: FlakyTask[Name] }>();
  for (const { jobName: job, plan, works } of views) {
    for (const work of works.values()) {
      const ended = work.status === "succeeded" || isFailure(work);
      if (!ended || work.condition || work.modelId === "") continue;
      const { taskId: task } = work;
      // A task that was changed since is another one.
      const fingerprint = plan?.fingerprints?.tasks[task] ?? plan?.entryFingerprint;
      const key = JSON.stringify([job, task, fingerprint]);
      const tally = tallies.get(key) ?? { job, task, runs: 0, failed: 0, retried: 0 };
      tallies.set(key, tally);
      tally.runs += 1;
      if (isFailure(work)) tally.failed += 1;
      if (wasRetried(work)) tally.retried += 1;
    }
  }
  return [...tallies.values()]
    .filter(({ runs, failed, retried }) => retried > 0 || (failed > 0 && failed < runs))
    .sort((a, b) => b.failed + b.retried - (a.failed + a.retried));
}

function fatesOf(views: readonly RunView[]): FindingFates {
  const latest = new Map<string, RunView>();
  for (const view of views) {
    const { origin, conversation } = view.plan ?? {};
    if (origin === undefined || conversation === undefined) continue;
    const { repository, number, leg } = origin;
    latest.set(JSON.stringify([repository, number, view.jobName, leg]), view);
  }
  const all = [...latest.values()].flatMap(({ plan }) => plan?.conversation?.findings ?? []);
  const dismissed = all.filter(isDismissed);
  const rules = new Map<string, number>();
  for (const { rule } of dismissed) rules.set(rule, (rules.get(rule) ?? 0) + 1);
  return {
    open: all.filter(({ thread }) => thread === "open").length,
    resolved: all.filter((one) => one.thread === "resolved" && !isDismissed(one)).length,
    dismissed: dismissed.length,
    dismissedByRule: Object.fromEntries([...rules].sort(([, a], [, b]) => b - a)),
  };
}

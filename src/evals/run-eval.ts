/** Runs an eval: every missing run of every cell, several at once, until all are there or the budget is used up. */
import { rename, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { systemClock } from "../platform/system-clock.ts";
import { linkSignals, onAbort, startTimer } from "../platform/waiting.ts";
import { Expectations } from "../rehearsal/expectations.ts";
import { executeRun, type RunSignals } from "../run/execute.ts";
import { prepareRehearsal, type RunOptions } from "../run/prepare.ts";
import { killsRuntime, shareRuntimes } from "../run/rehearse.ts";
import { EvalBudget } from "./budget.ts";
import { withJudge, type Cell, type Eval } from "./read-eval.ts";
import { journalName, type Results, type RunResult } from "./results.ts";
import type { EvalSummary } from "./summary.ts";

type Access = "environment" | "provider" | "gitHubToken" | "runtimePath" | "sandbox" | "env";

export interface EvalOptions {
  readonly access: Pick<RunOptions, Access>;
  readonly cells: readonly Cell[];
  readonly runs: number;
  readonly parallel?: number | undefined;
  readonly budget: Eval["budget"];
  readonly results: Results;
  /** The folder for the journals of failed runs. */
  readonly outputDir: string | undefined;
  /** `due`: the number of runs that the eval still has to make. */
  readonly onRun: (result: RunResult, due: number) => void;
}

/** Rejects with a `UsageError` or a `DiagnosticsError` if no model can be asked, or a run can't begin. */
export async function runEval(
  { access, cells, runs, results, parallel, budget: limits, outputDir, onRun }: EvalOptions,
  signals: RunSignals,
): Promise<Pick<EvalSummary, "spent"> & { readonly stopped?: string }> {
  const stop = new AbortController();
  let stopped: string | undefined;
  let failed: unknown;
  const exhaust = (reason: string, ends = true): void => {
    stopped ??= reason;
    if (ends) stop.abort(reason);
  };
  const { elapsed: before } = results;
  const start = systemClock.now() - before;
  const budget = new EvalBudget(limits, results.turns, exhaust);
  const whole = linkSignals([signals.signal, stop.signal]);
  const { minutes } = limits;
  const end = (): void => exhaust(`the budget is used up (minutes: ${minutes})`);
  const left = (minutes ?? 0) * 60_000 - before;
  const timer = minutes === undefined ? () => {} : startTimer(systemClock, Math.max(0, left), end);
  const runtimes = shareRuntimes(access);
  const release = onAbort(signals.lastCall, () => runtimes.kill());
  const limit = pLimit(parallel ?? availableParallelism());

  const runOnce = async (cell: Cell, run: number): Promise<void> => {
    if (whole.signal.aborted || stopped !== undefined) return;
    const { key, fingerprint, model, models, inputs, live, judge, scripts } = cell;
    const refused = new AbortController();
    const linked = linkSignals([whole.signal, refused.signal]);
    const meter = budget.meter(
      model,
      (spent) => {
        const elapsed = systemClock.now() - start;
        results.add({ type: "turn", models: model, ...spent, elapsed });
      },
      () => refused.abort(stopped),
    );
    const script = scripts[(run - 1) % scripts.length];
    if (script === undefined) throw new Error("A cell has a script.");
    const expectations = new Expectations(script);
    const began = systemClock.now();
    const kept = outputDir === undefined ? "" : join(outputDir, journalName({ key, run }));
    // What an earlier run has left there goes with its result, not before.
    const journal = kept === "" ? undefined : `${kept}.part`;
    const options: RunOptions = {
      ...access,
      journal,
      entryFile: script.entryFile,
      inputs,
      models,
      live,
      gateTurns: meter.gate,
      reporters: [
        { name: "budget", report: meter.report },
        { name: "expectations", report: (...event) => expectations.report(...event) },
      ],
      runtimes: live || killsRuntime(script) ? undefined : runtimes,
    };
    try {
      const prepared = await prepareRehearsal(options, script, {
        change: (loaded, jobName) => withJudge(loaded, jobName, judge),
      });
      const report = await executeRun(prepared, options, { ...signals, signal: linked.signal });
      // An interrupted run has no result.
      if (linked.signal.aborted && report.outcome.kind === "canceled") return;
      const failures = live ? expectations.failures() : report.rehearsalFailures;
      const milliseconds = systemClock.now() - began;
      const measured = { failures, ...meter.spent, unpriced: [...meter.unpriced], milliseconds };
      const result: RunResult = { type: "run", key, fingerprint, run, ...measured };
      const hasFailed = failures.length > 0;
      // If the run has lost its journal, the report says that it can't be read.
      if (journal !== undefined && hasFailed) await rename(journal, kept).catch(() => undefined);
      results.add(result);
      if (journal !== undefined && !hasFailed) await rm(kept, { force: true });
      onRun(result, due.length);
    } catch (error) {
      // The next runs would fail alike.
      failed ??= error;
      stop.abort();
    } finally {
      linked.end();
      if (journal !== undefined) await rm(journal, { force: true });
    }
  };

  const due = results.due(cells, runs);
  try {
    await Promise.all(due.map(({ cell, run }) => limit(() => runOnce(cell, run))));
  } finally {
    timer();
    await runtimes.stop();
    release();
    whole.end();
  }
  if (failed !== undefined) throw failed;
  return { spent: budget.spent, stopped };
}

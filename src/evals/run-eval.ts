/** Runs an eval: every missing run of every cell, several at once, until all are there or the budget is used up. */
import { availableParallelism } from "node:os";
import pLimit from "p-limit";
import { defined } from "../document/guards.ts";
import { systemClock } from "../platform/system-clock.ts";
import { linkSignals, onAbort, startTimer } from "../platform/waiting.ts";
import { Expectations } from "../rehearsal/expectations.ts";
import { executeRun, type RunSignals } from "../run/execute.ts";
import { prepareRehearsal, type RunOptions } from "../run/prepare.ts";
import { killsRuntime, shareRuntimes } from "../run/rehearse.ts";
import { EvalBudget, type Spent } from "./budget.ts";
import { withJudge, type Cell, type Eval } from "./read-eval.ts";
import type { Results, RunResult } from "./results.ts";

type Access = "environment" | "provider" | "gitHubToken" | "runtimePath" | "sandbox" | "env";

export interface EvalOptions {
  readonly access: Pick<RunOptions, Access>;
  readonly cells: readonly Cell[];
  readonly runs: number;
  readonly parallel?: number | undefined;
  readonly budget: Eval["budget"];
  readonly results: Results;
  readonly onRun: (cell: Cell, result: RunResult) => void;
}

/** Rejects with a `UsageError` or a `DiagnosticsError` if no model can be asked, or a run can't begin. */
export async function runEval(
  options: EvalOptions,
  signals: RunSignals,
): Promise<{ readonly stopped?: string; readonly spent: Spent }> {
  const { cells, runs, results, budget: limits } = options;
  const stop = new AbortController();
  let stopped: string | undefined;
  let failed: unknown;
  const exhaust = (reason: string, ends = true): void => {
    stopped ??= reason;
    if (ends) stop.abort(reason);
  };
  const start = systemClock.now() - results.elapsed;
  const budget = new EvalBudget(limits, results.spent, exhaust, results.largest);
  const whole = linkSignals([signals.signal, stop.signal]);
  const timer =
    limits.minutes === undefined
      ? () => {}
      : startTimer(systemClock, Math.max(0, limits.minutes * 60_000 - results.elapsed), () =>
          exhaust(`the budget is used up (minutes: ${limits.minutes})`),
        );
  const runtimes = shareRuntimes(options.access);
  const release = onAbort(signals.lastCall, () => runtimes.kill());
  const limit = pLimit(options.parallel ?? availableParallelism());
  const one = async ({ cell, run }: Missing): Promise<void> => {
    if (whole.signal.aborted || stopped !== undefined) return;
    const refused = new AbortController();
    const { signal, end } = linkSignals([whole.signal, refused.signal]);
    const meter = budget.meter(
      cell.model,
      (spent) => results.addTurn(cell.model, spent, systemClock.now() - start),
      () => refused.abort(stopped),
    );
    const script = cell.scripts[(run - 1) % cell.scripts.length];
    if (script === undefined) throw new Error("A cell has a script.");
    const expectations = new Expectations(script.expect);
    const began = systemClock.now();
    const ownRuntime = cell.live || killsRuntime(script);
    const given: RunOptions = {
      ...options.access,
      entryFile: script.entryFile,
      inputs: cell.inputs,
      models: cell.models,
      live: cell.live,
      gateTurns: meter.gate,
      reporters: [
        { name: "budget", report: meter.report },
        { name: "expectations", report: (...told) => expectations.report(...told) },
      ],
      ...(ownRuntime ? {} : { runtimes }),
    };
    try {
      const prepared = await prepareRehearsal(given, script, (loaded, jobName) =>
        withJudge(loaded, jobName, cell.judge),
      );
      const report = await executeRun(prepared, given, { ...signals, signal });
      // What was interrupted is no result.
      if (signal.aborted && report.outcome.kind === "canceled") return;
      const result: RunResult = {
        type: "run",
        key: cell.key,
        fingerprint: cell.fingerprint,
        run,
        failures: cell.live ? expectations.failures() : report.rehearsalFailures,
        ...meter.spent,
        milliseconds: systemClock.now() - began,
      };
      results.add(result);
      options.onRun(cell, result);
    } catch (error) {
      // The next runs would fail alike.
      failed ??= error;
      stop.abort();
    } finally {
      end();
    }
  };
  try {
    await Promise.all(missing(cells, runs, results).map((each) => limit(() => one(each))));
  } finally {
    timer();
    await runtimes.stop();
    release();
    whole.end();
  }
  if (failed !== undefined) throw failed;
  return { spent: budget.spent, ...defined({ stopped }) };
}

interface Missing {
  readonly cell: Cell;
  readonly run: number;
}

/** The first run of each cell before the second of any: what is wrong with one is seen early. */
function missing(cells: readonly Cell[], runs: number, results: Results): readonly Missing[] {
  const there = new Set(
    results.runs.map(({ key, fingerprint, run }) => JSON.stringify([key, fingerprint, run])),
  );
  return Array.from({ length: runs }, (_, at) => at + 1).flatMap((run) =>
    cells
      .filter(({ key, fingerprint }) => !there.has(JSON.stringify([key, fingerprint, run])))
      .map((cell) => ({ cell, run })),
  );
}

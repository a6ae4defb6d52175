import { secondsText } from "../text/numbers.ts";
import { createHash } from "node:crypto";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MAX_RUNS } from "../evals/eval-schema.ts";
import { readEval, type Cell, type Eval } from "../evals/read-eval.ts";
import {
  endLine,
  evalHtml,
  evalJson,
  evalJunit,
  evalMarkdown,
  evalRows,
  heads,
  notes,
} from "../evals/reports.ts";
import { readBaseline, Results, writeBaseline } from "../evals/results.ts";
import { runEval } from "../evals/run-eval.ts";
import { summarize, type EvalSummary } from "../evals/summary.ts";
import { lockFile } from "../platform/own-file.ts";
import { systemClock } from "../platform/system-clock.ts";
import { missingModel } from "../run/execute.ts";
import { asFlag, unable, UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";
import { readAccess } from "./access.ts";
import type { OptionsOf } from "./options.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io, table } from "./process.ts";

type Given = OptionsOf<"eval">;

export async function evaluate(file: string, given: Given, { output }: Io): Promise<ExitCode> {
  const startedAt = systemClock.now();
  const signals = cancelFromTerminal();
  let unlock = (): void => {};
  try {
    const { outputDir, baseline: baselineFile, updateBaseline: updates = false, format } = given;
    if (updates && baselineFile === undefined)
      throw new UsageError("--update-baseline requires --baseline.");
    if ((given.runs ?? 0) > MAX_RUNS) throw new UsageError(`--runs must be at most ${MAX_RUNS}.`);
    const read = await readEval(file);
    const cells = chosenCells(read, given);
    const access = readAccess(given);
    const isLive = cells.some(({ live }) => live);
    const missing = isLive ? missingModel(access, false, asFlag) : undefined;
    if (missing !== undefined) throw new UsageError(missing);
    const before = baselineFile === undefined ? {} : readBaseline(baselineFile, updates);
    if (outputDir !== undefined)
      await mkdir(outputDir, { recursive: true }).catch(unable(`write ${outputDir}`));
    const resultsPath = resultsFile(file, outputDir);
    unlock = lockResults(resultsPath);
    const results = new Results(resultsPath);
    const { runs = read.runs, parallel = read.parallel } = given;
    const { provider, gitHubToken, runtimePath, environment, sandbox, env } = access;
    const isText = format === "text";
    if (isText && results.runs.length > 0)
      output.print(
        `Continuing an eval that was interrupted: ${results.runs.length} runs are there.`,
      );
    const end = await runEval(
      {
        access: { environment, sandbox, provider, gitHubToken, runtimePath, env },
        cells,
        runs,
        parallel,
        results,
        budget: read.budget,
        onRun({ key }, { run, failures, milliseconds }) {
          const sign = failures.length === 0 ? "ok   " : "FAIL ";
          const line = `${sign} ${key} #${run} (${secondsText(milliseconds)})`;
          if (isText && given.quiet !== true)
            output.print([line, ...failures.slice(0, 3).map((text) => `      ${text}`)].join("\n"));
        },
      },
      signals,
    );
    const summary = summarize(read, cells, {
      runs,
      results: results.runs,
      ...end,
      stopped: signals.signal.aborted ? "it was canceled" : end.stopped,
      baseline: baselineFile === undefined ? undefined : { file: baselineFile, cases: before },
    });
    if (summary.missing === 0) results.add({ type: "ended" });
    await writeReports(summary, startedAt, given);
    if (isText) for (const line of textLines(summary)) output.print(line);
    else output.printJson(evalJson(summary));
    if (signals.signal.aborted) return exitCode.canceled;
    if (summary.missing > 0) return exitCode.failed;
    if (baselineFile !== undefined && updates) {
      await writeBaseline(baselineFile, before, summary.cases);
      return exitCode.success;
    }
    const fell = summary.totals.some(({ comparison }) => comparison?.fell);
    return fell && baselineFile !== undefined ? exitCode.failed : exitCode.success;
  } finally {
    unlock();
    signals.dispose();
  }
}

/** Two evals would run the same runs, and each would spend the whole budget. */
function lockResults(file: string): () => void {
  const lock = `${file}.lock`;
  const release = lockFile(lock);
  if (release !== undefined) return release;
  throw new UsageError(
    `Another eval is writing ${file} (${lock}). Wait until it has ended, or use another --output-dir.`,
  );
}

/** Chooses a sample by the names of the cases, so it is the same each time. */
function chosenCells({ cells }: Eval, { only, sample }: Given): readonly Cell[] {
  const names = [...new Set(cells.map(({ caseName }) => caseName))];
  const matching = names.filter((name) => only?.test(name) ?? true);
  if (matching.length === 0)
    throw new UsageError(
      `None of ${names.length} cases matches --only ${JSON.stringify(only?.source)}.`,
    );
  const hash = (name: string): string => createHash("sha256").update(name).digest("hex");
  const chosen = new Set(
    matching.toSorted((a, b) => (hash(a) < hash(b) ? -1 : 1)).slice(0, sample ?? matching.length),
  );
  return cells.filter(({ caseName }) => chosen.has(caseName));
}

function resultsFile(file: string, outputDir: string | undefined): string {
  return outputDir === undefined
    ? `${file.replace(/\.(ya?ml|json)$/i, "")}.results.jsonl`
    : join(outputDir, "results.jsonl");
}

async function writeReports(
  summary: EvalSummary,
  startedAt: number,
  { outputDir, summary: summaryFile }: Given,
): Promise<void> {
  const markdown = evalMarkdown(summary);
  if (outputDir !== undefined) {
    for (const [name, text] of [
      ["report.html", evalHtml(summary)],
      ["eval.json", `${JSON.stringify(evalJson(summary), null, 2)}\n`],
      ["junit.xml", evalJunit(summary, startedAt)],
      ["summary.md", markdown],
    ] as const) {
      await writeTextFile(join(outputDir, name), text);
    }
  }
  if (summaryFile !== undefined) await writeTextFile(summaryFile, markdown);
  const step = process.env["GITHUB_STEP_SUMMARY"] ?? "";
  if (summaryFile === undefined && step !== "")
    await appendFile(step, markdown).catch(unable(`write ${step}`));
}

function textLines(summary: EvalSummary): readonly string[] {
  const rows = evalRows(summary).map(({ cells }) => cells);
  return ["", ...table(heads, rows), "", ...notes(summary), endLine(summary)];
}

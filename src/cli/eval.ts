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
import {
  answersOf,
  readBaseline,
  Results,
  writeBaseline,
  type RunResult,
} from "../evals/results.ts";
import { runEval } from "../evals/run-eval.ts";
import { designsOf, summarize, type EvalSummary } from "../evals/summary.ts";
import { oneLine } from "../text/harmless-text.ts";
import { plural, secondsText } from "../text/numbers.ts";
import { lockFile } from "../platform/own-file.ts";
import { systemClock } from "../platform/system-clock.ts";
import { missingModel } from "../run/execute.ts";
import { asFlag, unable, UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";
import { readAccess } from "./access.ts";
import type { OptionsOf } from "./options.ts";
import {
  cancelFromTerminal,
  exitCode,
  table,
  type ExitCode,
  type Io,
  type Output,
} from "./process.ts";

type Given = OptionsOf<"eval">;

export async function evaluate({ output }: Io, file: string, given: Given): Promise<ExitCode> {
  const startedAt = systemClock.now();
  const signals = cancelFromTerminal();
  let unlock = (): void => {};
  try {
    const { outputDir, baseline: baselineFile, updateBaseline: replaced = false } = given;
    checkOptions(given);
    const read = await readEval(file);
    const cells = chosenCells(read, given);
    const access = readAccess(given);
    const isLive = cells.some(({ live }) => live);
    const missing = isLive ? missingModel(access, false, asFlag) : undefined;
    if (missing !== undefined) throw new UsageError(missing);
    const { runs = read.runs, parallel = read.parallel } = given;
    const baseline =
      baselineFile === undefined
        ? undefined
        : { file: baselineFile, cases: readBaseline(baselineFile, replaced), replaced };
    const designs = baseline && !replaced ? designsOf(cells, runs, baseline) : [];
    const texts = designs.map(({ text }) => text);
    if (designs.length > 0 && !designs.some(({ detects }) => detects))
      throw new UsageError(
        `${texts.join("\n")}\nIncrease --runs, update the baseline, or omit --baseline.`,
      );
    if (outputDir !== undefined)
      await mkdir(outputDir, { recursive: true }).catch(unable(`write ${outputDir}`));
    const resultsPath = resultsFile(file, outputDir);
    unlock = lockResults(resultsPath);
    const failedOf = given.failed === true ? cells : undefined;
    const results = new Results(resultsPath, outputDir, failedOf);
    const { provider, gitHubToken, runtimePath, environment, sandbox, env } = access;
    const lines = new EvalLines(output, given);
    const there = plural(results.runs.length, "run");
    const repeats = results.due(cells, runs).length;
    const due = plural(repeats, "run");
    if (failedOf !== undefined)
      lines.print([repeats === 0 ? "No run failed." : `Repeating ${due} that failed.`], 1);
    else if (results.runs.length > 0)
      lines.print([`Continuing an interrupted eval: ${there} done.`], 1);
    lines.print(texts, 4);
    const end = await runEval(
      {
        access: { environment, sandbox, provider, gitHubToken, runtimePath, env },
        cells,
        runs,
        parallel,
        results,
        outputDir,
        budget: read.budget,
        onRun: (result, due) => lines.run(result, due),
      },
      signals,
    ).finally(() => lines.draw(""));
    const summary = summarize(read, cells, {
      runs,
      results: results.runs,
      ...end,
      stopped: signals.signal.aborted ? "it was canceled" : end.stopped,
      baseline,
      warnings: [
        ...designs.flatMap(({ text, detects, isWhole }) => (detects && isWhole ? [] : [text])),
        ...(failedOf === undefined
          ? []
          : ["Only failed runs were repeated, so the pass rates may be too high."]),
      ],
    });
    if (summary.missing === 0) results.add({ type: "ended" });
    await writeReports(summary, startedAt, given);
    lines.end(summary);
    if (signals.signal.aborted) return exitCode.canceled;
    if (summary.missing > 0 || summary.problems.length > 0) return exitCode.failed;
    if (baseline?.replaced === true)
      await writeBaseline(baseline.file, baseline.cases, summary.cases);
    return exitCode.success;
  } finally {
    unlock();
    signals.dispose();
  }
}

function checkOptions({ baseline, updateBaseline, failed, runs = 0 }: Given): void {
  if (updateBaseline === true && baseline === undefined)
    throw new UsageError("--update-baseline requires --baseline.");
  if (failed === true && baseline !== undefined)
    throw new UsageError(
      "--failed can't be used with --baseline: the pass rates may be too high if only failed runs are repeated.",
    );
  if (runs > MAX_RUNS) throw new UsageError(`--runs must be at most ${MAX_RUNS}.`);
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
  { outputDir }: Given,
): Promise<void> {
  const markdown = evalMarkdown(summary);
  if (outputDir !== undefined) {
    const answers = await answersOf(summary.cases, outputDir);
    for (const [name, text] of [
      ["report.html", evalHtml(summary, answers)],
      ["eval.json", `${JSON.stringify(evalJson(summary), null, 2)}\n`],
      ["junit.xml", evalJunit(summary, startedAt)],
      ["summary.md", markdown],
    ] as const) {
      await writeTextFile(join(outputDir, name), text);
    }
  }
  const step = process.env["GITHUB_STEP_SUMMARY"] ?? "";
  if (step !== "") await appendFile(step, markdown).catch(unable(`write ${step}`));
}

/* Prints an eval in at most 50 lines, unless it is verbose. */

const MOST_LINES = 50;
const MOST_NOTES = 8;
const LONGEST = 300;

export class EvalLines {
  readonly #output: Output;
  readonly #isVerbose: boolean;
  readonly #isText: boolean;
  #runs = 0;
  #failed = 0;
  #printed = 0;

  constructor(
    output: Output,
    { verbose = false, format }: { readonly verbose?: boolean; readonly format: "text" | "json" },
  ) {
    this.#output = output;
    this.#isVerbose = verbose;
    this.#isText = format === "text";
  }

  /** Prints at most `most` lines. */
  print(lines: readonly string[], most: number): void {
    if (!this.#isText) return;
    this.draw("");
    const shown = this.#isVerbose ? lines : lines.slice(0, most);
    const left = lines.length - shown.length;
    const all = left === 0 ? shown : [...shown, `… and ${left} more (--verbose)`];
    this.#printed += all.length;
    for (const line of all) this.#output.print(`${/^ */.exec(line)?.[0]}${oneLine(line, LONGEST)}`);
  }

  /** `due`: the number of runs that the eval still has to make. */
  run({ key, run, failures, milliseconds }: RunResult, due: number): void {
    this.#runs += 1;
    const isFailed = failures.length > 0;
    if (isFailed) this.#failed += 1;
    const line = `${isFailed ? "FAIL " : "ok   "} ${key} #${run} (${secondsText(milliseconds)})`;
    const reasons = failures.slice(0, this.#isVerbose ? 3 : 1).map((text) => `      ${text}`);
    if (this.#isVerbose || (isFailed && this.#failed <= 6)) this.print([line, ...reasons], 2);
    const progress = `${this.#runs} of ${plural(due, "run")}, ${this.#failed} failed`;
    const isQuarter = due >= 20 && this.#runs < due && this.#runs % Math.ceil(due / 4) === 0;
    if (this.#output.looks.live) this.draw(progress);
    else if (isQuarter && !this.#isVerbose) this.print([progress], 1);
  }

  end(summary: EvalSummary): void {
    if (!this.#isText) return this.#output.printJson(evalJson(summary));
    const rows = evalRows(summary);
    const said = ["", ...notes(summary)];
    // The rest is an empty line, the head, the number of hidden rows, and the end.
    const room = this.#isVerbose
      ? rows.length
      : MOST_LINES - this.#printed - Math.min(said.length, MOST_NOTES + 1) - 4;
    const cases = rows.filter(({ rate }) => rate !== undefined);
    const few = Math.max(8, room - (rows.length - cases.length));
    // The worst ones, in the order of the file.
    const worst = cases.toSorted((a, b) => (a.rate ?? 0) - (b.rate ?? 0)).slice(0, few);
    const shown = rows
      .filter((row) => row.rate === undefined || worst.includes(row))
      .slice(0, room);
    const cells = shown.map((row) => row.cells.map((one) => oneLine(one, LONGEST)));
    const lines = table(heads, cells);
    const hidden = rows.length - shown.length;
    const rest = hidden === 0 ? [] : [`… and ${plural(hidden, "more row")} (--verbose)`];
    this.print(["", ...lines, ...rest], MOST_LINES);
    this.print(said, MOST_NOTES);
    this.print([endLine(summary)], 1);
  }

  /** Shows the progress in the last line of a terminal. */
  draw(text: string): void {
    if (this.#isText && this.#output.looks.live) this.#output.terminal.write(`\r\u001B[2K${text}`);
  }
}

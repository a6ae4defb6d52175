/** `agent-jobs history`: a table over the journals of earlier runs. */
import { basename } from "node:path";
import { GithubFailure, createGithubApi } from "../github/github-api.ts";
import { downloadJournals } from "../github/artifacts.ts";
import { makeTemporaryDirectory, removeDirectory } from "../platform/files.ts";
import {
  journalFiles,
  runsOfJournals,
  historyOf,
  type FindingFates,
  type History,
} from "../reports/from-journals.ts";
import { differenceOf, figuresIn, type RunSummary } from "../reports/run-summary.ts";
import { makeReport, writeReport } from "../run/html-report.ts";
import { unable, UsageError } from "../run/options.ts";
import { costWords, countText, durationText, plural } from "../text/numbers.ts";
import { oneLine } from "../text/harmless-text.ts";
import type { OptionsOf } from "./options.ts";
import { table, type Output, exitCode, type ExitCode, type Io } from "./process.ts";

const RUNS = 30;
const MOST_RUNS = 100;
const ID = 8;

export async function history(
  { output }: Io,
  paths: readonly string[],
  given: OptionsOf<"history">,
): Promise<ExitCode> {
  const { workflow } = given;
  if ((workflow === undefined) === (paths.length === 0))
    throw new UsageError("Name either journals (or folders of them), or a --workflow.");
  const folder =
    workflow === undefined ? undefined : await makeTemporaryDirectory("agent-jobs-history-");
  try {
    if (workflow !== undefined && folder !== undefined)
      await download(workflow, folder, given, output);
    return await show(folder === undefined ? paths : [folder], given, output);
  } finally {
    if (folder !== undefined) await removeDirectory(folder);
  }
}

async function download(
  workflow: string,
  folder: string,
  { runs: count = RUNS, repository }: OptionsOf<"history">,
  output: Output,
): Promise<void> {
  if (repository === undefined)
    throw new UsageError("--workflow needs its repository: --repository, or GITHUB_REPOSITORY.");
  const environment = process.env;
  const say = (line: string): void => output.printError(line);
  const api = createGithubApi({
    token: environment["GITHUB_TOKEN"] || environment["GH_TOKEN"],
    repository,
    apiUrl: environment["GITHUB_API_URL"],
    log: say,
  });
  try {
    const asked = { workflow: basename(workflow), count: Math.min(count, MOST_RUNS), folder };
    const { runs, files } = await downloadJournals(api, asked, say);
    if (files.length > 0) return;
    throw new UsageError(
      `${plural(runs, "run")} of ${asked.workflow} ${runs === 1 ? "has" : "have"} left no journal. ` +
        "The workflow must upload `output-dir`, or the journal, as an artifact whose name contains `agent-jobs` or `journal`.",
    );
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    const needs = [403, 404].includes(error.status ?? 0)
      ? " The token (GITHUB_TOKEN) needs `actions: read`."
      : "";
    throw new UsageError(`Can't list the runs of ${basename(workflow)}: ${error.message}.${needs}`);
  }
}

async function show(
  paths: readonly string[],
  { html, compare, json, format }: OptionsOf<"history">,
  output: Output,
): Promise<ExitCode> {
  const files = await journalFiles(paths).catch(unable("read the journals"));
  const { runs, journals, readable } = await runsOfJournals(files);
  for (const { name, problems, moreProblems } of journals) {
    const count = problems.length + moreProblems;
    if (count > 0) output.printError(`${basename(name)}: ${plural(count, "problem")}`);
  }
  if (!readable) throw new UsageError(`No journal can be read in ${paths.join(", ")}.`);
  const found = historyOf(runs);
  const compared = compare === undefined ? undefined : chosen(found, compare);
  if (html !== undefined) {
    await writeReport(html, (await makeReport(paths, html)).html);
    output.printError(`${html}: ${plural(runs.length, "run")}`);
  }
  if (json === true || format === "json") {
    output.printJson({ version: 1, ...found });
  } else for (const line of lines(found, compared)) output.print(line);
  return exitCode.success;
}

/** Runs by the beginning of their ids: `A..B`. */
function chosen({ runs }: History, compare: string): readonly [RunSummary, RunSummary] {
  const [from, to, ...more] = compare.split("..").map((id) => {
    const found = runs.filter(({ runId }) => id !== "" && runId.startsWith(id));
    const [first] = found;
    if (first !== undefined && found.length === 1) return first;
    throw new UsageError(`--compare: ${found.length} runs have an id that begins with "${id}".`);
  });
  if (from === undefined || to === undefined || more.length > 0)
    throw new UsageError("--compare needs the ids of two runs, such as 1a2b..3c4d.");
  return [from, to];
}

function lines(
  { runs, flaky, findings }: History,
  compared: readonly [RunSummary, RunSummary] | undefined,
): readonly string[] {
  const rows = runs
    .toReversed()
    .map((run) => [
      (run.startTime ?? "").slice(0, 16).replace("T", " "),
      oneLine(run.jobName, 60),
      run.rehearsed === true ? `${run.status} (rehearsal)` : run.status,
      costOf(run) || "0",
      durationText(run.durationMs),
      countText(run.inputTokens + run.outputTokens),
      String(run.retries),
      idOf(run),
    ]);
  const heads = ["START (UTC)", "JOB", "RESULT", "COST", "DURATION", "TOKENS", "RETRIES", "RUN"];
  return [
    ...table(heads, rows),
    "",
    sumOf(runs),
    ...(flaky.length === 0 ? [] : ["", ...flakyTable(flaky)]),
    ...fatesText(findings),
    ...(compared === undefined ? [] : ["", ...comparison(...compared)]),
  ];
}

function idOf({ runId }: RunSummary): string {
  return oneLine(runId.slice(0, ID), ID);
}

function costOf({ cost, unpriced = [] }: RunSummary): string {
  return costTexts(cost, unpriced).join(", ");
}

function sumOf(runs: readonly RunSummary[]): string {
  const succeeded = runs.filter(({ status }) => status === "succeeded").length;
  const ids = new Set(runs.map(({ runId }) => runId));
  // The cost of a run that another one continues is in both.
  const twice = ({ resumed }: RunSummary): number =>
    resumed !== undefined && ids.has(resumed.runId) ? resumed.cost : 0;
  const cost = runs.reduce((sum, run) => sum + run.cost - twice(run), 0);
  const unpriced = [...new Set(runs.flatMap((run) => run.unpriced ?? []))];
  const texts = [`${succeeded} succeeded`, ...costTexts(cost, unpriced)];
  return `${plural(runs.length, "run")}: ${texts.join(", ")}`;
}

function costTexts(cost: number, unpriced: readonly string[]): readonly string[] {
  return costWords({ cost, unpriced }, (modelId) => oneLine(modelId, 60));
}

function flakyTable(flaky: History["flaky"]): readonly string[] {
  const rows = flaky.map(({ job, task, runs, retried, failed }) => [
    oneLine(task, 60),
    oneLine(job, 60),
    ...[runs, retried, failed].map(String),
  ]);
  return table(["FLAKY TASK", "JOB", "RUNS", "RETRIED", "FAILED"], rows);
}

function fatesText({ open, resolved, dismissed, dismissedByRule }: FindingFates) {
  if (open + resolved + dismissed === 0) return [];
  const rules = Object.entries(dismissedByRule).map(([rule, n]) => `${oneLine(rule, 60)} ${n}`);
  const why = rules.length === 0 ? "" : ` (${rules.join(", ")})`;
  return [
    "",
    `Findings on pull requests: ${open} open, ${resolved} resolved, ${dismissed} dismissed by people${why}`,
  ];
}

const figures = figuresIn({
  duration: durationText,
  count: countText,
  credits: (credits) => String(Math.round(credits * 100) / 100),
});

function comparison(a: RunSummary, b: RunSummary): readonly string[] {
  const rows = figures.map((figure) => [
    figure.text,
    figure.format(figure.of(a)),
    figure.format(figure.of(b)),
    differenceOf(figure, a, b) ?? "same",
  ]);
  return table(["COMPARED", idOf(a), idOf(b), "DIFFERENCE"], rows);
}

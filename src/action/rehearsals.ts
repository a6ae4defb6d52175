import { join, resolve } from "node:path";
import { reasonsOf, rehearsalReporter, type RehearsalReport } from "../reports/rehearsals.ts";
import { inline } from "../text/harmless-text.ts";
import { readRehearsal, findRehearsals } from "../run/entry-files.ts";
import type { RunSignals } from "../run/execute.ts";
import { OwnFile } from "../platform/own-file.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { rehearseFiles } from "../run/rehearse.ts";
import { annotationText } from "../github/annotations.ts";
import { outputsWithoutRun, type Outputs } from "../github/step-outputs.ts";
import { reachedFiles } from "./entry-copies.ts";
import { insideWorkspace, type Paths } from "./paths.ts";
import { checkRehearsed, type Alone } from "./run-options.ts";
import { Stop, type Setting } from "./setting.ts";

export interface Rehearsals {
  readonly files: readonly string[];
  readonly deciding: readonly string[];
  /** The only one that is named: its run is shown as that of a job. */
  readonly alone?: Alone;
}

/** Throws a `Stop`. */
export async function rehearsalsOf({
  inputs,
  workspace,
  environment,
}: Setting): Promise<Rehearsals> {
  const problems: string[] = [];
  const files: string[] = [];
  const deciding: string[] = [];
  let alone: Alone | undefined;
  const check = (file: string): Promise<string | undefined> =>
    insideWorkspace({ workspace, problems }, "files", file);
  const given = await findRehearsals(inputs.files, workspace, environment).catch(stopped);
  for (const file of given) {
    const path = await check(file);
    if (path === undefined) continue;
    files.push(path);
    deciding.push(resolve(workspace, path));
    // Its run reports its problems.
    const script = await readRehearsal(path).catch(() => undefined);
    const entry = script && (await check(script.entryFile));
    if (entry === undefined) continue;
    if (inputs.files.join() === file) alone = { file: path, entry, job: script?.job };
    const entryFile = resolve(workspace, entry);
    deciding.push(entryFile, ...reachedFiles(entryFile, script?.params).found);
  }
  if (problems.length > 0) throw new Stop("failure", problems);
  return { files, deciding, ...(alone && { alone }) };
}

function stopped(error: unknown): never {
  throw error instanceof UsageError ? new Stop("failure", [error.message]) : error;
}

export async function rehearseAll(
  { files }: Rehearsals,
  { inputs, core, say, environment, workspace }: Setting,
  { outputDir }: Paths,
  runtimePath: string,
  signals: RunSignals,
): Promise<{ outputs: Outputs; summary: string; passed: boolean } | undefined> {
  const { env, sandbox, workingDirectory = workspace } = inputs;
  const list = rehearsalReporter("list");
  const file = outputDir === undefined ? undefined : openJunit(join(outputDir, "junit.xml"));
  const reports: RehearsalReport[] = [];
  const options = {
    runtimePath,
    checkFolder: (folder: string) => checkRehearsed(folder, workspace),
    environment,
    env,
    sandbox,
    workingDirectory,
  };
  for await (const report of rehearseFiles(files, options, signals)) {
    reports.push(report);
    for (const line of list.one(report)) say(`Rehearsal: ${line}`);
    if (report.kind === "passed") continue;
    core.error(annotationText(reasonsOf(report).join("\n")), {
      title: "Rehearsal failed",
      file: report.file,
    });
  }
  if (signals.signal?.aborted === true) return undefined;
  const [counts = ""] = list.end({ reports });
  say(`Rehearsal: ${counts}.`);
  file?.writeAll(rehearsalReporter("junit").end({ reports }));
  await file?.close();
  const passed = reports.every(({ kind }) => kind === "passed");
  const ended = outputsWithoutRun(passed ? "success" : "failure", passed ? "" : counts);
  const outputs = { ...ended, "output-dir": outputDir ?? "" };
  return { outputs, passed, summary: summaryOf(reports, counts) };
}

function openJunit(path: string): OwnFile {
  try {
    return new OwnFile("JUnit file", path);
  } catch (error) {
    throw new Stop("failure", [`Can't write the JUnit file ${path}: ${fileErrorMessage(error)}`]);
  }
}

const MAX_ROWS = 200;

function summaryOf(reports: readonly RehearsalReport[], counts: string): string {
  const passed = ({ kind }: RehearsalReport): number => (kind === "passed" ? 1 : 0);
  const listed = reports.toSorted((a, b) => passed(a) - passed(b));
  const rows = listed.slice(0, MAX_ROWS).map((report) => {
    const job = report.kind === "invalid" ? "" : inline(report.jobName, 200);
    const why = inline(reasonsOf(report).join("; "), 500);
    const sign = report.kind === "passed" ? "✓" : "✗";
    return `| ${inline(report.file, 300)} | ${job} | ${sign} ${report.kind} | ${why} |`;
  });
  const table = ["| rehearsal | job | result | reason |", "| --- | --- | --- | --- |", ...rows];
  const left = listed.length - rows.length;
  if (left > 0) table.push("", `…and ${left} more, which are in the log.`);
  return `## Rehearsals: ${counts}\n\n${table.join("\n")}\n`;
}

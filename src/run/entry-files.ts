import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  type Diagnostic,
  DiagnosticsError,
  toDiagnostics,
  suggestion,
} from "../document/diagnostic.ts";
import { documentLimits } from "../document/read-document.ts";
import { type LoadedEntry, loadEntry as loadFrom, prepareEntry } from "../entry/prepare.ts";
import type { Entry, PreparedEntry } from "../entry/model.ts";
import { entryCheck } from "../entry/problems.ts";
import { unusedUserInput } from "../entry/warnings.ts";
import type { Name, Script } from "../rehearsal/format/script.ts";
import type { FlowReading, Flows, ReadEntry } from "./flows.ts";
import type { Offered } from "./offered-models.ts";
import { guessText, UsageError } from "./options.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import type { LoadedWorkflow } from "../workflow/read/load-workflow.ts";
import { isPromptFile, isWorkflowFile, promptsAround, warningChecks } from "./workflow-files.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { type FoundActivity, namesActivity } from "../rehearsal/format/names.ts";

/**
 * The text of an entry file, prepared and with its warnings, or every problem at its line and column. Prompts that are
 * files are read relative to `file`, which need not exist.
 */
export function loadEntry(text: string | Uint8Array, file: string): LoadedEntry {
  return loadFrom(text, file, { checks: warningChecks, readPrompt: promptsAround(file) });
}

/** Reads an entry with the workflows of its jobs; a workflow or a prompt is an entry of one job. Throws `DiagnosticsError` with all problems. */
export async function readEntry(file: string, reading: FlowReading = {}): Promise<ReadEntry> {
  const text = await readText(file);
  if (isWorkflowFile(file)) {
    const { entryOfWorkflow, loadFlow } = await import("./workflow-run.ts");
    return entryOfWorkflow(loadFlow(text, file, undefined, reading), file);
  }
  if (isPromptFile(file))
    return (await import("./prompt-job.ts")).promptEntry({ prompt: text, file });
  const readPrompt = promptsAround(file, reading.seen);
  const loaded = loadFrom(text, file, { checks: warningChecks, readPrompt });
  if (loaded.kind === "rejected") throw new DiagnosticsError(loaded.diagnostics);
  const { flows, warnings } = await flowsOf(loaded, dirname(file), reading);
  return { ...loaded, warnings: [...loaded.warnings, ...warnings], flows };
}

/** The workflows of all jobs. Throws `DiagnosticsError`. */
export async function flowsOf(
  entry: Pick<ReadEntry, "entry" | "leaves"> & Partial<ReadEntry>,
  folder: string,
  reading: FlowReading,
): Promise<{ readonly flows: Flows; readonly warnings: readonly Diagnostic[] }> {
  if (entry.leaves.length === 0) return { flows: {}, warnings: [] };
  const { loadFlows } = await import("./workflow-run.ts");
  return loadFlows(entry, folder, reading);
}

export type CheckedEntry = Pick<ReadEntry, "entry" | "warnings" | "flows" | "whole">;

export function checkEntry(
  entry: Entry,
  otherTools: readonly string[],
): Pick<ReadEntry, "entry" | "warnings" | "leaves"> {
  const result = prepareEntry(entry, { checks: { ...warningChecks, otherTools } });
  if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
  const { entry: prepared, leaves, warnings } = result;
  return { entry: prepared, leaves, warnings };
}

export async function readWorkflow(
  file: string,
): Promise<Extract<LoadedWorkflow, { kind: "loaded" }>> {
  const { loadWorkflow } = await import("./workflow-run.ts");
  const loaded = loadWorkflow(await readText(file), file);
  if (loaded.kind === "rejected") throw new DiagnosticsError(loaded.diagnostics);
  return loaded;
}

/** Reads and checks a rehearsal file. Throws `DiagnosticsError` with all of its problems. */
export async function readRehearsal(file: string): Promise<Script> {
  const { loadScript } = await import("../rehearsal/format/script.ts");
  const loaded = loadScript(await readText(file), file);
  if (loaded.kind === "rejected") throw new DiagnosticsError(loaded.diagnostics);
  return loaded.script;
}

/** The models that an entry or a workflow names but that are not offered. None for a rehearsal. */
export async function checkModels(
  file: string,
  { offered, reason = "" }: Offered,
): Promise<readonly Diagnostic[]> {
  if (isRehearsal(file)) return [];
  const { NONE_LISTED, unofferedModels } = await import("./offered-models.ts");
  const read = await readEntry(file);
  if (offered.length > 0) return unofferedModels(read, offered, read);
  const codePath = entryCheck.codePath(["models"]);
  return toDiagnostics([{ path: ["models"], codePath, reason: `${NONE_LISTED} ${reason}` }], read);
}

function isRehearsal(file: string): boolean {
  return /\.rehearsal\.[^./\\]+$/.test(file);
}

/** `NAME.wf.md` is a workflow, `NAME.rehearsal.EXT` a rehearsal, every other name an entry. Returns the warnings. */
export async function checkFile(file: string): Promise<readonly Diagnostic[]> {
  if (isWorkflowFile(file)) return (await readWorkflow(file)).warnings;
  if (!isRehearsal(file)) return (await readEntry(file)).warnings;
  const script = await readRehearsal(file);
  try {
    const loaded = await readEntry(script.entryFile);
    return userInputWarnings(loaded, chooseJob(loaded.entry, script.job), script.userInput);
  } catch (error) {
    // The check of the entry itself reports its problems.
    if (error instanceof DiagnosticsError || error instanceof UsageError) return [];
    throw error;
  }
}

export function userInputWarnings(
  { entry, file, locate }: ReadEntry,
  jobName: string,
  userInput: string | undefined,
): Diagnostic[] {
  const reason = unusedUserInput(entry, jobName, userInput);
  if (reason === undefined) return [];
  const codePath = `entry.jobs[${JSON.stringify(jobName)}]`;
  return [{ severity: "warning", file, ...locate(["jobs", jobName]), codePath, reason }];
}

export async function readText(file: string): Promise<Uint8Array> {
  const refuse = (reason: string, hint?: string): DiagnosticsError =>
    new DiagnosticsError([{ file, codePath: "", reason, hint }]);
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw refuse("This is a folder, not a file.");
    if (!found.isFile()) throw refuse("This is not a regular file.");
    if (found.size > documentLimits.bytes)
      throw refuse(`The file has ${found.size} bytes. The maximum is ${documentLimits.bytes}.`);
    return await readFile(file);
  } catch (error) {
    if (error instanceof DiagnosticsError) throw error;
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      const hint = /@[0-9a-f]{40,}$/.test(file)
        ? "only the GitHub Action reads an entry of another repository: check out that commit, and name the file"
        : `looked for ${resolve(file)}`;
      throw refuse("The file doesn't exist.", hint);
    }
    if (code === "EACCES" || code === "EPERM")
      throw refuse("Can't read the file: permission denied.");
    throw refuse(`Can't read the file: ${errorMessage(error)}.`);
  }
}

export function chooseJob(entry: PreparedEntry, jobName: string | undefined): string {
  const names = Object.keys(entry.jobs);
  const [only, ...others] = names;
  if (only === undefined) throw new UsageError("The entry has no jobs.");
  const listed = names.map((name) => JSON.stringify(name)).join(", ");
  if (jobName === undefined) {
    if (others.length === 0) return only;
    throw new UsageError(`The entry has several jobs: ${listed}. Name one.`);
  }
  if (names.includes(jobName)) return jobName;
  const guess = guessText(jobName, names);
  throw new UsageError(
    `There is no job ${JSON.stringify(jobName)}${guess}. The entry has: ${listed}.`,
  );
}

interface Known extends FoundActivity {
  readonly isAsk: boolean;
}

/** Throws `DiagnosticsError` for works and activities that the entry, or the job if one is named, doesn't have. */
export function checkNames(
  { names }: Script,
  loaded: Pick<ReadEntry, "entry" | "flows">,
  jobName?: string,
): void {
  const { entry, flows } = loaded;
  const commands = Object.values(entry.jobs).flatMap(({ work }) =>
    leafWorks(work).flatMap((leaf) => (leaf.kind === "Run" ? [leafName(leaf)] : [])),
  );
  const works = [...Object.keys(entry.tasks), ...Object.keys(flows), ...commands];
  const known = activitiesOf(loaded, jobName);
  const unknown = names.flatMap((one): Diagnostic[] => {
    if (one.kind !== "task") return unknownActivity(one, known);
    if (works.includes(one.name)) return [];
    const reason = `The entry has no task ${JSON.stringify(one.name)}.`;
    return [{ ...one.at, reason, ...suggestion(one.name, works) }];
  });
  if (unknown.length > 0) throw new DiagnosticsError(unknown);
}

function activitiesOf(
  { entry, flows }: Pick<ReadEntry, "entry" | "flows">,
  jobName: string | undefined,
): Known[] {
  const jobs = Object.entries(entry.jobs).filter(([name]) => name === (jobName ?? name));
  const names = new Set(jobs.flatMap(([, { work }]) => leafWorks(work).map(leafName)));
  return Object.entries(flows)
    .filter(([name]) => names.has(name))
    .flatMap(([, { workflow }]) =>
      Object.entries(workflow.files).flatMap(([file, { activities }]) =>
        [...activities.values()].map(({ id, kind }) => ({ id, file, isAsk: kind === "ask" })),
      ),
    );
}

function unknownActivity({ kind, name, at }: Name, known: readonly Known[]): Diagnostic[] {
  const possible = known.filter((one) => one.isAsk || kind !== "ask");
  if (possible.some((one) => namesActivity(name, one))) return [];
  const what = kind === "ask" ? "ASK" : "activity";
  const reason = `The job has no workflow with the ${what} ${JSON.stringify(name)}.`;
  const ids = new Set(possible.map(({ id }) => id));
  return [{ ...at, reason, ...suggestion(name.slice(name.lastIndexOf("#") + 1), ids) }];
}

import { readFile, stat, readdir } from "node:fs/promises";
import { dirname, resolve, join, relative } from "node:path";
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
import { existsSync } from "node:fs";
import { isAmong, readGlob } from "../entry/glob.ts";
import type { Environment } from "../platform/environment.ts";
import { GitRepository } from "../git/repository.ts";
import { readSmallFile } from "../platform/files.ts";

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

const rehearsal = /\.rehearsal\.(?:ya?ml|json)$/;
const named = "*.rehearsal.yml, *.rehearsal.yaml and *.rehearsal.json";

/** A file that is named is always taken; folders and globs have the rehearsals that git doesn't ignore. */
export async function findRehearsals(
  given: readonly string[],
  directory: string,
  environment: Environment,
): Promise<string[]> {
  const found = new Set<string>();
  const problems: string[] = [];
  for (const one of given.length === 0 ? ["."] : given) {
    const files = await filesOf(one, directory, environment);
    if (typeof files === "string") problems.push(files);
    else for (const file of files) found.add(file);
  }
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return [...found];
}

async function filesOf(
  given: string,
  directory: string,
  environment: Environment,
): Promise<readonly string[] | string> {
  const is = await stat(resolve(directory, given)).catch(() => undefined);
  if (is?.isDirectory() === true) {
    const files = await rehearsalsIn(resolve(directory, given), environment);
    const where = given === "." ? "here" : `in ${given}`;
    return files.length === 0
      ? `There are no rehearsals ${where}: no files ${named} that git doesn't ignore.`
      : files.map((file) => join(given, file));
  }
  // A missing file is reported where it is read.
  if (is !== undefined || !/[*?[{]/.test(given)) return [given];
  const glob = given.replaceAll("\\", "/");
  const read = readGlob(glob);
  if (typeof read === "string") return `Invalid glob ${JSON.stringify(given)}: ${read}.`;
  const literal = /^(?:[^*?[{]*\/)?/.exec(glob)?.[0] ?? "";
  const folder = resolve(directory, literal);
  const all = await rehearsalsIn(folder, environment);
  const files = all.filter((path) => isAmong([glob.slice(literal.length)], path));
  return files.length === 0
    ? `No rehearsal matches ${given}. A rehearsal is one of ${named}.`
    : files.map((file) => join(relative(directory, folder), file));
}

/** Those that git tracks or doesn't ignore. If the folder is in no repository, or is ignored itself: all. */
async function rehearsalsIn(folder: string, environment: Environment): Promise<string[]> {
  const listed = async (): Promise<readonly string[] | undefined> => {
    const repository = GitRepository.at(folder, { environment });
    return (await repository?.isIgnored()) === false ? repository?.files() : undefined;
  };
  const names = (await listed().catch(() => undefined)) ?? (await filesIn(folder));
  const found = names.filter((name) => rehearsal.test(name) && existsSync(join(folder, name)));
  return found.toSorted();
}

const unsearched = new Set(["node_modules", ".git"]);

/** Breadth first, so that what is near is found before the bounds are met. Relative to the folder, with `/`. */
async function filesIn(
  folder: string,
  maxDepth = Infinity,
  maxFolders = Infinity,
): Promise<string[]> {
  const files: string[] = [];
  const folders = [{ path: "", depth: 0 }];
  for (const { path, depth } of folders) {
    const children = await readdir(join(folder, path), { withFileTypes: true }).catch(() => []);
    for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path === "" ? child.name : `${path}/${child.name}`;
      if (child.isFile()) files.push(name);
      else if (!child.isDirectory() || unsearched.has(child.name)) continue;
      else if (depth < maxDepth && folders.length < maxFolders)
        folders.push({ path: name, depth: depth + 1 });
    }
  }
  return files;
}

const MAX_DEPTH = 4;
const MAX_FOLDERS = 300;
const MAX_FILES = 300;
const MAX_BYTES = 1_000_000;
const entryName = /(?:^|\/)[\p{L}\p{N} ._@+-]*\.(?:json|ya?ml|(?:wf|prompt)\.md)$/u;

/** Looks for a short while: a repository can be large. Sorted; relative to the workspace, with `/`. */
export async function findEntries(workspace: string, maxDepth = MAX_DEPTH): Promise<string[]> {
  const entries: string[] = [];
  const files = await filesIn(workspace, maxDepth, MAX_FOLDERS);
  const isCandidate = (name: string): boolean => entryName.test(name) && !rehearsal.test(name);
  for (const name of files.filter(isCandidate).slice(0, MAX_FILES))
    // A workflow and a prompt are entries by their names.
    if (name.endsWith(".md") || (await looksLikeEntry(join(workspace, name)))) entries.push(name);
  return entries.toSorted();
}

/** Recognized by the three fields that each entry has, valid or not. */
async function looksLikeEntry(path: string): Promise<boolean> {
  try {
    const text = new TextDecoder().decode(readSmallFile(path, MAX_BYTES));
    return ["models", "tasks", "jobs"].every((field) =>
      new RegExp(`(?:^|[{,])\\s*["']?${field}["']?\\s*:`, "m").test(text),
    );
  } catch {
    return false;
  }
}

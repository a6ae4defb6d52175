import type { Change } from "../change/change.ts";
import { defined } from "../document/guards.ts";
import { dirname, relative, resolve } from "node:path";
import type { Limits, PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { leafWorks, taskWorks } from "../entry/work.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { cut } from "../events/cut.ts";
import type { Reporter } from "../events/sink.ts";
import { OwnFile } from "../platform/own-file.ts";
import { createRecorder } from "../rehearsal/recorder/recorder.ts";
import type { RehearsalFile } from "../rehearsal/format/rehearsal-schema.ts";
import { renderRehearsal } from "../rehearsal/format/render-rehearsal.ts";
import type { Script, Workspace } from "../rehearsal/format/script.ts";
import type { Inputs, Models } from "./options.ts";

export interface RecordedRun {
  readonly prepared: {
    readonly loaded: { readonly file: string; readonly whole?: string };
    readonly entry: PreparedEntry;
    readonly jobName: string;
    readonly userInput: string;
    readonly inputs?: Inputs;
    readonly namedDirectory: string;
    readonly permissions: PermissionPreset | undefined;
    readonly script: Script | undefined;
    readonly change: Change | undefined;
  };
  readonly options: {
    readonly workingDirectory?: string;
    readonly models?: Models;
    readonly limits?: Limits;
  };
}

/**
 * Keeps a run as a rehearsal, written when the run has ended; until then the file stays as it was. Throws if the file
 * can't be written.
 */
export function createRecording(
  path: string,
  { prepared, options }: RecordedRun,
  redactor: Redactor,
): Reporter & { abandon(): void } {
  const folder = dirname(resolve(path));
  const { loaded, entry, jobName, userInput, namedDirectory, permissions, script } = prepared;
  // A folder made for the run is gone after it: a replay makes it again.
  const workspace = options.workingDirectory === undefined ? script?.workspace : undefined;
  const kept =
    workspace !== undefined ? written(workspace) : script?.include && { include: script.include };
  // The options of this run, including those of the script that it rehearsed.
  const models = { ...script?.models, ...options.models };
  const limits = { ...script?.limits, ...options.limits };
  const recorder = createRecorder({
    entry: fromFolder(folder, loaded.file),
    ...(loaded.whole === undefined ? { job: jobName } : {}),
    ...(workspace === undefined ? { workingDirectory: fromFolder(folder, namedDirectory) } : {}),
    ...(usesUserInput(entry, jobName, userInput) ? { userInput: redactor.text(userInput) } : {}),
    ...redactedInputs(prepared, redactor),
    ...defined({ change: recordedChange(prepared, workspace, redactor) }),
    ...(Object.keys(models).length === 0 ? {} : { models }),
    ...defined({ permissions }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  });
  // Now, so that an unwritable file is found before a long run and not after it.
  const file = new OwnFile("recording", path);
  return {
    name: "recording",
    essential: true,
    abandon: () => file.abandon(),
    report: (event) => recorder.report(event),
    async close() {
      const format = path.endsWith(".json") ? "json" : "yaml";
      const rehearsal = {
        ...recorder.toRehearsal(),
        ...defined({ workspace: kept }),
      };
      file.writeAll([renderRehearsal(rehearsal, format)]);
      await file.close();
    },
  };
}

function redactedInputs(
  { inputs = {} }: RecordedRun["prepared"],
  redactor: Redactor,
): Pick<RehearsalFile, "inputs"> {
  const named = Object.entries(inputs).map(([name, value]) => [name, redactor.text(value)]);
  return named.length === 0 ? {} : { inputs: Object.fromEntries(named) };
}

/** Of a diff, in characters. */
const MAX_DIFF = 256 * 1024;

/** As data: what git knows of it may be gone. The commits of a workspace are made again. */
function recordedChange(
  { change, script }: RecordedRun["prepared"],
  workspace: Workspace | undefined,
  redactor: Redactor,
): RehearsalFile["change"] {
  if (change === undefined || (workspace !== undefined && script?.change === undefined))
    return undefined;
  const { base, head, files, diff } = change;
  const kept =
    diff.length > MAX_DIFF ? `${cut(diff, MAX_DIFF)}\n(The rest was not recorded.)\n` : diff;
  return {
    base,
    head,
    files: files.map((file) => ({
      ...file,
      path: redactor.text(file.path),
      ...defined({ previousPath: file.previousPath && redactor.text(file.previousPath) }),
    })),
    diff: redactor.text(kept),
  };
}

function written({ commits, ...workspace }: Workspace): NonNullable<RehearsalFile["workspace"]> {
  return commits.length === 0 ? workspace : { ...workspace, commits };
}

/**
 * Whether any prompt or condition of the job does: a condition may, although no prompt requires it. A workflow has it
 * as its first RESULT.
 */
function usesUserInput(entry: PreparedEntry, jobName: string, userInput: string): boolean {
  const job = entry.jobs[jobName];
  if (job === undefined) return false;
  if (leafWorks(job.work).some(({ kind }) => kind === "Flow") && userInput !== "") return true;
  const tasks = taskWorks(job.work).map(({ taskId }) => entry.tasks[taskId]);
  return job.requireUserInput || JSON.stringify(tasks).includes("$user-input");
}

/** Relative and with `/`, so that a recording means the same in another clone and on another system. */
function fromFolder(folder: string, path: string): string {
  return relative(folder, resolve(path)).replaceAll("\\", "/") || ".";
}

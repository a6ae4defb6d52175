import { defined, isList, isRecord } from "../text/guards.ts";
import { dirname, relative, resolve } from "node:path";
import type { PreparedEntry } from "../entry/model.ts";
import { leafWorks, taskWorks } from "../entry/work.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { truncate } from "../text/truncate.ts";
import type { Reporter } from "../events/sink.ts";
import type { RunView } from "../events/view.ts";
import { OwnFile } from "../platform/own-file.ts";
import { Recorder } from "../rehearsal/recorder/recorder.ts";
import type { RehearsalFile } from "../rehearsal/format/rehearsal-schema.ts";
import { renderRehearsal, type Script } from "../rehearsal/format/script.ts";
import type { Workspace } from "../rehearsal/format/surroundings.ts";
import { readFile, writeFile } from "node:fs/promises";
import { editObject, type FieldChanges } from "../document/edit-document.ts";
import { formatOfFile, readDocument } from "../document/read-document.ts";
import type { RunEvent, RunOutcome } from "../events/event.ts";
import type { OutputFields } from "../rehearsal/format/expect.ts";
import { readRehearsal } from "./entry-files.ts";
import type { PreparedRun, RunOptions } from "./prepared-run.ts";

export interface RecordedRun {
  readonly prepared: PreparedRun;
  readonly options: Pick<RunOptions, "workingDirectory" | "models" | "limits">;
}

/** Written when the run has ended; until then the file stays as it was. Throws if the file can't be written. */
export function createRecording(
  path: string,
  { prepared, options }: RecordedRun,
  redactor: Redactor,
): Reporter & { abandon(): void } {
  const folder = dirname(resolve(path));
  const { loaded, entry, jobName, userInput, namedDirectory, permissions, script } = prepared;
  // A folder made for the run is gone after it: a replay makes it again.
  const workspace = options.workingDirectory === undefined ? script?.workspace : undefined;
  const kept = workspace ?? (script?.include && { include: script.include });
  // The options of this run, including those of the script that it rehearsed.
  const models = { ...script?.models, ...options.models };
  const limits = { ...script?.limits, ...options.limits };
  const named = Object.entries(prepared.inputs ?? {});
  const inputs = Object.fromEntries(named.map(([name, value]) => [name, redactor.text(value)]));
  const recorder = new Recorder({
    entry: fromFolder(folder, loaded.file),
    ...defined({
      job: loaded.whole === undefined ? jobName : undefined,
      workingDirectory: workspace === undefined ? fromFolder(folder, namedDirectory) : undefined,
      userInput: usesUserInput(entry, jobName, userInput) ? redactor.text(userInput) : undefined,
      inputs: filled(inputs),
      change: recordedChange(prepared, workspace, redactor),
      github: recordedGithub(prepared, redactor),
      models: filled(models),
      permissions,
      limits: filled(limits),
    }),
  });
  // Now, so that an unwritable file is found before a long run and not after it.
  const file = new OwnFile("recording", path);
  return {
    name: "recording",
    essential: true,
    abandon: () => file.abandon(),
    report: (event, view) => recorder.report(event, view),
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

function filled<T extends object>(fields: T): T | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields;
}

const MAX_DIFF = 256 * 1024;

/** Recorded as data, because its commits may be gone by then. The commits of a workspace are made again. */
function recordedChange(
  { change, script }: RecordedRun["prepared"],
  workspace: Workspace | undefined,
  redactor: Redactor,
): RehearsalFile["change"] {
  if (change === undefined || (workspace !== undefined && script?.change === undefined))
    return undefined;
  const { base, head, files, notes = [], diff } = change;
  const kept =
    diff.length > MAX_DIFF ? `${truncate(diff, MAX_DIFF)}\n(The rest was not recorded.)\n` : diff;
  return {
    base,
    head,
    files: files.map((file) => ({
      ...file,
      path: redactor.text(file.path),
      ...defined({ previousPath: file.previousPath && redactor.text(file.previousPath) }),
    })),
    ...(notes.length > 0 && { notes: notes.map((note) => redactor.text(note)) }),
    diff: redactor.text(kept),
  };
}

function recordedGithub(
  { failedChecks }: RecordedRun["prepared"],
  redactor: Redactor,
): RehearsalFile["github"] {
  if (failedChecks === undefined) return undefined;
  return {
    failedChecks: failedChecks.map(({ name, log }) => ({
      name: redactor.text(name),
      ...defined({ log: log && redactor.text(log) }),
    })),
  };
}

/** A condition may use it, although no prompt requires it. A workflow has it as its first RESULT. */
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

export class SeenRun {
  readonly #recorder = new Recorder({ entry: "" });
  #workingDirectory = "";
  #outcome: RunOutcome | undefined;
  #report = "";

  report(event: RunEvent, view: RunView): void {
    this.#recorder.report(event, view);
    if (event.type === "run.started") this.#workingDirectory = event.workingDirectory;
    if (event.type === "work.ended" && event.report !== undefined) this.#report = event.report;
    if (event.type === "run.ended") this.#outcome = event.jobOutcome ?? event.outcome;
  }

  /** The fields as a file has them. Undefined: it can't be stated, because it may differ each time. */
  get fields(): Readonly<
    Record<"result" | "reason" | "works" | "path" | "report" | keyof OutputFields, unknown>
  > {
    const {
      result,
      works,
      path,
      verdict = "none",
      ...outputs
    } = this.#recorder.toRehearsal().expect ?? {};
    const { findings = [], dismissed = [], resolved = [], replies = [] } = outputs;
    const { proposals = [], results = {} } = outputs;
    const outcome = this.#outcome;
    const reason = outcome === undefined || outcome.kind === "succeeded" ? "" : outcome.reason;
    return {
      result,
      reason: reason === "" ? undefined : this.#portable(reason),
      works,
      path,
      report: this.#portable(this.#report),
      verdict,
      findings,
      dismissed,
      resolved,
      replies,
      proposals,
      results,
      // Prose, of which the author expects a part.
      reports: undefined,
    };
  }

  /** Replaces the folder of this run, because the next one works in another. */
  #portable(text: string): string {
    const name = "${workingDirectory}";
    const literal = text.replaceAll(name, `$${name}`);
    const folder = this.#workingDirectory;
    return folder === "" ? literal : literal.replaceAll(folder, name);
  }
}

/** Undefined if `expect` is complete, or if the run didn't follow the script: what it did says nothing about the job. */
export async function updatedRehearsal(
  { file }: Script,
  seen: SeenRun,
  failures: readonly string[],
): Promise<Script | undefined> {
  if (!failures.every((failure) => failure.startsWith("expect"))) return undefined;
  const text = await readFile(file, "utf8");
  const format = formatOfFile(file) ?? "yaml";
  const read = readDocument(text, { file, format });
  const value = read.kind === "read" && isRecord(read.value) ? read.value : {};
  const has = isRecord(value["expect"]) ? value["expect"] : {};
  const changes = changesOf(has, seen.fields, failures);
  if (Object.keys(changes).length === 0) return undefined;
  const edited = editObject(text, format, "expect", changes);
  if (edited === text) return undefined;
  await writeFile(file, edited);
  return readRehearsal(file);
}

/** Fields that `expect` has are brought up to date. Those that say what the job did are added where they are missing. */
function changesOf(
  has: Readonly<Record<string, unknown>>,
  seen: SeenRun["fields"],
  failures: readonly string[],
): FieldChanges {
  const fails = (name: string): boolean =>
    failures.some((failure) => /^expect\.(\w+)/.exec(failure)?.[1] === name);
  // The result and its reason have no place of their own in a failure.
  const resultFails = failures.some((failure) => failure.startsWith("expect ("));
  const { result, works, verdict, findings } = seen;
  const missing: Readonly<Record<string, boolean>> = {
    result: result !== undefined && result !== "succeeded",
    works: works !== undefined,
    verdict: verdict !== "none",
    findings: isList(findings) && findings.length > 0,
  };
  const changed = Object.entries(seen).filter(([name, now]) => {
    if (missing[name] === true && !Object.hasOwn(has, name)) return true;
    if (name === "result") return resultFails && now !== (has["result"] ?? "succeeded");
    if (name === "reason") return resultFails && Object.hasOwn(has, name);
    return now !== undefined && fails(name);
  });
  return Object.fromEntries(changed);
}

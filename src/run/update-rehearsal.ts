/** Writes what a run did into the `expect` of its rehearsal; everything else in the file stays as it is. */
import { readFile, writeFile } from "node:fs/promises";
import { editObject, type FieldChanges } from "../document/edit-document.ts";
import { formatOfFile, readDocument } from "../document/read-document.ts";
import { defined, isList, isRecord } from "../document/guards.ts";
import type { RunEvent, RunOutcome } from "../events/event.ts";
import type { OutputFields } from "../rehearsal/format/output-fields.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { createRecorder } from "../rehearsal/recorder/recorder.ts";
import { readRehearsal } from "./entry-files.ts";

/** A reporter that keeps what `expect` can state about a run. */
export class SeenRun {
  readonly #recorder = createRecorder({ entry: "" });
  #workingDirectory = "";
  #outcome: RunOutcome | undefined;
  #report = "";

  report(event: RunEvent): void {
    this.#recorder.report(event);
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
    const { findings = [], proposals = [], results = {} } = outputs;
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
      proposals,
      results,
      // Prose, of which the author expects a part.
      reports: undefined,
    };
  }

  /** Without the folder of this run: the next one works in another. */
  #portable(text: string): string {
    const name = "${workingDirectory}";
    const literal = text.replaceAll(name, `$${name}`);
    const folder = this.#workingDirectory;
    return folder === "" ? literal : literal.replaceAll(folder, name);
  }
}

/**
 * Undefined if there is nothing to write: `expect` holds, or the run didn't follow the script, so that what it did says
 * nothing about the job.
 */
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
  const has = isRecord(value["expect"]) ? value["expect"] : undefined;
  if (has !== undefined && failures.length === 0) return undefined;
  const changes = changesOf(has, seen.fields, failures);
  if (Object.keys(changes).length === 0) return undefined;
  const edited = editObject(text, format, "expect", changes);
  if (edited === text) return undefined;
  await writeFile(file, edited);
  return readRehearsal(file);
}

/** Fields that `expect` has are brought up to date; a new one gets the result and the works. */
function changesOf(
  has: Readonly<Record<string, unknown>> | undefined,
  seen: SeenRun["fields"],
  failures: readonly string[],
): FieldChanges {
  if (has === undefined) {
    const { result, works, verdict, findings } = seen;
    return {
      ...(result === "succeeded" ? {} : { result }),
      ...defined({ works }),
      ...(verdict === "none" ? {} : { verdict }),
      ...(isList(findings) && findings.length > 0 ? { findings } : {}),
    };
  }
  const fails = (name: string): boolean =>
    failures.some((failure) => /^expect\.(\w+)/.exec(failure)?.[1] === name);
  // The result and its reason have no place of their own in a failure.
  const resultFails = failures.some((failure) => failure.startsWith("expect ("));
  const changed = Object.entries(seen).filter(([name, now]) => {
    if (name === "result") return resultFails && now !== (has["result"] ?? "succeeded");
    if (name === "reason") return resultFails && Object.hasOwn(has, name);
    return now !== undefined && fails(name);
  });
  return Object.fromEntries(changed);
}

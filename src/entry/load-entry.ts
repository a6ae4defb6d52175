import type { Diagnostic, Locate, Position } from "../document/diagnostic.ts";
import { formatOfFile, readDocument } from "../document/read-document.ts";
import type { PreparedEntry } from "./model.ts";
import { isList, isRecord } from "../text/guards.ts";
import { type FlowLeaf, preparePlain, type PrepareOptions } from "./prepare.ts";

/** A prepared entry with the place of everything in it, or all that is wrong with the file. */
export type LoadedEntry =
  | {
      readonly kind: "loaded";
      readonly entry: PreparedEntry;
      /** The name that the caller passed. */
      readonly file: string;
      /** The position of the value at a path such as `["jobs", "review", "work"]`. */
      readonly locate: Locate;
      readonly locateTask: (taskName: string) => Position;
      /** Valid, but probably not intended. */
      readonly warnings: readonly Diagnostic[];
      readonly leaves: readonly FlowLeaf[];
    }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

/** The text of an entry file, prepared, or every problem at its line and column. */
export function loadEntry(
  text: string | Uint8Array,
  file: string,
  options: Pick<PrepareOptions, "checks" | "readPrompt"> = {},
): LoadedEntry {
  const format = formatOfFile(file);
  if (format === undefined) {
    const reason = "The name of an entry file must end in .json, .yml or .yaml.";
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason }] };
  }
  const document = readDocument(text, { file, format });
  if (document.kind === "rejected") return document;

  const { value, locate } = document;
  if (isRehearsal(value)) {
    const reason = "This is a rehearsal, not an entry.";
    const hint = `run it with agent-jobs rehearse, or pass it with --rehearse ${file}`;
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason, hint }] };
  }
  const prepared = preparePlain(value, { ...options, file, locate });
  if (prepared.kind === "rejected") return prepared;
  const locateTask = (taskName: string): Position => locate(["tasks", taskName]);
  return { ...prepared, kind: "loaded", file, locate, locateTask };
}

function isRehearsal(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value["entry"] === "string" &&
    isList(value["sessions"]) &&
    !("models" in value || "tasks" in value || "jobs" in value)
  );
}

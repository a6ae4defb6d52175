import type { Diagnostic } from "./diagnostic.ts";
import { formatOfFile, readDocument } from "./document.ts";
import type { PreparedEntry } from "./model.ts";
import { preparePlain } from "./prepare.ts";
import type { Locate, Position } from "./problem.ts";

export type LoadedEntry =
  | {
      readonly kind: "loaded";
      readonly entry: PreparedEntry;
      /** As the caller named it. */
      readonly file: string;
      /** The position of the value at a path such as `["jobs", "review", "work"]`. */
      readonly locate: Locate;
      readonly locateTask: (taskName: string) => Position;
    }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

/** The text of an entry file, prepared, or every problem at its line and column. */
export function loadEntry(text: string | Uint8Array, file: string): LoadedEntry {
  const format = formatOfFile(file);
  if (format === undefined) {
    const reason = "The name of an entry file must end in .json, .yml or .yaml.";
    return { kind: "rejected", diagnostics: [{ file, codePath: "", reason }] };
  }
  const document = readDocument(text, { file, format });
  if (document.kind === "rejected") return document;

  const { value, locate } = document;
  const prepared = preparePlain(value, { file, locate });
  switch (prepared.kind) {
    case "rejected":
      return prepared;
    case "prepared":
      return {
        kind: "loaded",
        entry: prepared.entry,
        file,
        locate,
        locateTask: (taskName) => locate(["tasks", taskName]),
      };
  }
}

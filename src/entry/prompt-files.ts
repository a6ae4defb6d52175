/** Prompts in files of their own: their text replaces `{ file }` before anything else looks at the entry. */
import { defined, isList, isRecord, isText } from "../text/guards.ts";
import { type Path, type Position, type Problem, valueAt } from "../document/diagnostic.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { entryCheck } from "./problems.ts";

export type PromptFile =
  | {
      readonly kind: "read";
      readonly text: string;
      readonly place?: string;
    }
  | { readonly kind: "refused"; readonly reason: string; readonly hint?: string };

export type ReadPrompt = (file: string) => PromptFile;

const nowhere: ReadPrompt = (file) => ({
  kind: "refused",
  reason: `The file ${JSON.stringify(file)} can't be read: it is relative to the file of the entry, and this entry doesn't come from one.`,
  hint: "load the entry from its file, or insert the text",
});

export interface InsertedPrompt {
  readonly path: Path;
  readonly file: string;
  readonly text: string;
}

/** Changes `data`. What can't be read stays as it is. */
export function insertPromptFiles(
  data: unknown,
  found: readonly MeantPlace[],
  read: ReadPrompt = nowhere,
) {
  const problems: Problem[] = [];
  const inserted: InsertedPrompt[] = [];
  const insert = (prompt: unknown, path: Path): unknown => {
    if (isList(prompt)) {
      prompt.forEach((item, index) => insert(item, [...path, index]));
      return prompt;
    }
    const file = isRecord(prompt) ? prompt["file"] : undefined;
    if (!isText(file)) return prompt;
    const text = read(file);
    if (text.kind === "read") {
      inserted.push({ path, file: text.place ?? file, text: text.text });
      put(data, path, text.text);
      return text.text;
    }
    const { reason, hint } = text;
    problems.push({ path, codePath: entryCheck.codePath(path), reason, ...defined({ hint }) });
    return prompt;
  };
  const places = found.map((place) =>
    isPrompt(place.meaning) ? { ...place, value: insert(place.value, place.path) } : place,
  );
  return { places, problems, inserted };
}

export function isPrompt(meaning: string): boolean {
  return meaning === "variable" || meaning === "condition" || meaning.startsWith("prompt");
}

/** The path of a problem may be that of a list of prompts. */
export function placeInPrompt(
  { path, text }: Problem,
  inserted: readonly InsertedPrompt[],
): (Position & { readonly file: string }) | undefined {
  if (text === undefined) return undefined;
  for (const one of inserted) {
    if (!path.every((key, index) => one.path[index] === key)) continue;
    const at = one.text.indexOf(text);
    if (at === -1) continue;
    const before = one.text.slice(0, at).split("\n");
    return { file: one.file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
  return undefined;
}

function put(root: unknown, path: Path, text: string): void {
  const key = path.at(-1);
  const parent = valueAt(root, path.slice(0, -1));
  if (key !== undefined && (isRecord(parent) || isList(parent))) Reflect.set(parent, key, text);
}

/**
 * Prompts in files of their own. Their text replaces `{ file }` before anything else looks at the entry, so that
 * nothing after this knows them.
 */
import { defined, isList, isRecord, isText } from "../document/guards.ts";
import type { Path, Position, Problem } from "../document/problem.ts";
import { entrySchema } from "./entry-schema.ts";
import { entryCheck } from "./problems.ts";

export type PromptFile =
  | {
      readonly kind: "read";
      readonly text: string;
      /** The file as people find it. Default: as the entry names it. */
      readonly place?: string;
    }
  | { readonly kind: "refused"; readonly reason: string; readonly hint?: string };

/** Reads the file of a prompt, relative to the entry. */
export type ReadPrompt = (file: string) => PromptFile;

/** For an entry that is not read from a file. */
const nowhere: ReadPrompt = (file) => ({
  kind: "refused",
  reason: `The file ${JSON.stringify(file)} can't be read: it is relative to the file of the entry, and this entry doesn't come from one.`,
  hint: "load the entry from its file, or insert the text",
});

/** A text that stands in place of its file. */
export interface InsertedPrompt {
  readonly path: Path;
  /** As people find it. */
  readonly file: string;
  readonly text: string;
}

interface Insertion {
  readonly problems: readonly Problem[];
  readonly inserted: readonly InsertedPrompt[];
}

/** Changes `data`. What can't be read stays as it is. */
export function insertPromptFiles(data: unknown, read: ReadPrompt = nowhere): Insertion {
  const problems: Problem[] = [];
  const inserted: InsertedPrompt[] = [];
  // Several cases of a union describe the same value: without this, works would be visited 2^depth times.
  const visited = new Map<string, WeakSet<object>>();
  visit(data, entrySchema, [], () => undefined);
  return { problems, inserted };

  /** `replace` puts a text where the value is. */
  function visit(
    value: unknown,
    schema: unknown,
    path: Path,
    replace: (text: string) => void,
  ): void {
    if (!isRecord(schema) || !(isRecord(value) || isList(value))) return;
    const reference = schema["$ref"];
    if (isText(reference)) {
      const name = reference.replace(/^#\/\$defs\//, "");
      // In each place: by an alias, one prompt may be that of several tasks.
      if (name === "prompt") return insert(value, path, replace);
      const seen = visited.get(reference) ?? new WeakSet<object>();
      visited.set(reference, seen);
      if (seen.has(value)) return;
      seen.add(value);
      visit(value, Reflect.get(entrySchema.$defs, name), path, replace);
    }
    for (const one of listOf(schema["oneOf"])) visit(value, one, path, replace);
    if (isList(value)) {
      const first = listOf(schema["prefixItems"]);
      value.forEach((item, index) =>
        visit(item, first[index] ?? schema["items"], [...path, index], put(value, index)),
      );
      return;
    }
    const { properties, additionalProperties } = schema;
    for (const [key, field] of Object.entries(value)) {
      const own =
        isRecord(properties) && Object.hasOwn(properties, key)
          ? properties[key]
          : additionalProperties;
      visit(field, own, [...path, key], put(value, key));
    }
  }

  function insert(prompt: unknown, path: Path, replace: (text: string) => void): void {
    if (isList(prompt)) {
      prompt.forEach((item, index) => insert(item, [...path, index], put(prompt, index)));
      return;
    }
    const file = isRecord(prompt) ? prompt["file"] : undefined;
    if (!isText(file) || file === "") return;
    const found = read(file);
    if (found.kind === "read") {
      inserted.push({ path, file: found.place ?? file, text: found.text });
      return replace(found.text);
    }
    const { reason, hint } = found;
    problems.push({ path, codePath: entryCheck.codePath(path), reason, ...defined({ hint }) });
  }
}

/** Where in the file of a prompt a problem is, if its text is there. The path of a problem may be that of a list of prompts. */
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

function put(to: object, key: string | number): (text: string) => void {
  return (text) => void Reflect.set(to, key, text);
}

function listOf(value: unknown): readonly unknown[] {
  return isList(value) ? value : [];
}

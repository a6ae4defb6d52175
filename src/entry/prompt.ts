/**
 * Prompts are expanded statically when an entry is prepared, and dynamically each time they are sent. Each variable is
 * expanded once, and sizes are bounded before text is built, so that doubling variables can't fill the memory. Where
 * joining two parts would make a `$$` or a variable that neither of them contains, the `$` is doubled, or the text refused.
 */
import { defined, isList, isRecord, isText } from "../text/guards.ts";
import {
  DiagnosticsError,
  type Path,
  type Position,
  type Problem,
  valueAt,
} from "../document/diagnostic.ts";
import {
  type Entry,
  type ExpandedPrompt,
  type Prompt,
  type Task,
  runtimeVariables,
} from "./model.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { entryCheck } from "./problems.ts";

/** `$$`, or a variable with its name (words joined by hyphens) as the first group. */
export const variablePattern = /\$\$|\$([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z][A-Za-z0-9]*)*)/g;

export const promptLimits = {
  prompt: 10_000_000,
  nesting: 100,
} as const;

export interface PromptFault {
  readonly trail: readonly string[];
  readonly reason: string;
  readonly missing?: string;
}

export interface Expansion {
  readonly text: string;
  readonly faults: readonly PromptFault[];
  readonly complete: boolean;
  readonly usesUserInput: boolean;
}

interface Piece {
  text: string;
  /** The end of the text that what follows could change: a literal `$`, or a runtime variable, maybe with a hyphen. */
  open: string;
  complete: boolean;
  usesUserInput: boolean;
}

const nothing: Piece = { text: "", open: "", complete: false, usesUserInput: false };

export class PromptExpander {
  readonly #lookUp: (name: string) => Prompt | null | undefined;
  readonly #known = new Map<string, Piece>();
  #trail: string[] = [];
  #faults: PromptFault[] = [];
  readonly #said = new Set<string>();

  /** Null: the fault of this variable has already been reported. */
  constructor(lookUp: (name: string) => Prompt | null | undefined) {
    this.#lookUp = lookUp;
  }

  expand(prompt: Prompt, requiresBooleanTool = false): Expansion {
    this.#faults = [];
    this.#said.clear();
    const { text, complete, usesUserInput } = this.#insert(promptText(prompt));
    if (complete && text.trim() === "") this.#fault("The prompt is empty.");
    if (complete && requiresBooleanTool && !/job_boolean_(?:true|false)/.test(text)) {
      this.#fault("The prompt must mention job_boolean_true or job_boolean_false.");
    }
    return { text: complete ? text : "", faults: this.#faults, complete, usesUserInput };
  }

  #insert(source: string): Piece {
    const whole: Piece = { ...nothing, complete: true };
    let at = 0;
    for (const match of source.matchAll(variablePattern)) {
      const [sign, name] = match;
      this.#append(whole, plain(source.slice(at, match.index)));
      at = match.index + sign.length;
      this.#append(whole, name === undefined ? plain(sign, "") : this.#variable(name));
    }
    this.#append(whole, plain(source.slice(at)));
    return whole;
  }

  #variable(name: string): Piece {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const prompt = this.#lookUp(name);
    if (prompt === null) return nothing;
    if (prompt === undefined) {
      if (runtimeVariable(name) === undefined) {
        this.#fault(`Cannot find prompt variable: $${name}.`, name);
        return nothing;
      }
      return { ...plain(`$${name}`, `$${name}`), usesUserInput: name === "user-input" };
    }
    if (this.#trail.includes(name)) {
      const cycle = [...this.#trail.slice(this.#trail.indexOf(name)), name];
      const names = cycle.map((one) => `$${one}`).join(" → ");
      this.#fault(`Prompt variable $${name} contains itself: ${names}.`);
      return nothing;
    }
    if (this.#trail.length === promptLimits.nesting) {
      this.#fault(`Variables are nested deeper than ${promptLimits.nesting} levels.`);
      return nothing;
    }
    this.#trail.push(name);
    const isEmpty = prompt.length === 0 && typeof prompt !== "string";
    if (isEmpty) this.#fault("The prompt is empty.");
    const piece = isEmpty ? nothing : this.#insert(promptText(prompt));
    this.#trail.pop();
    this.#known.set(name, piece);
    return piece;
  }

  #append(to: Piece, piece: Piece): void {
    if (!piece.complete) to.complete = false;
    if (piece.usesUserInput) to.usesUserInput = true;
    const { text } = piece;
    if (text === "") return;
    const { open } = to;
    const read = open === "" ? null : (open + text.slice(0, 2)).match(variablePattern);
    const [name = ""] = read ?? [];
    if (!open.startsWith(name)) {
      if (open === "$") to.text += "$";
      else {
        const variable = open.replace(/-$/, "");
        this.#fault(`The text inserted after ${variable} would become part of its name.`);
        to.complete = false;
      }
    }
    if (to.text.length + text.length > promptLimits.prompt) {
      if (to.complete)
        this.#fault(`The prompt expands to more than ${promptLimits.prompt} characters.`);
      return void Object.assign(to, nothing);
    }
    to.text += text;
    to.open = text === "-" && open.length > 1 ? `${open}-` : piece.open;
  }

  #fault(reason: string, missing?: string): void {
    const said = JSON.stringify([this.#trail.at(-1), reason]);
    if (this.#said.has(said)) return;
    this.#said.add(said);
    this.#faults.push({ trail: [...this.#trail], reason, ...defined({ missing }) });
  }
}

export function variablesIn(prompt: Prompt): string[] {
  const text = promptText(prompt);
  if (!text.includes("$")) return [];
  return [...text.matchAll(variablePattern)].flatMap(([, name]) => name ?? []);
}

export function promptText(prompt: Prompt): string {
  return typeof prompt === "string" ? prompt : prompt.join("\n");
}

function plain(text: string, open = text.endsWith("$") ? "$" : ""): Piece {
  return { text, open, complete: true, usesUserInput: false };
}

/**
 * Joins the lines with LF and inserts the prompt variables, to any depth. Runtime variables and `$$` stay. With
 * `requiresBooleanTool` the result must mention `job_boolean_true` or `job_boolean_false`.
 *
 * @throws {DiagnosticsError} with `/$name` appended to the path for each variable on the way.
 */
export function expandPromptStatic(
  entry: Pick<Entry, "promptVariables">,
  codePath: string,
  prompt: Prompt,
  requiresBooleanTool = false,
): ExpandedPrompt {
  const variables = entry.promptVariables ?? {};
  const expander = new PromptExpander((name) =>
    Object.hasOwn(variables, name) ? variables[name] : undefined,
  );
  const { text, faults } = expander.expand(prompt, requiresBooleanTool);
  if (faults.length > 0) {
    throw new DiagnosticsError(
      faults.map(({ trail, reason }) => ({ codePath: trailPath(codePath, trail), reason })),
    );
  }
  return [text];
}

export function trailPath(codePath: string, trail: readonly string[]): string {
  return codePath + trail.map((name) => `/$${name}`).join("");
}

/** Values, whose keys have no `$`, are inserted as they are. One that is missing becomes `<MISSING>`, and `$$` a `$`. */
export function expandPromptDynamic(
  _entry: Pick<Entry, "promptVariables">,
  prompt: Prompt,
  values: Readonly<Record<string, string | undefined>>,
): ExpandedPrompt {
  if (typeof prompt !== "string" && prompt.length !== 1) {
    throw new Error("Only a prompt of exactly one item can be expanded dynamically.");
  }
  const text = promptText(prompt).replace(variablePattern, (_match, name: string | undefined) => {
    if (name === undefined) return "$";
    return (Object.hasOwn(values, name) ? values[name] : undefined) ?? "<MISSING>";
  });
  return [text];
}

export function promptsOf(task: Task | undefined): Prompt[] {
  return [
    task?.prompt,
    task?.system?.prompt,
    task?.availability?.condition,
    task?.criteria?.condition,
    task?.criteria?.failureAction?.additionalPrompt,
  ].filter((prompt) => prompt !== undefined);
}

const ofJob = [
  "change-base",
  "change-head",
  "change-files",
  "change-diff",
  "item",
  "item-index",
  "memory",
  "failed-checks",
  "previous-findings",
] as const;

const families = {
  "report-of-": "report",
  "result-of-": "result",
  "findings-of-": "findings",
  "input-": "input",
} as const;

export type RuntimeVariable =
  | { readonly kind: "fixed"; readonly name: string }
  | { readonly kind: "report" | "result" | "findings"; readonly of: string }
  | { readonly kind: "input"; readonly of: string };

const fixed: ReadonlySet<string> = new Set([
  ...runtimeVariables.map((name) => name.slice(1)),
  ...ofJob,
]);

export const fixedVariables: readonly string[] = [...fixed];

/** `name`: without `$`. Undefined if no such variable can have a value. */
export function runtimeVariable(name: string): RuntimeVariable | undefined {
  if (fixed.has(name)) return { kind: "fixed", name };
  for (const [start, kind] of Object.entries(families)) {
    if (name.startsWith(start)) return { kind, of: name.slice(start.length) };
  }
  return undefined;
}

/* Prompts in files of their own: their text replaces `{ file }` before anything else looks at the entry. */

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

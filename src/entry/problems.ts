import { defined, isList, isRecord } from "../text/guards.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { type Path, type Problem, valueAt, suggestion } from "../document/diagnostic.ts";
import { entrySchema } from "./entry-schema.ts";
import type { Entry, Job } from "./model.ts";

export const entryCheck = schemaCheck<Entry>(entrySchema, "entry");

export interface Hint {
  readonly hint?: string;
  /** The wrong part of the value. */
  readonly text?: string;
}

export class Problems {
  readonly all: Problem[] = [];
  readonly #ofSchema: readonly Problem[];
  readonly #broken: Set<string>;
  /** Looking for a similar name among thousands, for thousands of names, would take minutes. */
  #suggestionsLeft = 100;

  constructor(schemaProblems: readonly Problem[]) {
    this.#ofSchema = schemaProblems;
    this.#broken = new Set(
      schemaProblems.flatMap(({ codePath, meant = codePath }) => [codePath, meant]),
    );
  }

  add(path: Path, reason: string, hint: Hint = {}): void {
    const codePath = entryCheck.codePath(path);
    this.#broken.add(codePath);
    this.all.push({ path, codePath, reason, ...hint });
  }

  addMissing(path: Path, what: string, name: string, known: Iterable<string>): void {
    this.add(path, `There is no ${what} ${JSON.stringify(name)}.`, this.suggest(name, known));
  }

  suggest(name: string, known: Iterable<string>): Hint {
    return this.#suggestionsLeft-- > 0 ? suggestion(name, known) : {};
  }

  suggestAny(name: string, known: readonly string[]): Hint {
    const all = known.length === 0 ? {} : { hint: `possible names: ${listed(known)}` };
    return { ...all, ...this.suggest(name, known) };
  }

  isSound(part: Path): boolean {
    return ![...this.#ofSchema, ...this.all].some(({ path }) =>
      part.every((key, index) => path[index] === key),
    );
  }

  isBroken(path: Path): boolean {
    // The common case must not pay for the expression.
    return this.#broken.size > 0 && this.#broken.has(entryCheck.codePath(path));
  }
}

/** A problem that is valid, but probably not intended. */
export function warning(path: Path, reason: string, hint?: string): Problem {
  const codePath = entryCheck.codePath(path);
  return { path, codePath, reason, severity: "warning", ...defined({ hint }) };
}

export type EntryNames = ReturnType<typeof entryNames>;

/** The keys that the author wrote, whether or not what is behind them is sound. */
export function entryNames(value: unknown) {
  const keys = (field: string): ReadonlySet<string> => {
    const map = isRecord(value) ? value[field] : undefined;
    return new Set(isRecord(map) ? Object.keys(map) : []);
  };
  return {
    models: keys("models"),
    promptVariables: keys("promptVariables"),
    tasks: keys("tasks"),
    jobs: keys("jobs"),
    inputs: keys("inputs"),
    tools: keys("tools"),
    mcpServers: keys("mcpServers"),
    relics: keys("relics"),
    monuments: keys("monuments"),
  };
}

export function listed(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 20);
  return shown.join(", ") + (all.length > shown.length ? ", …" : "");
}

/** A `T` without the values that its schema rejects: any field may be absent. */
export type Salvaged<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends readonly unknown[]
      ? { readonly [Index in keyof T]: Salvaged<T[Index]> | undefined }
      : { readonly [Key in keyof T]?: Salvaged<T[Key]> | undefined };

/** The valid parts of an entry. Works are checked where they are found. */
export type SalvagedEntry = Salvaged<
  Omit<Entry, "jobs"> & { readonly jobs: Readonly<Record<string, Omit<Job, "work">>> }
>;

export function salvage(value: unknown, problems: readonly Problem[]): SalvagedEntry | undefined {
  for (const { path } of problems) remove(value, path);
  return isSalvaged(value) ? value : undefined;
}

function remove(root: unknown, path: Path): void {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined) return;
  // An element leaves a hole, so that the others keep their indexes.
  if (isList(parent)) Reflect.set(parent, last, undefined);
  else if (isRecord(parent)) Reflect.deleteProperty(parent, last);
}

/** The schema has checked this. The cast is for the compiler. */
function isSalvaged(value: unknown): value is SalvagedEntry {
  return isRecord(value);
}

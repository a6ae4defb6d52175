/** What the checks of an entry have found so far, and which parts of it are broken. */
import { defined, isRecord } from "../document/guards.ts";
import { schemaCheck } from "../document/schema-check.ts";
import type { Path, Problem } from "../document/problem.ts";
import { suggestion } from "../document/suggest.ts";
import { entrySchema } from "./entry-schema.ts";
import type { Entry } from "./model.ts";

export const entryCheck = schemaCheck<Entry>(entrySchema, "entry");

export interface Hint {
  readonly hint?: string;
  /** Of the value, what is wrong. */
  readonly text?: string;
}

export class Problems {
  readonly all: Problem[] = [];
  readonly #ofSchema: readonly Problem[];
  /** Code paths with a problem. */
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

  /** Whether nothing in this part has a problem so far. */
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

/** What is valid, but probably not intended. */
export function warning(path: Path, reason: string, hint?: string): Problem {
  const codePath = entryCheck.codePath(path);
  return { path, codePath, reason, severity: "warning", ...defined({ hint }) };
}

/** The keys that the author wrote, whether or not what is behind them is sound. */
export interface EntryNames {
  readonly models: ReadonlySet<string>;
  readonly promptVariables: ReadonlySet<string>;
  readonly tasks: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
  readonly inputs: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
  readonly mcpServers: ReadonlySet<string>;
  readonly relics: ReadonlySet<string>;
  readonly monuments: ReadonlySet<string>;
}

export function entryNames(value: unknown): EntryNames {
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

/** Some names, short enough for a sentence. */
export function listed(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 20);
  return shown.join(", ") + (all.length > shown.length ? ", …" : "");
}

/** What the checks of an entry have found so far, and which parts of it are broken. */
import { defined } from "../document/guards.ts";
import { compileSchema } from "../document/schema-check.ts";
import type { Path, Problem } from "../document/problem.ts";
import { suggestion } from "../document/suggest.ts";
import { validate as isEntry } from "../generated/schema-accepts.ts";
import { entrySchema } from "./entry-schema.ts";
import type { Entry } from "./model.ts";

export const entryCheck = compileSchema<Entry>(entrySchema, "entry", isEntry);

export interface Hint {
  readonly hint?: string;
}

export class Findings {
  readonly problems: Problem[] = [];
  /** Code paths with a problem. */
  readonly #broken: Set<string>;
  /** Looking for a similar name among thousands, for thousands of names, would take minutes. */
  #suggestionsLeft = 100;

  constructor(schemaProblems: readonly Problem[]) {
    this.#broken = new Set(
      schemaProblems.flatMap(({ codePath, meant = codePath }) => [codePath, meant]),
    );
  }

  add(path: Path, reason: string, hint: Hint = {}): void {
    const codePath = entryCheck.codePath(path);
    this.#broken.add(codePath);
    this.problems.push({ path, codePath, reason, ...hint });
  }

  addMissing(path: Path, what: string, name: string, known: Iterable<string>): void {
    this.add(path, `There is no ${what} ${JSON.stringify(name)}.`, this.suggest(name, known));
  }

  suggest(name: string, known: Iterable<string>): Hint {
    return this.#suggestionsLeft-- > 0 ? suggestion(name, known) : {};
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

/** Some names, short enough for a sentence. */
export function listed(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 20);
  return shown.join(", ") + (all.length > shown.length ? ", …" : "");
}

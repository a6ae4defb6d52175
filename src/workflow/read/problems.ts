/** What is wrong with a workflow, collected while it is read. Errors and warnings apart, and bounded in number. */
import { defined } from "../../document/guards.ts";
import type { Diagnostic } from "../../document/diagnostic.ts";
import type { Position } from "../../document/problem.ts";
import { didYouMean, suggest } from "../../document/suggest.ts";

/** Of each kind; a file with more is not what it was taken for. */
const MOST = 1_000;
/** Names that are compared for hints, in all: a hint isn't worth more time than reading. */
const MOST_COMPARISONS = 200_000;

export interface Place {
  readonly file: string;
  readonly at: Position;
}

export class Problems {
  readonly #errors: Diagnostic[] = [];
  readonly #warnings: Diagnostic[] = [];
  #omitted = 0;
  #comparisons = 0;

  error(place: Place, reason: string, hint?: string): void {
    this.#add(this.#errors, { ...placed(place), reason, ...defined({ hint }) });
  }

  warn(place: Place, reason: string, hint?: string): void {
    this.#add(this.#warnings, {
      ...placed(place),
      reason,
      ...defined({ hint }),
      severity: "warning",
    });
  }

  /** Those of a reader of documents. */
  include(diagnostics: readonly Diagnostic[]): void {
    for (const one of diagnostics) {
      this.#add(one.severity === "warning" ? this.#warnings : this.#errors, one);
    }
  }

  /** A hint with the most similar name, as long as it is cheap. */
  meant(word: string, candidates: () => Iterable<string>): string | undefined {
    if (this.#comparisons > MOST_COMPARISONS) return undefined;
    const names = [...candidates()];
    this.#comparisons += names.length;
    const best = suggest(word, names);
    return best === undefined || best === word ? undefined : didYouMean(best);
  }

  get errors(): readonly Diagnostic[] {
    return this.#errors;
  }

  /** How many errors are not listed. */
  get omitted(): number {
    return this.#omitted;
  }

  get warnings(): readonly Diagnostic[] {
    return this.#warnings;
  }

  #add(list: Diagnostic[], diagnostic: Diagnostic): void {
    if (list.length < MOST) list.push(diagnostic);
    else if (list === this.#errors) this.#omitted += 1;
  }
}

function placed({ file, at }: Place): Pick<Diagnostic, "file" | "line" | "column" | "codePath"> {
  return { file, line: at.line, column: at.column, codePath: "" };
}

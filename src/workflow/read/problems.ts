import { defined } from "../../text/guards.ts";
import { type Diagnostic, type Position, didYouMean, suggest } from "../../document/diagnostic.ts";

export interface Place {
  readonly file: string;
  readonly at: Position;
}

export class Problems {
  readonly errors: Diagnostic[] = [];
  readonly warnings: Diagnostic[] = [];

  error(place: Place, reason: string, hint?: string): void {
    this.errors.push({ ...placed(place), reason, ...defined({ hint }) });
  }

  warn(place: Place, reason: string, hint?: string): void {
    const severity = "warning";
    this.warnings.push({ ...placed(place), reason, ...defined({ hint }), severity });
  }

  include(diagnostics: readonly Diagnostic[]): void {
    for (const one of diagnostics) {
      (one.severity === "warning" ? this.warnings : this.errors).push(one);
    }
  }

  meant(word: string, candidates: Iterable<string>): string | undefined {
    const best = suggest(word, [...candidates]);
    return best === undefined || best === word ? undefined : didYouMean(best);
  }
}

function placed({ file, at }: Place): Pick<Diagnostic, "file" | "line" | "column" | "codePath"> {
  return { file, line: at.line, column: at.column, codePath: "" };
}

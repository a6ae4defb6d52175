/** Prints an eval in at most 50 lines, unless it is verbose. */
import { endLine, evalJson, evalRows, heads, notes } from "../evals/reports.ts";
import type { RunResult } from "../evals/results.ts";
import type { EvalSummary } from "../evals/summary.ts";
import { oneLine } from "../text/harmless-text.ts";
import { plural, secondsText } from "../text/numbers.ts";
import { table, type Output } from "./process.ts";

const MOST_LINES = 50;
const MOST_NOTES = 8;
const LONGEST = 300;

export class EvalLines {
  readonly #output: Output;
  readonly #isVerbose: boolean;
  readonly #isText: boolean;
  #runs = 0;
  #failed = 0;
  #printed = 0;

  constructor(
    output: Output,
    { verbose = false, format }: { readonly verbose?: boolean; readonly format: "text" | "json" },
  ) {
    this.#output = output;
    this.#isVerbose = verbose;
    this.#isText = format === "text";
  }

  /** Prints at most `most` lines. */
  print(lines: readonly string[], most: number): void {
    if (!this.#isText) return;
    this.draw("");
    const shown = this.#isVerbose ? lines : lines.slice(0, most);
    const left = lines.length - shown.length;
    const all = left === 0 ? shown : [...shown, `… and ${left} more (--verbose)`];
    this.#printed += all.length;
    for (const line of all) this.#output.print(`${/^ */.exec(line)?.[0]}${oneLine(line, LONGEST)}`);
  }

  /** `due`: the number of runs that the eval still has to make. */
  run({ key, run, failures, milliseconds }: RunResult, due: number): void {
    this.#runs += 1;
    const isFailed = failures.length > 0;
    if (isFailed) this.#failed += 1;
    const line = `${isFailed ? "FAIL " : "ok   "} ${key} #${run} (${secondsText(milliseconds)})`;
    const reasons = failures.slice(0, this.#isVerbose ? 3 : 1).map((text) => `      ${text}`);
    if (this.#isVerbose || (isFailed && this.#failed <= 6)) this.print([line, ...reasons], 2);
    const progress = `${this.#runs} of ${plural(due, "run")}, ${this.#failed} failed`;
    const isQuarter = due >= 20 && this.#runs < due && this.#runs % Math.ceil(due / 4) === 0;
    if (this.#output.looks.live) this.draw(progress);
    else if (isQuarter && !this.#isVerbose) this.print([progress], 1);
  }

  end(summary: EvalSummary): void {
    if (!this.#isText) return this.#output.printJson(evalJson(summary));
    const rows = evalRows(summary);
    const said = ["", ...notes(summary)];
    // The rest is an empty line, the head, the number of hidden rows, and the end.
    const room = this.#isVerbose
      ? rows.length
      : MOST_LINES - this.#printed - Math.min(said.length, MOST_NOTES + 1) - 4;
    const cases = rows.filter(({ rate }) => rate !== undefined);
    const few = Math.max(8, room - (rows.length - cases.length));
    // The worst ones, in the order of the file.
    const worst = cases.toSorted((a, b) => (a.rate ?? 0) - (b.rate ?? 0)).slice(0, few);
    const shown = rows
      .filter((row) => row.rate === undefined || worst.includes(row))
      .slice(0, room);
    const cells = shown.map((row) => row.cells.map((one) => oneLine(one, LONGEST)));
    const lines = table(heads, cells);
    const hidden = rows.length - shown.length;
    const rest = hidden === 0 ? [] : [`… and ${plural(hidden, "more row")} (--verbose)`];
    this.print(["", ...lines, ...rest], MOST_LINES);
    this.print(said, MOST_NOTES);
    this.print([endLine(summary)], 1);
  }

  /** Shows the progress in the last line of a terminal. */
  draw(text: string): void {
    if (this.#isText && this.#output.looks.live) this.#output.terminal.write(`\r\u001B[2K${text}`);
  }
}

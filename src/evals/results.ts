/** The results of an eval as JSON lines. Those of another version of a case count only for what they have spent. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { parsedJson } from "../document/guards.ts";
import { amount, fits, list, natural, tagged, text, type TypeOf } from "../events/shape.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { larger, nothingSpent, plus, type Spent } from "./budget.ts";

const line = tagged("type", {
  run: {
    key: text,
    fingerprint: text,
    run: natural,
    /** None: the run passed. */
    failures: list(text),
    tokens: amount,
    cost: amount,
    milliseconds: amount,
  },
  turn: { models: text, tokens: amount, cost: amount, elapsed: amount },
  ended: {},
});
type Line = TypeOf<typeof line>;
export type RunResult = Extract<Line, { readonly type: "run" }>;
type TurnResult = Extract<Line, { readonly type: "turn" }>;

export class Results {
  readonly #file: string;
  readonly #runs: RunResult[] = [];
  #spent = nothingSpent;
  #elapsed = 0;
  readonly #largest = new Map<string, Spent>();

  /** Goes on with what the file has, unless the eval is over. Throws a `UsageError` if it can't be written. */
  constructor(file: string) {
    this.#file = file;
    const found = readLines(file);
    const lines = found.some(({ type }) => type === "ended") ? [] : found;
    for (const one of lines) {
      if (one.type === "run") this.#runs.push(one);
      if (one.type === "turn") this.#take(one);
    }
    // Without the half line of a process that was killed.
    this.#write(() => writeFileSync(file, lines.map(asLine).join("")));
  }

  get runs(): readonly RunResult[] {
    return this.#runs;
  }

  get spent(): Spent {
    return this.#spent;
  }

  get largest(): ReadonlyMap<string, Spent> {
    return this.#largest;
  }

  /** How long earlier processes have worked on it, in milliseconds. */
  get elapsed(): number {
    return this.#elapsed;
  }

  add(run: RunResult): void {
    this.#runs.push(run);
    this.#append(run);
  }

  addTurn(models: string, spent: Spent, elapsed: number): void {
    const turn: TurnResult = { type: "turn", models, ...spent, elapsed };
    this.#take(turn);
    this.#append(turn);
  }

  end(): void {
    this.#append({ type: "ended" });
  }

  #take({ models, tokens, cost, elapsed }: TurnResult): void {
    this.#spent = plus(this.#spent, { tokens, cost });
    this.#largest.set(models, larger(this.#largest.get(models) ?? nothingSpent, { tokens, cost }));
    this.#elapsed = Math.max(this.#elapsed, elapsed);
  }

  #append(one: Line): void {
    this.#write(() => appendFileSync(this.#file, asLine(one)));
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      throw new UsageError(`Can't write the results ${this.#file}: ${errorMessage(error)}`);
    }
  }
}

const asLine = (one: Line): string => `${JSON.stringify(one)}\n`;

function readLines(file: string): readonly Line[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((one) => parsedJson(one))
      .filter((value) => fits(line, value));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw new UsageError(`Can't read the results ${file}: ${errorMessage(error)}`);
  }
}

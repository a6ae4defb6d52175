/**
 * The results of an eval as JSON lines, one for each run and each turn, written when they are over: an eval that was
 * interrupted goes on with the runs that are missing. A finished eval is not continued, but starts anew.
 *
 * Results of another version of a case are ignored, but what they have spent counts.
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { isRecord, parsedJson } from "../document/guards.ts";
import type { SchemaType } from "../document/schema-type.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { larger, nothingSpent, plus, type Spent } from "./budget.ts";

const number = { type: "number" } as const;
const string = { type: "string" } as const;
const runLine = {
  type: "object",
  required: ["type", "key", "fingerprint", "run", "failures", "tokens", "cost", "milliseconds"],
  properties: {
    type: { const: "run" },
    key: string,
    fingerprint: string,
    run: number,
    /** None: the run passed. */
    failures: { type: "array", items: string },
    tokens: number,
    cost: number,
    milliseconds: number,
  },
} as const;
const turnLine = {
  type: "object",
  required: ["type", "models", "tokens", "cost", "elapsed"],
  properties: {
    type: { const: "turn" },
    models: string,
    tokens: number,
    cost: number,
    elapsed: number,
  },
} as const;

export type RunResult = SchemaType<typeof runLine>;
type TurnResult = SchemaType<typeof turnLine>;

const runs = schemaCheck<RunResult>(runLine, "result");
const turns = schemaCheck<TurnResult>(turnLine, "result");

export class Results {
  readonly #file: string;
  readonly #runs: RunResult[] = [];
  #spent = nothingSpent;
  #elapsed = 0;
  readonly #largest = new Map<string, Spent>();

  /** Goes on with what the file has, unless the eval is over. Throws a `UsageError` if it can't be written. */
  constructor(file: string) {
    this.#file = file;
    const lines = readLines(file);
    const ended = lines.some((line) => isRecord(line) && line["type"] === "ended");
    for (const line of ended ? [] : lines) {
      if (runs.accepts(line)) this.#runs.push(line);
      if (turns.accepts(line)) this.#take(line);
    }
    // Without the half line of a process that was killed.
    this.#write(() => writeFileSync(file, (ended ? [] : lines).map(asLine).join("")));
  }

  get runs(): readonly RunResult[] {
    return this.#runs;
  }

  /** By all turns, also of runs that were interrupted. */
  get spent(): Spent {
    return this.#spent;
  }

  /** The largest turn of each set of models. */
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

  #append(line: object): void {
    this.#write(() => appendFileSync(this.#file, asLine(line)));
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      throw new UsageError(`Can't write the results ${this.#file}: ${errorMessage(error)}`);
    }
  }
}

const asLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

function readLines(file: string): readonly unknown[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => parsedJson(line))
      .filter((value) => value !== undefined);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw new UsageError(`Can't read the results ${file}: ${errorMessage(error)}`);
  }
}

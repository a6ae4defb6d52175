/** The files of an eval: its results as JSON lines, and the baseline. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { parsedJson } from "../text/guards.ts";
import { schemaCheck } from "../document/schema-check.ts";
import * as is from "../document/describe.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";

const line = is.tagged("type", {
  run: {
    key: is.text,
    fingerprint: is.text,
    run: is.natural,
    /** Empty if the run passed. */
    failures: is.list(is.text),
    tokens: is.amount,
    cost: is.amount,
    milliseconds: is.amount,
  },
  turn: { models: is.text, tokens: is.amount, cost: is.amount, elapsed: is.amount },
  ended: {},
});
type Line = is.TypeOf<typeof line>;
const lineCheck = schemaCheck<Line>(line, "line");
export type RunResult = Extract<Line, { readonly type: "run" }>;

/** The results of an earlier version of a case count only for what they have spent. */
export class Results {
  readonly #file: string;
  readonly #lines: Line[];

  /** Goes on with what the file has, unless the eval is over. Throws a `UsageError` if it can't be written. */
  constructor(file: string) {
    this.#file = file;
    const found = (readIfThere(file, "the results ") ?? "")
      .split("\n")
      .map((one) => parsedJson(one))
      .filter((value) => lineCheck.accepts(value));
    this.#lines = found.some(({ type }) => type === "ended") ? [] : found;
    // The half line of a process that was killed is left out.
    this.#write(writeFileSync, this.#lines);
  }

  get runs(): readonly RunResult[] {
    return this.#lines.filter((one) => one.type === "run");
  }

  get turns() {
    return this.#lines.filter((one) => one.type === "turn");
  }

  /** How long earlier processes have worked on it, in milliseconds. */
  get elapsed(): number {
    return this.turns.reduce((longest, { elapsed }) => Math.max(longest, elapsed), 0);
  }

  add(one: Line): void {
    this.#lines.push(one);
    this.#write(appendFileSync, [one]);
  }

  #write(write: typeof appendFileSync, lines: readonly Line[]): void {
    try {
      write(this.#file, lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
    } catch (error) {
      throw new UsageError(`Can't write the results ${this.#file}: ${errorMessage(error)}`);
    }
  }
}

const passes = is.record({ passed: is.count, runs: is.count });
const baseline = is.record({ version: is.exactly(1), cases: is.dictionary(passes) });
export type Passes = is.TypeOf<typeof passes>;
type BaselineFile = is.TypeOf<typeof baseline>;
export type Baseline = BaselineFile["cases"];
const baselineCheck = schemaCheck<BaselineFile>(baseline, "baseline");

/** Throws a `UsageError`. `mayLack`: the file may be missing; then it has no cases. */
export function readBaseline(file: string, mayLack: boolean): Baseline {
  const text = readIfThere(file, "the baseline ", mayLack ? undefined : "--update-baseline");
  if (text === undefined) return {};
  const value = parsedJson(text);
  if (!baselineCheck.accepts(value))
    throw new UsageError(`${file} is not a baseline: ${baselineCheck.fault(value)}`);
  return value.cases;
}

/** Cases that did not run keep what the baseline says of them. */
export async function writeBaseline(
  file: string,
  before: Baseline,
  measured: readonly (Passes & { readonly key: string })[],
): Promise<void> {
  const now = measured
    .filter(({ runs }) => runs > 0)
    .map(({ key, passed, runs }) => [key, { passed, runs }] as const);
  const cases = Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(now) }).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const text = `${JSON.stringify({ version: 1, cases }, null, 2)}\n`;
  await writeTextFile(file, text, "the baseline ");
}

/** Undefined if there is no such file, unless an option says how to write it. */
function readIfThere(file: string, what: string, option?: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const isMissing = errorCode(error) === "ENOENT";
    if (isMissing && option === undefined) return undefined;
    const hint = isMissing ? `. Write it with ${option}.` : "";
    throw new UsageError(`Can't read ${what}${file}: ${errorMessage(error)}${hint}`);
  }
}

/** The files of an eval: its results as JSON lines, and the baseline. */
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { viewsOf, type RunView } from "../events/view.ts";
import { readJournalFile } from "../journal/file.ts";
import { givenOutputs, reportsOf } from "../rehearsal/seen-outputs.ts";
import { truncate } from "../text/truncate.ts";
import { parsedJson } from "../text/guards.ts";
import { schemaCheck } from "../document/schema-check.ts";
import * as is from "../document/describe.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { hashOf } from "../run/fingerprint.ts";
import { UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";
import type { Cell } from "./read-eval.ts";

const line = is.tagged("type", {
  run: {
    key: is.text,
    fingerprint: is.text,
    run: is.natural,
    /** Empty if the run passed. */
    failures: is.list(is.text),
    tokens: is.amount,
    cost: is.amount,
    /** Models with calls of unknown cost. */
    unpriced: is.optional(is.list(is.text)),
    milliseconds: is.amount,
  },
  turn: { models: is.text, tokens: is.amount, cost: is.amount, elapsed: is.amount },
  ended: {},
});
type Line = is.TypeOf<typeof line>;
const lineCheck = schemaCheck<Line>(line, "line");
export type RunResult = Extract<Line, { readonly type: "run" }>;

type RunId = Pick<RunResult, "key" | "fingerprint" | "run">;
const idOf = ({ key, fingerprint, run }: RunId): string => JSON.stringify([key, fingerprint, run]);

/** The path of a failed run's journal in the output directory. */
export function journalName({ key, run }: Pick<RunResult, "key" | "run">): string {
  const words = key.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return join("failed", `${words.slice(0, 40)}-${hashOf([key]).slice(0, 8)}-${run}.jsonl`);
}

/** The results of an earlier version of a case count only for what they have spent. */
export class Results {
  readonly #file: string;
  readonly #lines: Line[];
  /** The failed runs, whose results are going to be replaced. */
  readonly #failed: ReadonlySet<RunResult> | undefined;

  /**
   * Continues with the results in the file, unless the eval is finished. With `failedOf`, continues a finished eval, and
   * only its failed runs are due; for these cells, results of an earlier version count, too. Throws a `UsageError` if
   * that isn't possible. `outputDir` has the journals of failed runs.
   */
  constructor(file: string, outputDir?: string, failedOf?: readonly Cell[]) {
    this.#file = file;
    const found = (readIfThere(file, "the results ") ?? "")
      .split("\n")
      .map((one) => parsedJson(one))
      .filter((value) => lineCheck.accepts(value));
    const isOver = found.some(({ type }) => type === "ended");
    this.#lines = found;
    if (failedOf !== undefined) {
      if (!isOver)
        throw new UsageError(
          `--failed requires a finished eval in ${file}. Run it without --failed first.`,
        );
      const now = new Map(failedOf.map(({ key, fingerprint }) => [key, { fingerprint }]));
      this.#lines = found.map((one) =>
        one.type === "run" ? { ...one, ...now.get(one.key) } : one,
      );
      this.#failed = new Set(this.runs.filter(({ failures }) => failures.length > 0));
    } else if (isOver) {
      this.#lines = [];
      for (const one of found)
        if (one.type === "run" && outputDir !== undefined)
          rmSync(join(outputDir, journalName(one)), { force: true });
    }
    // The half line of a process that was killed is left out. Whoever is killed here loses nothing that was paid.
    this.#write((_, text) => {
      writeFileSync(`${file}.part`, text);
      renameSync(`${file}.part`, file);
    }, this.#lines);
  }

  /** The last result of each run. */
  get runs(): readonly RunResult[] {
    const runs = this.#lines.filter((one) => one.type === "run");
    const last = new Map(runs.map((one) => [idOf(one), one]));
    return [...last.values()].filter((one) => this.#failed?.has(one) !== true);
  }

  /** The missing runs. The first run of every cell comes before any second run, so that a mistake shows early. */
  due(
    cells: readonly Cell[],
    runs: number,
  ): readonly { readonly cell: Cell; readonly run: number }[] {
    const there = new Set(this.runs.map(idOf));
    const failed = this.#failed && new Set([...this.#failed].map(idOf));
    const isDue = (id: string): boolean => failed?.has(id) ?? !there.has(id);
    return Array.from({ length: runs }, (_, at) => cells.map((cell) => ({ cell, run: at + 1 })))
      .flat()
      .filter(({ cell, run }) => isDue(idOf({ ...cell, run })));
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
    this.#write((path, text) => appendFileSync(path, text), [one]);
  }

  #write(write: (path: string, text: string) => void, lines: readonly Line[]): void {
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
export type Baseline = ReadonlyMap<string, Passes>;
const baselineCheck = schemaCheck<BaselineFile>(baseline, "baseline");

/** Throws a `UsageError`. `mayLack`: the file may be missing; then it has no cases. */
export function readBaseline(file: string, mayLack: boolean): Baseline {
  const text = readIfThere(file, "the baseline ", mayLack ? undefined : "--update-baseline");
  if (text === undefined) return new Map();
  const value = parsedJson(text);
  if (!baselineCheck.accepts(value))
    throw new UsageError(`${file} is not a baseline: ${baselineCheck.fault(value)}`);
  const cases = Object.entries(value.cases).filter(([, { runs }]) => runs > 0);
  const wrong = cases.find(([, { passed, runs }]) => passed > runs)?.[0];
  if (wrong !== undefined)
    throw new UsageError(`${file}: ${JSON.stringify(wrong)} passed more often than it ran.`);
  return new Map(cases);
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
  const all = [...new Map([...before, ...now])].sort(([a], [b]) => (a < b ? -1 : 1));
  const cases = Object.fromEntries(all);
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

/* The answers of failed runs, from their journals. */

export interface Answer {
  readonly run: number;
  readonly failures: readonly string[];
  /** The path in the output directory. */
  readonly journal: string;
  readonly text: string;
}
interface CaseWithFailures {
  readonly key: string;
  readonly failedRuns: readonly Pick<RunResult, "run" | "failures">[];
}

/** The answers by the key of the case, which the report shows side by side. */
export type Answers = ReadonlyMap<string, readonly Answer[]>;

/** The limit of one report. All journals are kept. */
const MOST_CASES = 100;

export async function answersOf(
  cases: readonly CaseWithFailures[],
  outputDir: string,
): Promise<Answers> {
  const all = new Map<string, readonly Answer[]>();
  const failed = cases.filter(({ failedRuns }) => failedRuns.length > 0).slice(0, MOST_CASES);
  for (const { key, failedRuns } of failed) {
    const answers = failedRuns.map(async (one) => {
      const journal = journalName({ key, ...one });
      return { ...one, journal, text: await answerIn(join(outputDir, journal)) };
    });
    all.set(key, await Promise.all(answers));
  }
  return all;
}

async function answerIn(journal: string): Promise<string> {
  const views = new Map<string, RunView>();
  try {
    await readJournalFile(journal, (events) => void viewsOf(events, views));
  } catch (error) {
    return `The journal can't be read: ${errorMessage(error)}`;
  }
  return truncate([...views.values()].map(answerOf).join("\n\n"), 4_000, "…");
}

/** The results of a run, or the last messages of its tasks if it has none. */
function answerOf(view: RunView): string {
  const reports = [...reportsOf(view)].map(([task, markdown]) => `${task}:\n${markdown}`);
  const fields = Object.entries(givenOutputs(view)).map(
    ([name, value]) => `${name}: ${JSON.stringify(value, null, 2)}`,
  );
  const said = [...view.works.values()].flatMap(({ taskId, lastMessage }) =>
    lastMessage === undefined ? [] : [`${taskId}:\n${lastMessage}`],
  );
  const handedIn = [...reports, ...fields];
  return (handedIn.length > 0 ? handedIn : said).join("\n\n");
}

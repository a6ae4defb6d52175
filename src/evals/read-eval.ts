/** An eval from its file, checked against its entries: what will run, or every problem at its line. */
import { dirname, isAbsolute, join } from "node:path";
import {
  type Diagnostic,
  DiagnosticsError,
  type Locate,
  type Path,
  suggestion,
} from "../document/diagnostic.ts";
import { formatOfFile, readDocument } from "../document/read-document.ts";
import { schemaCheck } from "../document/schema-check.ts";
import type { Work } from "../entry/model.ts";
import { defined } from "../text/guards.ts";
import { assignWorkId } from "../entry/work.ts";
import { buildScript, type Script } from "../rehearsal/format/script.ts";
import { checkNames, chooseJob, readEntry, readText } from "../run/entry-files.ts";
import { overrideModels } from "../run/entry-models.ts";
import { entryFingerprint, hashOf } from "../run/fingerprint.ts";
import type { ReadEntry } from "../run/flows.ts";
import { guessText, inputsOf, missingUserInput, UsageError } from "../run/options.ts";
import { type CaseFields, type EvalFile, evalSchema, type Judge } from "./eval-schema.ts";

export interface Eval {
  readonly file: string;
  readonly description?: string;
  readonly runs: number;
  readonly parallel?: number;
  readonly budget: NonNullable<EvalFile["budget"]>;
  /** From 0 to 1, of all cases with a variant and a set of models. */
  readonly minPassRate: number | undefined;
  readonly cells: readonly Cell[];
}

/** A case with a variant and a set of models: what a pass rate is measured of. */
export interface Cell {
  /** Unique in the file, and the same in its next version: the baseline knows it by this. */
  readonly key: string;
  readonly caseName: string;
  /** Empty if the file has none. */
  readonly variant: string;
  readonly model: string;
  /** Covers everything that its runs depend on, except the working directory of the case. */
  readonly fingerprint: string;
  /** At least one; the runs take turns. Live: the only one says what a run begins with. */
  readonly scripts: readonly Script[];
  readonly live: boolean;
  readonly models: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly judge: Judge | undefined;
  readonly minPassRate: number | undefined;
  readonly line: number;
}

const schema = schemaCheck<EvalFile>(evalSchema, "eval");
const defaultRuns = 5;

/** Throws a `DiagnosticsError` with all problems. */
export async function readEval(file: string): Promise<Eval> {
  const text = await readText(file);
  const read = readDocument(text, { file, format: formatOfFile(file) ?? "yaml" });
  if (read.kind === "rejected") throw new DiagnosticsError(read.diagnostics);
  const { value, locate } = read;
  if (!schema.accepts(value)) throw new DiagnosticsError(schema.diagnose(value, { file, locate }));
  const reader = new Reader(file, locate, value);
  const cells = await reader.cells();
  const problems = reader.problems();
  if (problems.length > 0) throw new DiagnosticsError(problems);
  const { description, runs = defaultRuns, parallel, budget = {}, minPassRate } = value;
  return { file, runs, budget, minPassRate, cells, description, parallel };
}

interface Variant {
  readonly name: string;
  readonly entryFile: string;
  readonly loaded: ReadEntry | undefined;
  readonly inputs: Readonly<Record<string, string>>;
}

class Reader {
  readonly #file: string;
  readonly #locate: Locate;
  readonly #value: EvalFile;
  /** Once each, though several cells of a case may have the same. */
  readonly #problems = new Map<string, Diagnostic>();

  constructor(file: string, locate: Locate, value: EvalFile) {
    this.#file = file;
    this.#locate = locate;
    this.#value = value;
  }

  problems(): readonly Diagnostic[] {
    return [...this.#problems.values()].sort(
      (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
  }

  async cells(): Promise<readonly Cell[]> {
    const variants = await this.#variants();
    const { models = { "": {} }, cases } = this.#value;
    const seen = new Set<string>();
    const cells: Cell[] = [];
    for (const [at, fields] of cases.entries()) {
      if (seen.has(fields.name)) {
        const reason = `There is another case with the name ${JSON.stringify(fields.name)}.`;
        this.#problem(["cases", at, "name"], reason);
      }
      seen.add(fields.name);
      this.#checkSelectors(fields, at);
      for (const variant of variants)
        for (const [model, ids] of Object.entries(models))
          cells.push(...(await this.#cell(fields, at, variant, model, ids)));
    }
    return cells;
  }

  async #variants(): Promise<readonly Variant[]> {
    const { entry, variants = { "": {} } } = this.#value;
    return Promise.all(
      Object.entries(variants).map(async ([name, variant]) => {
        const { entry: named = entry } = variant;
        const entryFile = isAbsolute(named) ? named : join(dirname(this.#file), named);
        const path = variant.entry === undefined ? ["entry"] : ["variants", name, "entry"];
        const loaded = await this.#try(path, () => readEntry(entryFile));
        return { name, entryFile, loaded, inputs: variant.inputs ?? {} };
      }),
    );
  }

  async #cell(
    fields: CaseFields,
    at: number,
    variant: Variant,
    model: string,
    ids: Cell["models"],
  ): Promise<readonly Cell[]> {
    const path = ["cases", at];
    const { permissions, limits, job: named, judge: ofAll } = this.#value;
    const { name: caseName, rehearsals, judge: ofCase, minPassRate, ...rest } = fields;
    const judge = ofCase ?? ofAll;
    const chosen = this.#rehearsals(fields, at, variant.name, model);
    const scripts = chosen.flatMap((index) => this.#script(fields, at, index, variant));
    const { loaded, inputs } = variant;
    if (loaded === undefined || scripts.length === 0) return [];
    const { entry, flows } = loaded;
    const job = await this.#try(["job"], () => chooseJob(entry, named));
    if (job === undefined) return [];
    const modelsPath = model === "" ? ["models"] : ["models", model];
    await this.#try(modelsPath, () => overrideModels(entry, ids));
    const all = { ...fields.inputs, ...inputs };
    await this.#try(path, () => inputsOf(entry, all, (name) => name));
    const noInput = missingUserInput("job", job, entry.jobs[job], fields.userInput);
    if (noInput !== undefined) this.#problem(path, noInput, 'add "userInput"');
    const judgePath = [...(ofCase === undefined ? [] : path), "judge", "task"];
    const judged = await this.#try(judgePath, () => withJudge(loaded, job, judge));
    if (judged === undefined) return [];
    for (const script of scripts) await this.#try(path, () => checkNames(script, judged, job));
    const played = chosen.map((index) => rehearsals?.[index]?.sessions);
    const key = [caseName, variant.name, model].filter((part) => part !== "").join(" | ");
    const fingerprint = hashOf([
      entryFingerprint(entry, flows),
      [job, rest, judge, inputs, ids, permissions, limits, played],
    ]);
    const { line } = this.#locate(path);
    const live = rehearsals === undefined;
    const of = { key, caseName, variant: variant.name, model, fingerprint, line };
    return [{ ...of, scripts, live, models: ids, inputs, judge, minPassRate }];
  }

  #script(fields: CaseFields, at: number, index: number, variant: Variant): readonly Script[] {
    const { entryFile } = variant;
    const { name: _name, judge: _judge, minPassRate: _rate, rehearsals, ...rest } = fields;
    const { job, permissions, limits } = this.#value;
    const sessions = rehearsals?.[index]?.sessions ?? [];
    const ofEval = defined({ job, permissions, limits, entry: entryFile });
    const path = (inside: Path): Path => {
      const first = String(inside[0]);
      if (first === "sessions") return ["cases", at, "rehearsals", index, ...inside];
      return Object.hasOwn(ofEval, first) ? inside : ["cases", at, ...inside];
    };
    const built = buildScript(
      { ...rest, ...ofEval, sessions },
      {
        file: this.#file,
        locate: (inside) => this.#locate(path(inside)),
        codePath: (inside) => schema.codePath(path(inside)),
      },
    );
    if (built.kind === "loaded") return [{ ...built.script, entryFile }];
    this.#add(built.diagnostics);
    return [];
  }

  /** Finds the rehearsals for a variant and a set of models, by index. A live case has one script without sessions. */
  #rehearsals(fields: CaseFields, at: number, variant: string, model: string): number[] {
    const { rehearsals } = fields;
    if (rehearsals === undefined) return [-1];
    const ranked = rehearsals.flatMap((one, index) => {
      const fits = (one.variant ?? variant) === variant && (one.model ?? model) === model;
      const rank = (one.variant === undefined ? 0 : 2) + (one.model === undefined ? 0 : 1);
      return fits ? [{ index, rank }] : [];
    });
    if (ranked.length === 0) {
      const named = [variant, model].filter((name) => name !== "").join(" with ");
      this.#problem(["cases", at, "rehearsals"], `There is no rehearsal for ${named}.`);
    }
    const best = Math.max(...ranked.map(({ rank }) => rank));
    return ranked.filter(({ rank }) => rank === best).map(({ index }) => index);
  }

  #checkSelectors({ rehearsals = [] }: CaseFields, at: number): void {
    const { variants = {}, models = {} } = this.#value;
    const check = (path: Path, known: object, name: string | undefined): void => {
      if (name === undefined || Object.hasOwn(known, name)) return;
      const { hint } = suggestion(name, Object.keys(known));
      this.#problem(path, `Unknown ${String(path.at(-1))} ${JSON.stringify(name)}.`, hint);
    };
    for (const [index, { variant, model }] of rehearsals.entries()) {
      check(["cases", at, "rehearsals", index, "variant"], variants, variant);
      check(["cases", at, "rehearsals", index, "model"], models, model);
    }
  }

  /** Returns undefined for what is refused, which is a problem at the path. */
  async #try<T>(path: Path, make: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await make();
    } catch (error) {
      if (error instanceof UsageError) this.#problem(path, error.message);
      else if (!(error instanceof DiagnosticsError)) throw error;
      else
        for (const one of error.diagnostics) {
          if (one.line !== undefined) this.#add([one]);
          // The problem is about a whole file, such as one that isn't there: this eval names it.
          else this.#problem(path, `${one.file ?? ""}: ${one.reason}`, one.hint);
        }
      return undefined;
    }
  }

  #add(diagnostics: readonly Diagnostic[]): void {
    for (const one of diagnostics) this.#problems.set(JSON.stringify(one), one);
  }

  #problem(path: Path, reason: string, hint?: string): void {
    const place = { file: this.#file, ...this.#locate(path), codePath: schema.codePath(path) };
    this.#add([{ ...place, reason, hint }]);
  }
}

/** The last work of the job, so that it sees what the job has done and counts against its limits. Throws a `UsageError`. */
export function withJudge(loaded: ReadEntry, jobName: string, judge: Judge | undefined): ReadEntry {
  const { entry } = loaded;
  const job = entry.jobs[jobName];
  if (judge === undefined || job === undefined) return loaded;
  const { task, command } = judge;
  if (task !== undefined && entry.tasks[task]?.model === undefined) {
    const why = Object.hasOwn(entry.tasks, task)
      ? `The task ${JSON.stringify(task)} has no model, so it can't be the judge.`
      : `There is no task ${JSON.stringify(task)} in the entry${guessText(task, Object.keys(entry.tasks))}.`;
    throw new UsageError(why);
  }
  const asked: Work =
    task === undefined
      ? { kind: "Run", run: command ?? "", name: "judge" }
      : { kind: "Ref", taskId: task };
  const work = assignWorkId({ kind: "Seq", works: [job.work, asked] });
  return { ...loaded, entry: { ...entry, jobs: { ...entry.jobs, [jobName]: { ...job, work } } } };
}

/** Values that a user gives as options, inputs or fields: text in, a value or a problem out, which follows the name. */
import { defined, isRecord, parsedJson } from "../text/guards.ts";
import { didYouMean, suggest, suggestion } from "../document/suggest.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Limits, PreparedEntry } from "../entry/model.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Shard } from "../engine/fan-out.ts";
import { type ReporterName, reporterNames } from "../reports/rehearsals.ts";
import type { Answers } from "../workflow/kinds/ask.ts";

/** A mistake that the user can correct: shown without a stack trace, exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Why it can't start; undefined if it has the user input that it needs. */
export function missingUserInput(
  what: "job" | "task",
  name: string,
  needs: { readonly requireUserInput: boolean } | undefined,
  userInput: string | undefined,
): string | undefined {
  if (needs?.requireUserInput !== true || (userInput ?? "").trim() !== "") return undefined;
  return `The ${what} ${JSON.stringify(name)} requires user input.`;
}

/** For `catch`: what can't be done, and why. */
export function unable(what: string): (error: unknown) => never {
  return (error) => {
    throw new UsageError(`Can't ${what}: ${errorMessage(error)}`);
  };
}

/** How an edge writes the name of an option in a sentence: `--max-parallel`, or the input's name in backticks. */
export type WriteName = (option: string) => string;

export const asFlag: WriteName = (option) => `--${option}`;

/** What can be given more than once is a list or an object in the library. */
const repeated = new Set(["answer", "input", "model", "param"]);

export const asOption: WriteName = (option) =>
  repeated.has(option)
    ? `${option}s`
    : option.replace(/-./g, ([, letter = ""]) => letter.toUpperCase());

export type Parsed<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A phrase that follows the name, such as `must be a number greater than 0, not "soon"`. */
  | { readonly kind: "wrong"; readonly problem: string };

/** Digits only: `1e3`, `0x10` and `Infinity` are probably mistakes. */
function decimal(text: string): number {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
}

export function parseNumber(text: string, kind: "a whole number" | "a number"): Parsed<number> {
  const number = decimal(text);
  const fits = kind === "a number" ? Number.isFinite(number) : Number.isSafeInteger(number);
  return fits && number > 0
    ? right(number)
    : wrong(`must be ${kind} greater than 0, not ${JSON.stringify(text)}`);
}

export function parsePort(text: string): Parsed<number> {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return port <= 65_535
    ? right(port)
    : wrong(`must be a port from 0 to 65535, not ${JSON.stringify(text)}`);
}

export function parseChoice<T extends string>(text: string, values: readonly T[]): Parsed<T> {
  const chosen = values.find((one) => one === text);
  if (chosen !== undefined) return right(chosen);
  const guess = guessText(text, values);
  return wrong(`must be one of ${values.join(", ")}, not ${JSON.stringify(text)}${guess}`);
}

/** ` (did you mean "run"?)`, or nothing. */
export function guessText(word: string, known: readonly string[]): string {
  const meant = suggest(word, known);
  return meant === undefined ? "" : ` (${didYouMean(meant)})`;
}

type Texts = Readonly<Record<string, string>>;
export type Models = Texts;

export function parseModel(text: string, models: Models = {}): Parsed<Models> {
  const [, before = "", after = ""] =
    /^([^=]+)=(.+)$/s.exec(text.includes("=") ? text : `${ALL_MODELS}=${text}`) ?? [];
  const [category, id] = [before.trim(), after.trim()];
  return category === "" || id === ""
    ? wrong("must be the id of a model, or category=id, for example driving=gpt-5-mini")
    : addOnce([category, id], models, "category");
}

/** In place of a category: the model of everything that no category names. */
export const ALL_MODELS = "*";

function addOnce([name, text]: Assignment, texts: Texts, what: string): Parsed<Texts> {
  return Object.hasOwn(texts, name)
    ? wrong(`names the ${what} ${JSON.stringify(name)} twice`)
    : right({ ...texts, [name]: text });
}

export type Params = Texts;
export type Inputs = Texts;
export type { Answers };

export type Assignment = readonly [name: string, value: string];

const nameForm = /^[A-Za-z_]\w{0,99}$/;
/** What the run sets itself, or is an option of its own: a parameter of such a name could never be read. */
const ownNames: readonly string[] = ["STATUS", "RESULT", "CONTENT", "USER_INPUT"];

function parseAssignment(text: string, example: string): Parsed<Assignment> {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(0, at)).trim();
  return name === ""
    ? wrong(`must have the form NAME=value, for example ${example}`)
    : right([name, text.slice(at + 1)]);
}

function assigning<T>(
  example: string,
  none: T,
  add: (assignment: Assignment, earlier: T) => Parsed<T>,
): (text: string, earlier?: T) => Parsed<T> {
  return (text, earlier = none) => {
    const parsed = parseAssignment(text, example);
    return parsed.kind === "wrong" ? parsed : add(parsed.value, earlier);
  };
}

export const parseParam = assigning<Params>("BRANCH=main", {}, addParam);
/** The same for the inputs of an entry. `NAME=@FILE`, the text of a file, is read later. */
export const parseInput = assigning<Inputs>("topic=security", {}, addInput);
export const parseAnswer = assigning<Answers>("ASK_NAME=yes", {}, addAnswer);

export function addInput(assignment: Assignment, inputs: Inputs): Parsed<Inputs> {
  return addOnce(assignment, inputs, "input");
}

export function addParam(assignment: Assignment, params: Params): Parsed<Params> {
  const [name] = assignment;
  if (!nameForm.test(name)) {
    return wrong(
      `has the name ${JSON.stringify(name)}. A name consists of letters, digits and _, and doesn't begin with a digit`,
    );
  }
  return ownNames.includes(name)
    ? wrong(`names ${name}, which the run sets itself and can't be a parameter`)
    : addOnce(assignment, params, "parameter");
}

export function addAnswer([id, text]: Assignment, answers: Answers): Parsed<Answers> {
  if (!/^ASK\w*$/.test(id)) {
    return wrong(
      `has the name ${JSON.stringify(id)}. An answer has the id of its ASK, for example ASK_NAME=yes`,
    );
  }
  return right({ ...answers, [id]: [...(answers[id] ?? []), text] });
}

export function parseEnvName(
  text: string,
  names: readonly string[] = [],
): Parsed<readonly string[]> {
  const name = text.trim();
  if (!nameForm.test(name)) {
    const hint = name.includes("=") ? ". Its value is taken from the environment" : "";
    return wrong(
      `must be the name of an environment variable, for example CI, not ${JSON.stringify(text)}${hint}`,
    );
  }
  return right([...names.filter((other) => other !== name), name]);
}

export function parsePattern(text: string): Parsed<RegExp> {
  try {
    return right(new RegExp(text, "i"));
  } catch {
    return wrong(`must be a regular expression, not ${JSON.stringify(text)}`);
  }
}

export function parsePercent(text: string): Parsed<number> {
  const percent = decimal(text);
  return percent <= 100
    ? right(percent)
    : wrong(`must be a percentage from 0 to 100, not ${JSON.stringify(text)}`);
}

export function parseShard(text: string): Parsed<Shard> {
  const [, index, count] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text.trim()) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  return shard.index <= shard.count
    ? right(shard)
    : wrong(`must be one part of several, such as 1/3, not ${JSON.stringify(text)}`);
}

export interface ChosenReporter {
  readonly name: ReporterName;
  readonly file?: string;
}

export function parseReporter(
  text: string,
  earlier: readonly ChosenReporter[] = [],
): Parsed<readonly ChosenReporter[]> {
  const [, name = "", file] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const chosen = parseChoice(name, reporterNames);
  if (chosen.kind === "wrong") return chosen;
  if (file === "") return wrong(`names no file: ${JSON.stringify(text)}`);
  const same = (one: ChosenReporter): boolean =>
    file === undefined ? one.name === chosen.value && one.file === undefined : one.file === file;
  if (earlier.some(same)) return wrong(`is given twice: ${JSON.stringify(text)}`);
  return right([...earlier, { name: chosen.value, ...defined({ file }) }]);
}

type AssignmentLine = Parsed<Assignment> & { readonly line: string };

/** Assignments from a JSON object, for values that nobody can break out of. */
export function readObject(text: string): readonly AssignmentLine[] {
  const value = parsedJson(text);
  if (!isRecord(value)) return [{ ...wrong("is no JSON object"), line: text }];
  return Object.entries(value).map(([name, one]) =>
    typeof one !== "string" && typeof one !== "number" && typeof one !== "boolean"
      ? { ...wrong(`has a value for ${JSON.stringify(name)} that is no text`), line: text }
      : { ...right([name, `${one}`] as const), line: name },
  );
}

/** `NAME=value`, trimmed; and values of several lines, as they are, as GITHUB_OUTPUT has them. */
export function readAssignments(text: string, example: string): readonly AssignmentLine[] {
  const found: AssignmentLine[] = [];
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").trim();
    if (line === "") continue;
    const [, name, delimiter] = /^([^=<]*)<<(.*)$/.exec(line) ?? [];
    if (name === undefined || delimiter === undefined) {
      const parsed = parseAssignment(line, example);
      if (parsed.kind === "wrong") found.push({ ...parsed, line });
      else found.push({ ...right([parsed.value[0], parsed.value[1].trim()] as const), line });
      continue;
    }
    const end = lines.findIndex((one, index) => index > at && one.trim() === delimiter.trim());
    if (delimiter.trim() === "" || end === -1) {
      const problem = `begins a value of several lines, but no line ${JSON.stringify(delimiter.trim())} ends it`;
      found.push({ ...wrong(problem), line });
      return found;
    }
    const value = lines.slice(at + 1, end).join("\n");
    found.push({ ...right([name.trim(), value] as const), line });
    at = end;
  }
  return found;
}

export function limitsOf(
  given: {
    readonly maxParallel?: number | undefined;
    readonly timeoutMinutes?: number | undefined;
  },
  write: WriteName,
): { readonly limits: Limits; readonly limitNames: LimitSources } {
  const { maxParallel: parallel, timeoutMinutes: jobMinutes } = given;
  return {
    limits: defined({ parallel, jobMinutes }),
    limitNames: { parallel: write("max-parallel"), jobMinutes: write("timeout-minutes") },
  };
}

function right<T>(value: T): { readonly kind: "value"; readonly value: T } {
  return { kind: "value", value };
}

function wrong(problem: string): { readonly kind: "wrong"; readonly problem: string } {
  return { kind: "wrong", problem };
}

export function inputsOf(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
  write: WriteName,
): Inputs {
  const names = Object.keys(declared);
  const known = names.length === 0 ? "it has no inputs" : `its inputs are ${names.join(", ")}`;
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  const problems = unknown.map((name) => {
    const { hint = known } = suggestion(name, names);
    return `The entry has no input ${JSON.stringify(name)} (${hint}).`;
  });
  const all = withDefaults({ inputs: declared }, given);
  const values = Object.entries(declared).flatMap(([name, input]): [string, string][] => {
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (value === undefined) {
      if (input.required === true)
        problems.push(
          `The input ${name} is required (${input.description}). Pass it with ${write("input")}.`,
        );
      return [];
    }
    if (input.options?.includes(value) === false)
      problems.push(
        `The input ${name} is ${JSON.stringify(value)}, and must be one of ${input.options.join(", ")}.`,
      );
    return [[name, value]];
  });
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return Object.fromEntries(values);
}

export function withDefaults(
  { inputs: declared = {} }: Pick<PreparedEntry, "inputs">,
  given: Inputs,
): Inputs {
  const defaults = Object.entries(declared).flatMap(([name, input]) =>
    input.default === undefined ? [] : [[name, input.default] as const],
  );
  return { ...Object.fromEntries(defaults), ...given };
}

export function inputValues(inputs: Inputs): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [`input-${name}`, value]),
  );
}

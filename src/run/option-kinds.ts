/** Kinds of values that a user gives as an argument, an input of the action, or a field of the library. */
import { readDocument } from "../document/read-document.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { didYouMean, suggest } from "../document/diagnostic.ts";
import type { Shard } from "../engine/fan-out.ts";
import { overridingLimits, type Limits } from "../entry/limits.ts";
import { defined, isList, isRecord, isText, urlOf } from "../text/guards.ts";

export type Parsed<T> =
  | { readonly kind: "value"; readonly value: T }
  /** A phrase that follows the name, such as `must be a number greater than 0, not "soon"`. */
  | { readonly kind: "wrong"; readonly problem: string };

/** Returns the problem of a library value, as a phrase that follows its name, or undefined. */
export type Check = (value: unknown) => string | undefined;

export interface Kind<T> {
  /** Reads one argument. `earlier` is the value of the arguments before it, if the option may be repeated. */
  parse(text: string, earlier?: T): Parsed<T>;
  readonly check: Check;
  readonly values?: readonly string[];
  readonly isFlag?: true;
}

/** An option that may be repeated. An input of the action has several lines, each with one argument. */
export interface Repeated<T> extends Kind<T> {
  readonly none: T;
  lines(text: string): readonly Line[];
}

export interface Line {
  readonly line: string;
  readonly argument: Parsed<string>;
}

export function isRepeated<T>(kind: Kind<T>): kind is Repeated<T> {
  return "lines" in kind;
}

export type Flag = Kind<true> & { readonly isFlag: true };

export function right<T>(value: T): Parsed<T> {
  return { kind: "value", value };
}

export function wrong(problem: string): { readonly kind: "wrong"; readonly problem: string } {
  return { kind: "wrong", problem };
}

export function andThen<A, B>(read: Parsed<A>, next: (value: A) => Parsed<B>): Parsed<B> {
  return read.kind === "wrong" ? read : next(read.value);
}

function problemOf(read: Parsed<unknown>): string | undefined {
  return read.kind === "wrong" ? read.problem : undefined;
}

export const must =
  (what: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? undefined : `must ${what}`;

export const quote = (text: string): string => JSON.stringify(text);
const isFilled = (value: unknown): boolean => isText(value) && value !== "";
export const recordOf =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    isRecord(value) && Object.values(value).every(fits);
export const listOf =
  (fits: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    isList(value) && value.every(fits);

export const text: Kind<string> = { parse: right, check: must("be a string", isText) };
export const filled: Kind<string> = {
  parse: right,
  check: (value) => (value === "" ? "must not be empty" : text.check(value)),
};
export const word: Kind<string> = {
  parse: (given) =>
    /\s/.test(given.trim()) ? wrong(`must be one word, not ${quote(given)}`) : right(given.trim()),
  check: must("be one word", (value) => isText(value) && /^\S+$/.test(value)),
};
export const flag: Flag = {
  parse: () => right(true),
  check: must("be true or false", (value) => typeof value === "boolean"),
  isFlag: true,
};

export function choice<const T extends string>(values: readonly T[]): Kind<T> {
  const parse = (given: string): Parsed<T> => parseChoice(given, values);
  const check = (value: unknown): string | undefined =>
    isText(value) ? problemOf(parse(value)) : `must be one of ${values.join(", ")}`;
  return { parse, check, values };
}

export function parseChoice<T extends string>(given: string, values: readonly T[]): Parsed<T> {
  const chosen = values.find((one) => one === given);
  if (chosen !== undefined) return right(chosen);
  const list = `must be one of ${values.join(", ")}, not ${quote(given)}`;
  return wrong(list + guessText(given, values));
}

/** ` (did you mean "run"?)`, or nothing. */
export function guessText(word: string, known: readonly string[]): string {
  const meant = suggest(word, known);
  return meant === undefined ? "" : ` (${didYouMean(meant)})`;
}

/** Digits only: `1e3`, `0x10` and `Infinity` are probably mistakes. */
function decimal(given: string): number {
  return /^\d+(\.\d+)?$/.test(given.trim()) ? Number(given) : Number.NaN;
}

function numberOf(what: string, fits: (value: number) => boolean): Kind<number> {
  return {
    parse: (given) =>
      fits(decimal(given)) ? right(decimal(given)) : wrong(`must be ${what}, not ${quote(given)}`),
    check: must(`be ${what}`, (value) => typeof value === "number" && fits(value)),
  };
}

export const count = numberOf(
  "a whole number greater than 0",
  (value) => Number.isSafeInteger(value) && value > 0,
);
export const amount = numberOf(
  "a number greater than 0",
  (value) => Number.isFinite(value) && value > 0,
);
export const port = numberOf(
  "a port from 0 to 65535",
  (value) => Number.isInteger(value) && value <= 65_535,
);
export const percent = numberOf("a percentage from 0 to 100", (value) => value <= 100);

const limitsCheck = schemaCheck<Limits>(
  { type: "object", properties: overridingLimits, additionalProperties: false },
  "limits",
);

function parseLimits(value: unknown): Parsed<Limits> {
  const found = limitsCheck.inspect(value);
  if (found.kind === "accepted") return right({ ...found.value });
  const problems = found.problems.map(({ codePath, reason, hint }) => {
    const phrase = reason.charAt(0).toLowerCase() + reason.slice(1).replace(/\.$/, "");
    return `${codePath} ${phrase}${hint === undefined ? "" : ` (${hint})`}`;
  });
  return wrong(`is wrong: ${problems.join("; ")}`);
}

/** Limits as in an entry, as JSON or YAML. */
export const limits: Kind<Limits> = {
  parse(given) {
    const read = readDocument(given, { format: "yaml" });
    return read.kind === "rejected"
      ? wrong(`is not YAML: ${read.diagnostics[0]?.reason}`)
      : parseLimits(read.value);
  },
  check: (value) => problemOf(parseLimits(isRecord(value) ? defined(value) : value)),
};

export const pattern: Kind<RegExp> = {
  parse(given) {
    try {
      return right(new RegExp(given, "i"));
    } catch {
      return wrong(`must be a regular expression, not ${quote(given)}`);
    }
  },
  check: must("be a regular expression", (value) => value instanceof RegExp),
};

export const shard: Kind<Shard> = {
  parse(given) {
    const [, index, of] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(given.trim()) ?? [];
    const part = { index: Number(index), count: Number(of) };
    return part.index <= part.count
      ? right(part)
      : wrong(`must be one part of several, such as 1/3, not ${quote(given)}`);
  },
  check: must(
    "be one part of several, such as 1/3",
    (value) => isText(value) && shard.parse(value).kind === "value",
  ),
};

const isCollector = must(
  "be an http or https address, such as http://127.0.0.1:4318",
  (value) => isText(value) && urlOf(value) !== undefined && /^https?:\/\//i.test(value),
);
export const collector: Kind<string> = {
  parse(given) {
    const problem = isCollector(given);
    return problem === undefined ? right(given) : wrong(problem);
  },
  check: isCollector,
};

export function several<T>(
  none: T,
  add: (given: string, earlier: T) => Parsed<T>,
  check: Check,
  lines: Repeated<T>["lines"] = linesOf,
): Repeated<T> {
  return { none, parse: (given, earlier = none) => add(given, earlier), check, lines };
}

function linesOf(given: string): readonly Line[] {
  return given
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => ({ line, argument: right(line) }));
}

export const paths = several<readonly string[]>(
  [],
  (path, earlier) => right([...earlier, path]),
  must("be a list of strings", listOf(isText)),
);

export function logins(form: RegExp, example: string): Repeated<readonly string[]> {
  return several<readonly string[]>(
    [],
    (login, earlier) =>
      form.test(login)
        ? right([...earlier, login])
        : wrong(`must be a login, for example ${example}, without wildcards`),
    must("be a list of logins", listOf(isText)),
  );
}

export type Texts = Readonly<Record<string, string>>;
export type Models = Texts;

/** In place of a category: the model of everything that no category names. */
export const ALL_MODELS = "*";

export const models = several<Models>(
  {},
  (given, earlier) => {
    const assignment = given.includes("=") ? given : `${ALL_MODELS}=${given}`;
    const [, before = "", after = ""] = /^([^=]+)=(.+)$/s.exec(assignment) ?? [];
    const [category, id] = [before.trim(), after.trim()];
    return category === "" || id === ""
      ? wrong("must be the id of a model, or category=id, for example driving=gpt-5-mini")
      : addOnce([category, id], earlier, "category");
  },
  must("be an object of model ids", recordOf(isFilled)),
);

export const nameForm = /^[A-Za-z_]\w{0,99}$/;

export const envNames = several<readonly string[]>(
  [],
  (given, names) => {
    const name = given.trim();
    if (nameForm.test(name)) return right([...names.filter((other) => other !== name), name]);
    const hint = name.includes("=") ? ". Its value is taken from the environment" : "";
    return wrong(
      `must be the name of an environment variable, for example CI, not ${quote(given)}${hint}`,
    );
  },
  must("be a list of names", listOf(isText)),
);

export type Assignment = readonly [name: string, value: string];

export function addOnce([name, value]: Assignment, texts: Texts, what: string): Parsed<Texts> {
  return Object.hasOwn(texts, name)
    ? wrong(`names the ${what} ${quote(name)} twice`)
    : right({ ...texts, [name]: value });
}

/**
 * `run` stands for the commands run, plan and merge, `access` for those that reach a model server, `host` for `JobHost`,
 * `job` for its `runJob`, and `workflow` for `runWorkflow`.
 */
export type Edge = "run" | "serve" | "access" | "action" | "host" | "job" | "workflow";

export interface Option<T = unknown> {
  readonly kind: Kind<T>;
  /** The name of the input, if it isn't that of the field. */
  readonly name?: string;
  /** Sentences in Markdown. */
  readonly help: string;
  readonly group?: string;
  /** The link to more in docs/cli.md. */
  readonly page?: string;
  /** The flag of the command line, with its argument. */
  readonly flag?: string;
  /** The variable of the environment that replaces the flag. */
  readonly env?: string;
  /** Whether an empty value is a mistake. Else it counts as none: a variable of a CI system that isn't set is empty. */
  readonly mustBeFilled?: true;
  /** The option that can't be used beside it. */
  readonly conflicts?: string;
  readonly implies?: Readonly<Record<string, unknown>>;
  /** The default, described in words. */
  readonly without?: { readonly cli?: string; readonly action?: string };
  /** The description of the input, if it differs from `help`. */
  readonly input?: string;
  /** A warning about the input. */
  readonly risk?: string;
  /** The default of the input. */
  readonly preset?: string;
  /** The default of the input, which only a runner evaluates. */
  readonly expression?: string;
}

export type Rows = Readonly<Record<string, Option & { readonly on: readonly Edge[] }>>;

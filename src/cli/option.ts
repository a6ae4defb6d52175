import { InvalidArgumentError, Option, type Command } from "commander";
import { defined } from "../text/guards.ts";
import { parseChoice, parseNumber, type Parsed } from "../run/options.ts";

export interface Described<T> {
  readonly flag: string;
  readonly help: string;
  /** `earlier`: of an option that may be repeated. Without it: a text, or `true` for a flag without an argument. */
  parse?(text: string, earlier?: T): Parsed<T>;
  readonly values?: readonly string[];
  readonly env?: string;
  readonly conflicts?: string;
  readonly implies?: Readonly<Record<string, unknown>>;
}

export type Defaulted<T> = Described<T> & { readonly default: T };

export const option = <T = string>(
  flag: string,
  help: string,
  more: Pick<Described<T>, "env" | "conflicts" | "implies"> = {},
): Described<T> => ({ flag, help, ...more });
export const parsed = <T>(
  flag: string,
  help: string,
  parse: Described<T>["parse"],
): Described<T> => ({
  flag,
  help,
  ...defined({ parse }),
});
export const count = (flag: string, help: string): Described<number> =>
  parsed(flag, help, (one) => parseNumber(one, "a whole number"));
export const choice = <T extends string>(
  flag: string,
  help: string,
  values: readonly T[],
): Described<T> => ({ flag, help, values, parse: (one) => parseChoice(one, values) });
export const or = <T>(described: Described<T>, value: T): Defaulted<T> => ({
  ...described,
  default: value,
});

export function addOptions(
  command: Command,
  table: Readonly<Record<string, Described<unknown> & { readonly default?: unknown }>>,
): Command {
  for (const [field, described] of Object.entries(table)) {
    const { flag, help, values, env: variable, conflicts, implies } = described;
    const option = new Option(flag, help).default(described.default);
    // `choices` lists them in the help.
    if (values !== undefined) option.choices(values);
    const parse = described.parse?.bind(described);
    if (parse !== undefined) option.argParser((one, earlier) => valueOf(parse(one, earlier)));
    if (variable !== undefined) option.env(variable);
    if (conflicts !== undefined) option.conflicts(conflicts);
    if (implies !== undefined) option.implies({ ...implies });
    option.attributeName = () => field;
    command.addOption(option);
  }
  return command;
}

/** Commander puts the option and its argument before what is thrown. */
function valueOf<T>(read: Parsed<T>): T {
  if (read.kind === "value") return read.value;
  throw new InvalidArgumentError(`It ${read.problem}.`);
}

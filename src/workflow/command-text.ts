/**
 * Values in a command that an author wrote. A value is one word, or a part of one, whatever it contains: also where the
 * author has put quotes around its `{{NAME}}`.
 *
 * No quotes protect a value from arithmetic: bash runs the `$(…)` of `a[$(…)]` wherever it takes a text for a number or
 * for the name of a variable, also if the text came there through a variable. So where a command does that, only whole
 * numbers are inserted, and in a workflow that does it anywhere, only they are assigned to variables of the shell.
 */
import type { Workflow } from "./model.ts";
import { placeholders, shellQuoted } from "./value.ts";

/** The quoting context in which a value stands. */
type Place = "bare" | "single" | "double" | "unclear";

/** Inserts a value at the `{{NAME}}` with this offset. Undefined: this value can't be there. */
export type Insert = (value: string, offset: number) => string | undefined;

export type CommandReading =
  | { readonly kind: "read"; readonly insert: Insert }
  | { readonly kind: "unclear"; readonly reason: string };

/** `elsewhere`: whether another command of the workflow calculates. */
export function readCommand(
  command: string,
  elsewhere: () => boolean = () => false,
): CommandReading {
  const { places, evaluates } = placesOf(command);
  if (evaluates || (assigns.test(command) && elsewhere()))
    return { kind: "read", insert: (value) => wholeNumber.exec(value)?.[1] };
  for (const { name, offset } of placeholders(command)) {
    if (places[offset] !== "unclear") continue;
    const reason = `{{${name}}} is where no quotes are safe: in an expansion, in an array, in a comment or here-document, or behind a backslash. Put it into a plain word.`;
    return { kind: "unclear", reason };
  }
  return { kind: "read", insert: (value, offset) => inserted(value, places[offset]) };
}

/** Whether bash may take a text in any command of its own for a number or for the name of a variable. */
export function calculates({ files }: Workflow): boolean {
  return Object.values(files).some(({ activities }) =>
    [...activities.values()].some(
      (one) => one.kind === "execute" && placesOf(one.command ?? "").evaluates,
    ),
  );
}

const wholeNumber = /^\s*([+-]?\d{1,18})\s*$/;
const assigns = /(?<![^\s;&|(){}])(?:[A-Za-z_]\w*\+?=|(?:for|select|set|read|readarray|mapfile)\s)/;

function inserted(value: string, place: Place | undefined): string {
  const word = shellQuoted(value);
  if (place === "double") return `"${word}"`;
  return place === "single" ? `'${word}'` : word;
}

/** Finds the context of each character. Unknown syntax makes the rest unclear: parts of a shell's grammar have no simple end. */
function placesOf(command: string): {
  readonly places: readonly Place[];
  readonly evaluates: boolean;
} {
  const places: Place[] = [];
  let place: Place = "bare";
  let evaluates = false;
  for (let at = 0; at < command.length; at += 1) {
    const char = command.charAt(at);
    places.push(place);
    if (place === "single") {
      if (char === "'") place = "bare";
      continue;
    }
    evaluates ||=
      matchesAt(evaluating, command, at) ||
      (place !== "double" && matchesAt(evaluatingBare, command, at));
    if (place === "unclear") continue;
    if (char === "\\") {
      places.push("unclear");
      at += 1;
    } else if (char === '"') place = place === "double" ? "bare" : "double";
    else if (char === "'" && place === "bare") place = "single";
    else if (matchesAt(place === "bare" ? unclearInBare : unclearInDouble, command, at))
      place = "unclear";
  }
  return { places, evaluates };
}

const unclearInDouble = /[`]|\$[({[]/y;
const unclearInBare = /[`]|(?<==)\(|\$['"{[]|(?<!<)<<(?!<)|(?<![^\s;&|()])#/y;
/** `$((…))`, `$[…]`, `${!name}` and `${text:from:to}`, also between double quotes. */
const evaluating = /\$\(\(|\$\[|\$\{(?:!|(?:\w+|[@*]):(?![-=?+]))/y;
/** `((…))`, `[[ … ]]`, `a[…]`, and the builtins that calculate, or that get the name of a variable from a variable. */
const evaluatingBare =
  /\(\(|\[\[|(?<=\w)\[|(?=(?:let|declare|typeset|local|getopts|unset|eval|(?:read|readarray|mapfile)(?=[^;&|<\n]{0,500}(?:\$|\{\{))|(?:printf|test|\[)[ \t]+(?:![ \t]+)?-v)\s)(?<=(?:^|[;&|(){}!\n`]|\b(?:if|then|elif|else|while|until|do|builtin|command|time))[ \t]*)/y;

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

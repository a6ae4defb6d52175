/** Regular expressions of users, in linear time: no limit of a run can interrupt the backtracking of `RegExp`. */
import { defined } from "../text/guards.ts";
import { RE2JS } from "re2js";

export interface Expression {
  readonly source: string;
  /** How many steps a character of a text takes, at most. */
  readonly size: number;
  /** Takes that many steps for each character, however many they are: the caller bounds the text. */
  matches(text: string): boolean;
  /** Undefined if it matches somewhere in the text, else why it does not, as the predicate of a sentence. */
  mismatch(text: string): string | undefined;
}

export type CompiledExpression =
  | { readonly kind: "compiled"; readonly expression: Expression }
  | { readonly kind: "refused"; readonly reason: string; readonly hint?: string };

const MOST_CHARACTERS = 1000;
const MOST_INSTRUCTIONS = 2000;
/** Instructions times characters, the worst case of a match: some tenths of a second. */
const MOST_STEPS = 10_000_000;

/** Supports the syntax of JavaScript with the flag `u`, as far as linear time allows, and flags at the start: `(?ims)`. */
export function compileExpression(source: string): CompiledExpression {
  if (source.length > MOST_CHARACTERS) {
    return refused(`This regular expression is longer than ${MOST_CHARACTERS} characters.`);
  }
  const [prefix = "", flags = ""] = /^\(\?([ims]{1,3})\)/.exec(source) ?? [];
  const pattern = source.slice(prefix.length);
  try {
    void new RegExp(pattern, "u");
  } catch {
    return refused("This is not a valid regular expression.");
  }
  const automaton = compile(pattern, flags);
  if (automaton === undefined) {
    return refused(
      "This regular expression is not supported, because matching it could take forever.",
      "don't use look-around and back-references, repeat at most 1000 times, and write Unicode properties as \\p{L}",
    );
  }
  const size = automaton.programSize();
  if (size > MOST_INSTRUCTIONS) {
    return refused(
      "This regular expression is too large.",
      "use fewer repetitions, or a shorter expression",
    );
  }
  const longest = Math.floor(MOST_STEPS / size);
  const matches = (text: string): boolean => automaton.test(text);
  const mismatch = (text: string): string | undefined => {
    if (text.length > longest) {
      return `has ${text.length} characters, but /${source}/ is limited to texts of ${longest} characters`;
    }
    return matches(text) ? undefined : `does not match /${source}/`;
  };
  return { kind: "compiled", expression: { source, size, matches, mismatch } };
}

function compile(source: string, flags: string): RE2JS | undefined {
  // A named back-reference: the translation would take it for letters.
  if (/\\k</.test(source.replaceAll("\\\\", ""))) return undefined;
  try {
    const own = {
      i: RE2JS.CASE_INSENSITIVE,
      s: RE2JS.DOTALL,
      m: RE2JS.MULTILINE,
    };
    const all = Object.entries(own).map(([name, flag]) => (flags.includes(name) ? flag : 0));
    return RE2JS.compile(
      RE2JS.translateRegExp(source),
      all.reduce((sum, flag) => sum | flag, 0),
    );
  } catch {
    return undefined;
  }
}

function refused(reason: string, hint?: string): CompiledExpression {
  return { kind: "refused", reason, ...defined({ hint }) };
}

/**
 * Reads the arguments of a command whose program is known: which are options, which of them are known to be
 * harmless, and which are operands. Pure; what the programs are is in `programs.ts` and `git-commands.ts`.
 */

/** Options that can neither run a program, nor write a file, nor read one that is not an operand. */
export interface Options {
  /**
   * Letters; one with `:` takes a value, one with `=` only as the next word, one with `?` the rest of its
   * word, if there is any.
   */
  readonly short?: string;
  /** Names without dashes; one with `=` takes a value, also as the next word. */
  readonly long?: string;
  /** The same for options that are not harmless: known, so that the other words are still read right. */
  readonly risky?: string;
  /** `-20` is a number of lines. */
  readonly numbers?: boolean;
  /** Long options have one dash, short ones don't exist (`find`). */
  readonly words?: boolean;
  /** The first word is a bundle of short options without a dash (`tar`). */
  readonly bundled?: boolean;
}

export interface Arguments {
  /** Indices of the options that are not known to be harmless. */
  readonly unknown: readonly number[];
  /** Indices of the words that are neither options nor their values. */
  readonly operands: readonly number[];
  /** Values that stand in words of their own: the index of each, and its option. */
  readonly values: ReadonlyMap<number, string>;
  /** Every known option that is there. */
  readonly seen: ReadonlySet<string>;
  /** Whether every option was known, so that operands and values are surely told apart. */
  readonly exact: boolean;
}

/** The words from `start` on. */
export function readArguments(words: readonly string[], start: number, spec: Options): Arguments {
  const reader = new ArgumentReader(spec);
  for (let index = start; index < words.length; index += 1) {
    reader.take(words[index] ?? "", index, index === start);
  }
  return reader;
}

type Takes = "nothing" | "rest" | "value" | "next";

class ArgumentReader implements Arguments {
  readonly unknown: number[] = [];
  readonly operands: number[] = [];
  readonly values = new Map<number, string>();
  readonly seen = new Set<string>();
  exact = true;
  readonly #spec: Options;
  readonly #short: ReadonlyMap<string, Takes>;
  readonly #long: ReadonlyMap<string, Takes>;
  readonly #risky: ReadonlyMap<string, Takes>;
  #waiting: string | undefined;
  #ended = false;

  constructor(spec: Options) {
    this.#spec = spec;
    this.#short = letters(spec.short ?? "");
    this.#long = names(spec.long ?? "");
    this.#risky = letters(spec.risky ?? "");
  }

  take(word: string, index: number, first: boolean): void {
    if (this.#ended && this.exact) {
      this.operands.push(index);
      return;
    }
    const isOption = word.startsWith("-") && word !== "-";
    const option = this.#waiting;
    this.#waiting = undefined;
    const isNumber = this.#spec.numbers === true && /^-\d+$/.test(word);
    if (option !== undefined && (!isOption || isNumber)) {
      this.values.set(index, option);
      return;
    }
    // A value with a dash may be one to us and an option to another version of the program.
    if (option !== undefined) this.#refuse(index);
    else if (word === "--" && this.#spec.words !== true) this.#ended = true;
    else if (!isOption && !(first && this.#spec.bundled === true)) this.operands.push(index);
    else if (this.#spec.words === true) this.#readName(word.slice(1), index);
    else if (word.startsWith("--")) this.#readName(word.slice(2), index);
    else if (!isNumber) this.#readLetters(isOption ? word.slice(1) : word, index);
  }

  #refuse(index: number): void {
    this.unknown.push(index);
    this.exact = false;
  }

  #readName(text: string, index: number): void {
    const [name = ""] = text.split("=", 1);
    const takes = this.#long.get(name);
    this.seen.add(name);
    if (takes === undefined) this.#refuse(index);
    else if (takes === "value" && name === text) this.#waiting = name;
  }

  #readLetters(text: string, index: number): void {
    let risky = false;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text.charAt(at);
      const takes = this.#short.get(letter) ?? this.#risky.get(letter);
      const isLast = at === text.length - 1;
      if (takes === undefined || (takes === "next" && !isLast)) {
        this.#refuse(index);
        return;
      }
      this.seen.add(letter);
      risky ||= !this.#short.has(letter);
      if (takes === "nothing") continue;
      if (takes !== "rest" && isLast) this.#waiting = letter;
      break;
    }
    if (risky) this.unknown.push(index);
  }
}

const marks: Readonly<Record<string, Takes>> = { ":": "value", "=": "next", "?": "rest" };

function letters(spec: string): Map<string, Takes> {
  return new Map(
    [...spec.matchAll(/([^\s:?=])([:?=]?)/g)].map(([, letter = "", mark = ""]) => [
      letter,
      marks[mark] ?? "nothing",
    ]),
  );
}

function names(spec: string): Map<string, Takes> {
  return new Map(
    spec
      .split(/\s+/)
      .filter((name) => name !== "")
      .map((name) =>
        name.endsWith("=") ? [name.slice(0, -1), "value" as const] : [name, "nothing" as const],
      ),
  );
}

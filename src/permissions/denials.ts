/**
 * Whether a command is one that a denial names. Best effort, and when in doubt yes: a shell that is otherwise
 * open can't be fenced in by names. Pure; each word is looked at once, so the time is linear in the command.
 */
import { baseName } from "./objections.ts";
import { readShell } from "./shell-reading.ts";
import { wildcardMatches } from "./wildcard.ts";

export interface Denial {
  /** As written, without the `!`. */
  readonly pattern: string;
  readonly words: readonly DeniedWord[];
}

interface DeniedWord {
  readonly text: string;
  /** Whether anything may stand before it: it is an option, or follows a `*`. */
  readonly anywhere: boolean;
}

export function readDenial(pattern: string): Denial {
  const words: DeniedWord[] = [];
  let anywhere = false;
  for (const text of pattern.trim().toLowerCase().split(/\s+/)) {
    if (/^\*+$/.test(text)) anywhere = true;
    else {
      words.push({ text, anywhere: anywhere || (words.length > 0 && /^[-+]/.test(text)) });
      anywhere = false;
    }
  }
  return { pattern, words };
}

const maxDepth = 8;

/** The first denial that the command, or a command inside one of its words (`sh -c "rm x"`), is named by. */
export function findDenial(
  command: readonly string[],
  denials: readonly Denial[],
  depth = 0,
): Denial | undefined {
  const searches = denials.map((denial) => new Search(denial));
  let interpreted = false;
  for (const [index, word] of command.entries()) {
    const read = readWord(word, depth > 0 && index === 0);
    const hit = searches.find((search) => search.take(read));
    if (hit !== undefined) return hit.denial;
    interpreted ||= isInterpreter(word);
    if (index === 0 || !/[\s;|&]/.test(word)) continue;
    const inner = readShell(word);
    if (inner.kind === "opaque" || depth === maxDepth) {
      // A text with a blank in it is often just a text; one that only a shell can read may be a script.
      if (interpreted || depth === maxDepth) return denials[0];
      continue;
    }
    for (const one of inner.commands) {
      const denial = findDenial(one, denials, depth + 1);
      if (denial !== undefined) return denial;
    }
  }
  return undefined;
}

interface ReadWord {
  readonly text: string;
  /** The names of programs or subcommands that it may match. */
  readonly names: readonly string[];
  readonly option: boolean;
}

function readWord(word: string, script: boolean): ReadWord {
  const text = word.toLowerCase();
  // `alias.x=push`, `--command=git`, `alias.x=!git`.
  const value = /[=!]([^=!]*)$/.exec(text.slice(-256))?.[1];
  const names = [text, baseName(text)];
  if (value !== undefined) names.push(value, baseName(value));
  // `-c'git push'` is one word for the shell and an option with a script for the program.
  if (script && text.startsWith("-")) names.push(text.slice(2), text.slice(3));
  return { text, names, option: text.startsWith("-") };
}

/** Walks through a command: which words of the denial have been found, in order. */
class Search {
  readonly denial: Denial;
  /** By how many words: 0 no, 1 up to the word before, 2 and then an option, whose value may follow. */
  #reached: number[];

  constructor(denial: Denial) {
    this.denial = denial;
    this.#reached = denial.words.map(() => 0);
  }

  /** Whether that was the last one. */
  take(word: ReadWord): boolean {
    const { words } = this.denial;
    const next = words.map(() => 0);
    for (const [index, wanted] of words.entries()) {
      const state = index === 0 ? 1 : (this.#reached[index] ?? 0);
      if (state === 0) continue;
      if (hits(word, wanted.text)) {
        if (index === words.length - 1) return true;
        next[index + 1] = Math.max(next[index + 1] ?? 0, 1);
      }
      if (index === 0) continue;
      // Between the words of a denial may be options and their values, as in `git -C . push`.
      const stays = wanted.anywhere ? state : word.option ? 2 : state === 2 ? 1 : 0;
      next[index] = Math.max(next[index] ?? 0, stays);
    }
    this.#reached = next;
    return words.length === 0;
  }
}

function hits({ text, names, option }: ReadWord, wanted: string): boolean {
  if (names.some((name) => wildcardMatches(name, wanted))) return true;
  if (!option || !wanted.startsWith("-")) return false;
  // `--force=x` and the abbreviation `--forc`; `-uf`.
  const [name = ""] = text.split("=", 1);
  if (wanted.startsWith("--"))
    return name === wanted || (name.length > 4 && wanted.startsWith(name));
  // `-rf` is also `-fr` and `-rvf`. Longer ones are the names of options in some programs.
  const isBundle = /^-[a-z\d]{1,3}$/.test(wanted) && /^-[a-z\d]+$/.test(text);
  return isBundle && [1, 2, 3].every((at) => text.includes(wanted.charAt(at), 1));
}

const interpreters = new Set(
  (
    "sh bash dash zsh ksh csh tcsh fish eval env sudo su doas xargs find node deno bun perl ruby php lua " +
    "awk gawk mawk ssh parallel watch script make busybox"
  ).split(" "),
);

function isInterpreter(word: string): boolean {
  const name = baseName(word);
  return interpreters.has(name) || /^python[\d.]*$/.test(name);
}

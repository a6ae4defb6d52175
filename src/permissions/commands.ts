/** Matches the commands of a shell line against the patterns of `permissions.shell`. */
import { findDenial, readDenial } from "./denials.ts";
import { gitCommand } from "./git-commands.ts";
import {
  anywhereObjection,
  baseName,
  endsInScript,
  mayMoveFiles,
  objectionsTo,
} from "./objections.ts";
import type { Judge, LeadsOut, Objection, Objections } from "./objections.ts";
import { isPrivate } from "./private-files.ts";
import { programs } from "./programs.ts";
import { readShell } from "./shell-reading.ts";
import { fixedFolder, wordMatches } from "./wildcard.ts";
import { clipWords } from "../events/cut.ts";

export type ShellVerdict =
  | {
      readonly allowed: true;
      /** Whether it may replace files with links. Not told for a shell that is open. */
      readonly moves: boolean;
    }
  | { readonly allowed: false; readonly reason: string };

/** Of a line that has to be checked. */
const maxBytes = 32_768;
const maxWords = 2_000;
/** Parts of the paths that the file system is asked about: each takes some calls. */
const maxParts = 1_000;

/** Judged by the words alone, without looking at files: everything outside the working directory. */
const byWords: LeadsOut = (path) => path.startsWith("/");

/**
 * Every command of the line must match one of `allow` (`true`: any command) and none may match one of `deny`.
 * A pattern consists of words separated by blanks. `*` inside a word matches any characters except `/`. As the
 * last word, `*` matches further arguments that are known to be harmless, and `**` any arguments.
 */
export function decideShell(
  line: string,
  allow: true | readonly string[],
  deny: readonly string[],
  platform: NodeJS.Platform = process.platform,
  leadsOut: LeadsOut = byWords,
  isDenied: LeadsOut = () => false,
  isFolder: (path: string) => boolean = () => false,
  wasMoved: () => boolean = () => false,
): ShellVerdict {
  if (allow === true && deny.length === 0) return { allowed: true, moves: false };
  // PowerShell reads quotes, backslashes and separators in its own way.
  if (platform === "win32") {
    return refused(
      "patterns of permissions.shell can't be checked on Windows, where PowerShell reads the commands; use shell: true without denials",
    );
  }
  if (Buffer.byteLength(line) > maxBytes) {
    return refused(
      `the command is too long to be checked against permissions.shell: the maximum is ${maxBytes} bytes`,
    );
  }
  const reading = readShell(line);
  if (reading.kind === "opaque") {
    return refused(
      `the command can't be checked against permissions.shell: ${reading.reason}. Use plain commands`,
    );
  }
  if (allow !== true && reading.background) {
    return refused("commands that are allowed by patterns must not run in the background (&)");
  }
  const { commands, expanded = new Set<string>() } = reading;
  if (commands.reduce((sum, command) => sum + command.length, 0) > maxWords) {
    return refused(
      `the command has too many words to be checked against permissions.shell: the maximum is ${maxWords}`,
    );
  }
  const denials = deny.map(readDenial);
  const patterns = allow === true ? undefined : allow.map(readPattern);
  const paths = new AskedPaths(leadsOut);
  let moved = false;
  for (const command of commands) {
    const denial = findDenial(command, denials);
    if (denial !== undefined) {
      return refused(`"${shortened(command)}" is denied by "!${denial.pattern}"`);
    }
    const leadOut: LeadsOut = (path) => paths.leadOut(path);
    const judge: Judge = { leadsOut: leadOut, isDenied, isFolder, expanded, moved, wasMoved };
    const reason = patterns === undefined ? undefined : refusal(command, patterns, judge);
    moved ||= mayMoveFiles(command);
    if (paths.tooMany) {
      return refused(
        `the command has too many paths to be checked: the maximum is ${maxParts} path segments`,
      );
    }
    if (reason !== undefined) return refused(reason);
  }
  return { allowed: true, moves: moved };
}

/** Checks each path once, and at most this many. */
class AskedPaths {
  tooMany = false;
  readonly #ask: LeadsOut;
  readonly #answers = new Map<string, boolean>();
  #parts = 0;

  constructor(ask: LeadsOut) {
    this.#ask = ask;
  }

  leadOut(path: string): boolean {
    const known = this.#answers.get(path);
    if (known !== undefined) return known;
    this.#parts += path.split("/").length;
    this.tooMany ||= this.#parts > maxParts;
    const answer = this.tooMany || this.#ask(path);
    this.#answers.set(path, answer);
    return answer;
  }
}

function refused(reason: string): ShellVerdict {
  return { allowed: false, reason };
}

interface Pattern {
  readonly text: string;
  readonly words: readonly string[];
  /** What may follow the words: nothing, arguments without an objection, or any. */
  readonly rest: "none" | "judged" | "any";
}

function readPattern(text: string): Pattern {
  const words = text.trim().split(/\s+/);
  const last = words.at(-1);
  if (last === "**" || (last === "*" && words.length === 1)) {
    // `*` alone: every command, with every argument. Who writes that has switched the check off.
    return { text, words: words.slice(0, -1), rest: "any" };
  }
  return last === "*"
    ? { text, words: words.slice(0, -1), rest: "judged" }
    : { text, words, rest: "none" };
}

const byWordsAlone: Judge = {
  leadsOut: byWords,
  isDenied: () => false,
  isFolder: () => false,
  expanded: new Set(),
  moved: false,
  wasMoved: () => false,
};

/** Whether the pattern allows exactly this command. */
export function matches(
  command: readonly string[],
  pattern: string,
  judge: Judge = byWordsAlone,
): boolean {
  return refusal(command, [readPattern(pattern)], judge) === undefined;
}

/** Why no pattern allows the command; undefined if one does. */
function refusal(
  command: readonly string[],
  patterns: readonly Pattern[],
  judge: Judge,
): string | undefined {
  let reason: string | undefined;
  for (const words of [command, withoutHarmless(command)]) {
    if (words === undefined) continue;
    let objections: Objections | undefined;
    for (const pattern of patterns) {
      if (!fits(words, pattern)) continue;
      objections ??= objectionsTo(words, judge);
      const index = uncovered(words, pattern, objections, judge);
      if (index === undefined) return undefined;
      reason ??= explain(words, index, pattern, objections.get(index));
    }
  }
  const why = reason ?? `"${shortened(command)}" matches no pattern of permissions.shell`;
  const allowed = patterns.map(({ text }) => `"${text}"`).join(", ");
  return `${why}. Allowed: ${allowed === "" ? "nothing" : allowed}`;
}

/** The same command of git without options like `--no-pager`. */
function withoutHarmless(command: readonly string[]): readonly string[] | undefined {
  if (baseName(command[0] ?? "") !== "git") return undefined;
  const harmless = gitCommand(command)?.harmless ?? [];
  if (harmless.length === 0) return undefined;
  return command.filter((_, index) => !harmless.includes(index));
}

function fits(command: readonly string[], { words, rest }: Pattern): boolean {
  if (rest === "none" ? command.length !== words.length : command.length < words.length) {
    return false;
  }
  return words.every((word, index) => wordMatches(command[index] ?? "", word));
}

/** The index of the first word that the pattern does not cover. */
function uncovered(
  command: readonly string[],
  { words, rest }: Pattern,
  objections: Objections,
  judge: Judge,
): number | undefined {
  for (const [index, word] of command.entries()) {
    const objection = objections.get(index);
    const pattern = words[index];
    if (pattern === undefined) {
      if (rest === "judged" && objection !== undefined) return index;
    } else if (pattern !== word || (pattern.includes("*") && judge.expanded.has(word))) {
      if (index > 0 && !spelledOut(command, index, pattern, objection, judge)) return index;
    }
  }
  // A word that is missing: `cd` alone.
  return rest === "judged" && objections.has(command.length) ? command.length : undefined;
}

/** Whether a word of a pattern that has a wildcard still names what speaks against the word that it matches. */
function spelledOut(
  command: readonly string[],
  index: number,
  pattern: string,
  objection: Objection | undefined,
  judge: Judge,
): boolean {
  const word = command[index] ?? "";
  const fixed = pattern.slice(0, pattern.indexOf("*"));
  switch (objection?.kind) {
    case undefined:
      return true;
    case "program":
      return false;
    case "subcommand":
      return fixed !== "";
    case "setting":
      return fixed.includes("=");
    case "path":
      // `cat /var/log/*` names a folder outside; the private files in it it does not name.
      return (
        fixed.includes("/") &&
        anywhereObjection(fixedFolder(pattern), judge) !== undefined &&
        (!isPrivate(word) || isPrivate(pattern)) &&
        !judge.isDenied(word)
      );
    case "option": {
      const end = word.slice(fixed.length);
      return (
        namesOption(command, index, fixed, judge) &&
        anywhereObjection(end, judge) === undefined &&
        !endsInScript(command, fixed, end)
      );
    }
  }
}

/** `-o*` names `-o`; `-n*` names no other letter, and `--*` names only options of unknown programs. */
function namesOption(
  command: readonly string[],
  index: number,
  fixed: string,
  judge: Judge,
): boolean {
  if (!/^[-+@]/.test(fixed)) return false;
  if (!isKnown(command)) return true;
  const [name = ""] = (command[index] ?? "").split("=", 1);
  if (fixed.startsWith("--") ? fixed.split("=", 1)[0] !== name : fixed.length < 2) return false;
  return objectionsTo(command.with(index, fixed), judge).has(index);
}

function explain(
  command: readonly string[],
  index: number,
  pattern: Pattern,
  objection: Objection | undefined,
): string {
  const word = command[index] ?? "no argument";
  const why = objection?.reason ?? "which the shell would expand";
  const spelled = command.join(" ");
  const ways =
    spelled.length > maxShown || command.some((one) => /\s|^$|\*/.test(one))
      ? []
      : [`"${spelled}"`];
  if (!isKnown(command)) {
    ways.push(`"${[...pattern.words, "**"].join(" ")}", which allows any arguments`);
  }
  const advice = ways.length === 0 ? "" : `. These would allow it: ${ways.join(", or ")}`;
  if (objection?.whole === true) {
    return `"${shortened(command)}" ${why}, and "${pattern.text}" doesn't spell it out${advice}`;
  }
  return `"${shortened(command)}" contains ${shortened([word])}, ${why}, and "${pattern.text}" doesn't name it${advice}`;
}

function isKnown([program = ""]: readonly string[]): boolean {
  const name = baseName(program);
  return name === "git" || programs.has(name);
}

const maxShown = 200;

function shortened(words: readonly string[]): string {
  return clipWords(words.join(" "), maxShown);
}

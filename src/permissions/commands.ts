/**
 * Matches the commands of a shell line against the patterns of `permissions.shell`. Pure.
 *
 * Patterns say which programs an agent is meant to use. What a program may do is not read off its arguments: the sandbox
 * sees to that.
 */
import { clipWords } from "../events/cut.ts";
import { readShell } from "./shell-reading.ts";
import { wildcardMatches } from "./wildcard.ts";

export type ShellVerdict =
  { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Of a line that has to be checked. */
const maxBytes = 32_768;

/**
 * Every command of the line must match one of `allow` (`true`: any command), and none may match one of `deny`. A pattern
 * consists of words separated by blanks. `*` inside a word stands for any characters, as a word for any words.
 */
export function decideShell(
  line: string,
  allow: true | readonly string[],
  deny: readonly string[],
  platform: NodeJS.Platform = process.platform,
): ShellVerdict {
  if (allow === true && deny.length === 0) return { allowed: true };
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
  for (const command of reading.commands) {
    const denial = deny.find((pattern) => isDenied(command, wordsOf(pattern.toLowerCase())));
    if (denial !== undefined) return refused(`"${shortened(command)}" is denied by "!${denial}"`);
    if (allow !== true && !allow.some((pattern) => matches(command, wordsOf(pattern)))) {
      const allowed = shortened(allow.map((pattern) => `"${pattern}"`));
      return refused(
        `"${shortened(command)}" matches no pattern of permissions.shell. Allowed: ${allowed}`,
      );
    }
  }
  return { allowed: true };
}

function refused(reason: string): ShellVerdict {
  return { allowed: false, reason };
}

function wordsOf(pattern: string): readonly string[] {
  return pattern.trim().split(/\s+/);
}

function isAnyWords(word: string): boolean {
  return /^\*+$/.test(word);
}

/** Each word of the command is looked at once for each word of the pattern. */
function matches(command: readonly string[], pattern: readonly string[]): boolean {
  /** How many words of the pattern may have been used up. */
  let reached = skipAnyWords(new Set([0]), pattern);
  for (const word of command) {
    const next = new Set<number>();
    for (const at of reached) {
      const wanted = pattern[at];
      if (wanted === undefined) continue;
      if (isAnyWords(wanted)) next.add(at);
      else if (wildcardMatches(word, wanted)) next.add(at + 1);
    }
    reached = skipAnyWords(next, pattern);
  }
  return reached.has(pattern.length);
}

function skipAnyWords(reached: Set<number>, pattern: readonly string[]): Set<number> {
  for (const at of reached) if (isAnyWords(pattern[at] ?? "")) reached.add(at + 1);
  return reached;
}

/**
 * A denial prevents accidents: it finds its words in any case, behind a path, behind a wrapper, with options between
 * them, and in a text that is a command itself (`sh -c "git push"`). An alias or a script goes around it.
 */
function isDenied(command: readonly string[], denial: readonly string[], depth = 0): boolean {
  const words = command.map((word) => word.toLowerCase());
  const names = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  return words.some((word, start) => {
    if (finds(words, names, denial, start)) return true;
    if (depth > 3 || !/\s/.test(word)) return false;
    const inner = readShell(word);
    return (
      inner.kind === "commands" && inner.commands.some((one) => isDenied(one, denial, depth + 1))
    );
  });
}

/** Whether the words of a denial are there from `start` on. Options and their values may stand between them. */
function finds(
  words: readonly string[],
  names: readonly string[],
  [first = "*", ...others]: readonly string[],
  start: number,
): boolean {
  if (!wildcardMatches(names[start] ?? "", first) && !wildcardMatches(words[start] ?? "", first)) {
    return false;
  }
  let at = start + 1;
  let anywhere = false;
  for (const wanted of others) {
    if (isAnyWords(wanted)) {
      anywhere = true;
      continue;
    }
    // An option of the denial may come anywhere behind the command.
    const skipsAll = anywhere || wanted.startsWith("-");
    while (at < words.length && !isWanted(words[at] ?? "", wanted)) {
      const isOption = words[at]?.startsWith("-") === true;
      const isValue = words[at - 1]?.startsWith("-") === true;
      if (!skipsAll && !isOption && !isValue) return false;
      at += 1;
    }
    if (at === words.length) return false;
    at += 1;
    anywhere = false;
  }
  return true;
}

/** `-rf` is also `-fr`. */
function isWanted(word: string, wanted: string): boolean {
  if (wildcardMatches(word, wanted)) return true;
  const letters = /^-([a-z\d]{1,3})$/.exec(wanted)?.[1];
  return (
    letters !== undefined &&
    /^-[a-z\d]+$/.test(word) &&
    letters.split("").every((letter) => word.includes(letter, 1))
  );
}

const maxShown = 200;

function shortened(words: readonly string[]): string {
  return clipWords(words.join(" "), maxShown);
}

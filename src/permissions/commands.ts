/** Patterns say which programs an agent is meant to use. The sandbox limits what a program may do. */
import { truncateUnredacted } from "../text/truncate.ts";
import { urlOf } from "../text/guards.ts";
import { domainToASCII } from "node:url";

/** `*` matches any characters, including none. Everything else is literal. */
function wildcardMatches(text: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

const maxBytes = 32_768;

/** Every command must match one of `allow` (`true`: any line), and none one of `deny`. `*` as a word: any words. */
export function shellRefusal(
  line: string,
  allow: true | readonly string[],
  deny: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (allow === true && deny.length === 0) return undefined;
  if (Buffer.byteLength(line) > maxBytes) {
    return `the command is too long to be checked against permissions.shell: the maximum is ${maxBytes} bytes`;
  }
  const { commands, unclear } = readShell(line);
  for (const command of commands) {
    const denial = deny.find((pattern) => isDenied(command, wordsOf(pattern.toLowerCase())));
    if (denial !== undefined) return `"${shortened(command)}" is denied by "!${denial}"`;
  }
  if (allow === true) return undefined;
  // PowerShell reads quotes, backslashes and separators in its own way.
  if (platform === "win32") {
    return "patterns of permissions.shell can't be checked on Windows, where PowerShell reads the commands; use shell: true";
  }
  if (unclear !== undefined) {
    return `the command can't be checked against permissions.shell from ${JSON.stringify(truncateUnredacted(unclear, 40, "…"))} on. Use plain commands without substitutions, subshells and here-documents`;
  }
  const refused = commands.find(
    (command) => !allow.some((pattern) => matches(command, wordsOf(pattern))),
  );
  if (refused === undefined) return undefined;
  const allowed = shortened(allow.map((pattern) => `"${pattern}"`));
  return `"${shortened(refused)}" matches no pattern of permissions.shell. Allowed: ${allowed}`;
}

/** Why no command can match a pattern; undefined if one can. Its own words have to be those of one command. */
export function unmatchable(pattern: string): string | undefined {
  const words = wordsOf(pattern);
  const { commands, unclear } = readShell(words.join(" "));
  if (unclear !== undefined) return `what ${JSON.stringify(unclear)} runs can't be known`;
  const [first = [], ...others] = commands;
  if (others.length > 0)
    return `it contains ${commands.length} commands, and each command is matched on its own`;
  return first.join(" ") === words.join(" ") && first.length === words.length
    ? undefined
    : "quotes, backslashes, redirections and comments are not part of the words of a command";
}

function wordsOf(pattern: string): readonly string[] {
  return pattern.trim().split(/\s+/);
}

function isAnyWords(word: string): boolean {
  return /^\*+$/.test(word);
}

/** Each word of the command is looked at once for each word of the pattern. */
function matches(command: readonly string[], pattern: readonly string[]): boolean {
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
  let before = "";
  let reached = skipAnyWords(new Set([0]), denial);
  for (const original of command) {
    const word = original.toLowerCase();
    const next = new Set([0]);
    for (const at of reached) {
      const wanted = denial[at] ?? "";
      const name = at === 0 ? word.slice(word.lastIndexOf("/") + 1) : word;
      if (isWanted(word, wanted) || isWanted(name, wanted)) next.add(at + 1);
      // Options and their values may stand between. An option of the denial may come anywhere behind.
      const isBetween = [word, before, wanted].some((one) => one.startsWith("-"));
      if (isAnyWords(wanted) || (at > 0 && isBetween)) next.add(at);
    }
    reached = skipAnyWords(next, denial);
    if (reached.has(denial.length)) return true;
    if (depth < 3 && /\s/.test(word)) {
      const { commands } = readShell(word);
      if (commands.some((inner) => isDenied(inner, denial, depth + 1))) return true;
    }
    before = word;
  }
  return false;
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
  return truncateUnredacted(words.join(" "), maxShown, "…");
}

/** Unless it is `unclear`, bash runs these commands and no other: variables and wildcards never become one. */
interface ShellReading {
  readonly commands: readonly (readonly string[])[];
  /** From where on bash may run other commands: substitutions, subshells, here-documents, syntax errors… */
  readonly unclear?: string;
}

/** `$(`, `${a:-b}`, `$[`: not the name of a variable alone. */
const substitution = String.raw`\$(?:[([]|\{(?!\w+\}))`;

const token = new RegExp(
  [
    // Anywhere else, a continued line could join two characters that mean more together.
    String.raw`(?<blank>[ \t]+(?:\\\n[ \t]*)*|\\\n(?=[ \t]))`,
    String.raw`(?<redirection>&>>?|<<<|<[>&]?|>[>|&]?)`,
    String.raw`(?<separator>\n|&&|;|&|\|[|&]?)`,
    String.raw`'(?<single>[^']*)'`,
    String.raw`"(?<double>(?:(?!${substitution})[^"\\${"`"}]|\\[^\n])*)"`,
    String.raw`\\(?<escaped>[^\n])`,
    // `{NAME}>FILE` sets a variable, which may be PATH. `$'…'` and `$"…"` are quotes of their own.
    String.raw`(?<plain>(?:(?!${substitution}|\$['"]|\}[<>])[^ \t\n;&|<>()'"\\${"`"}])+)`,
  ].join("|"),
  "y",
);

export function readShell(line: string): ShellReading {
  const commands: string[][] = [];
  let words: string[] = [];
  /** The value of the word that has begun, and where it began. */
  let word: string | undefined;
  let start = 0;
  let isFile = false;
  /** A shell that reads its input drops NUL, and joins what is around it. */
  let unclearAt = line.indexOf("\0");
  const unclear = (at: number): void => {
    if (unclearAt === -1 || at < unclearAt) unclearAt = at;
  };
  const endWord = (): void => {
    if (word !== undefined && !isFile) words.push(word);
    if (word !== undefined) isFile = false;
    word = undefined;
  };
  const endCommand = (at: number): void => {
    endWord();
    // After a syntax error, a shell goes on with the next line, even in the middle of a quote.
    if (isFile) unclear(at);
    isFile = false;
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (let at = 0; at < line.length; at = token.lastIndex) {
    token.lastIndex = at;
    const found = token.exec(line);
    if (found === null) {
      unclear(at);
      if (/[()`]/.test(line.charAt(at))) endCommand(at);
      token.lastIndex = at + 1;
      continue;
    }
    const { blank, redirection, separator, single, double, escaped, plain } = found.groups ?? {};
    if (blank !== undefined) endWord();
    else if (separator !== undefined) {
      const isEmpty = word === undefined && words.length === 0;
      if (isEmpty && separator !== "\n") unclear(at);
      endCommand(at);
    } else if (redirection !== undefined) {
      // The number of a descriptor.
      if (/^\d+[^&]$/.test(line.slice(start, at + 1))) word = undefined;
      endWord();
      // A here-document, or a syntax error.
      if (isFile) unclear(at);
      isFile = true;
    } else if (plain?.startsWith("#") === true && word === undefined) {
      const end = line.indexOf("\n", at);
      token.lastIndex = end === -1 ? line.length : end;
    } else {
      if (word === undefined) start = at;
      word = `${word ?? ""}${single ?? double?.replace(/\\([$`"\\])/g, "$1") ?? escaped ?? plain}`;
    }
  }
  endCommand(line.length);
  if (commands.length === 0) unclear(0);
  return unclearAt === -1 ? { commands } : { commands, unclear: line.slice(unclearAt) };
}

/** In characters. Longer addresses match nothing, and every denial. */
export const longestUrl = 8_192;

/**
 * Before the path, `*` matches all but a slash. Without a path, every path is meant; without a scheme, https. A URL with
 * a user name matches nothing, nor does one that is neither http nor https.
 */
export function urlMatches(url: string, pattern: string): boolean {
  if (url.length > longestUrl) return false;
  const parsed = urlOf(url);
  if (parsed === undefined) return false;
  if (parsed.username !== "" || parsed.password !== "") return false;
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return false;
  const match = /^(?:([a-z*]+):\/\/)?([^/?#]+)(\/.*)?$/i.exec(pattern.trim());
  if (match === null) return false;
  const [, scheme = "https", host = "", path = "/*"] = match;
  return (
    wildcardMatches(parsed.protocol.slice(0, -1), scheme.toLowerCase()) &&
    wildcardMatches(parsed.host, host.toLowerCase()) &&
    wildcardMatches(`${parsed.pathname}${parsed.search}`, path)
  );
}

/**
 * Ignores scheme, user, port, case, the encoding of characters, and a dot at the end of the host. A path covers what is
 * below it. An invalid or too long address is denied.
 */
export function urlDenied(url: string, pattern: string): boolean {
  const match = placePattern.exec(pattern.trim());
  const parsed = url.length > longestUrl ? undefined : urlOf(url);
  if (match === null || parsed === undefined) return true;
  const [, host = "", path = "/*"] = match;
  const text = plainPath(`${parsed.pathname}${parsed.search}`);
  const named = plainPath(path);
  return (
    wildcardMatches(plainHost(parsed.hostname), plainHost(host)) &&
    [named, `${named}?*`, `${named.replace(/\/$/, "")}/*`].some((one) => wildcardMatches(text, one))
  );
}

/** The host and the path of a pattern. */
const placePattern = /^(?:[a-z*]+:\/\/)?(?:[^@/]*@)?([^/?#@]+?)(?::[\d*]*)?(\/.*)?$/i;

export function hostOf(pattern: string): string[] {
  const [, host] = placePattern.exec(pattern.trim()) ?? [];
  return host === undefined ? [] : [plainHost(host)];
}

function plainHost(host: string): string {
  return (domainToASCII(host) || host).toLowerCase().replace(/(?<!\.)\.+$/, "");
}

/** In bytes, however they are written. */
function plainPath(path: string): string {
  return Buffer.from(path)
    .toString("latin1")
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase();
}

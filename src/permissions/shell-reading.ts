/**
 * Splits a line of bash into the words of its commands. Never throws, in linear time.
 *
 * Invariant: unless the reading is `unclear`, bash runs these commands and no other. Variables, wildcards and braces
 * stay as they are written: what they become is never a further command.
 */
export interface ShellReading {
  /** If it is unclear: those that could be found. */
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
  /** The next word is the file of a redirection. */
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

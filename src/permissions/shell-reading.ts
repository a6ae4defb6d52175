/**
 * Parses a shell command line just far enough to know which commands it runs.
 *
 * Invariant: what it returns are the commands that a POSIX shell or bash would run; wildcards and braces in their
 * arguments stay as they are written. Whatever it does not understand, or could run further commands (substitutions,
 * compound commands), is `opaque`, and an opaque command line matches no pattern.
 */
export type ShellReading =
  | {
      readonly kind: "commands";
      readonly commands: readonly (readonly string[])[];
    }
  | { readonly kind: "opaque"; readonly reason: string };

export function readShell(text: string): ShellReading {
  try {
    const reader = new ShellReader(text);
    const commands = reader.read();
    if (commands.length === 0) return { kind: "opaque", reason: "it contains no command" };
    const [name] = commands.find(evaluatesSubscript) ?? [];
    if (name !== undefined)
      return { kind: "opaque", reason: `${name} would evaluate the subscript of a variable ([)` };
    return { kind: "commands", commands };
  } catch (error) {
    if (error instanceof Opaque) return { kind: "opaque", reason: error.message };
    throw error;
  }
}

class Opaque extends Error {}

const takesNames = new Set(
  "let declare typeset local read readarray mapfile unset getopts wait".split(" "),
);

/** The subscript of a variable is an expression, whose substitutions bash runs although the word was quoted. */
function evaluatesSubscript([name = "", ...words]: readonly string[]): boolean {
  const takes = takesNames.has(name) || (/^(?:printf|test|\[)$/.test(name) && words.includes("-v"));
  return takes && words.some((word) => word.includes("["));
}

/** Words that begin a compound command, or change what the next word means. */
const reserved = new Set(
  "if then elif else fi for while until do done case esac select function time coproc in ! { } [[ ]]".split(
    " ",
  ),
);

/** Without the file behind it. Here-documents are none. */
const redirectionSign = /(?:&>>?|>\||>>?&?|<&?(?!<)|<>)[ \t]*/y;

interface Word {
  text: string;
  /** Whether any part was quoted: a quoted `if` is a plain word. */
  quoted: boolean;
}

class ShellReader {
  readonly #text: string;
  #at = 0;
  #word: Word | undefined;
  #words: string[] = [];
  /** Whether the next word is a file of a redirection, and no word of the command. */
  #isFile = false;
  readonly #commands: string[][] = [];

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[][] {
    // Carriage returns, bells, NUL… have no business here, and terminals and shells disagree on them.
    // eslint-disable-next-line no-control-regex
    if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(this.#text)) {
      throw new Opaque("it contains control characters");
    }
    while (this.#at < this.#text.length) this.#step();
    this.#endCommand();
    return this.#commands;
  }

  #step(): void {
    const char = this.#text[this.#at] ?? "";
    switch (char) {
      case " ":
      case "\t":
        this.#endWord();
        this.#at += 1;
        return;
      case "\n":
      case ";":
      case "&":
      case "|":
        this.#separator(char);
        return;
      case "#":
        if (this.#word === undefined) this.#skipComment();
        else this.#literal(char);
        return;
      case "'":
        this.#singleQuoted();
        return;
      case '"':
        this.#doubleQuoted();
        return;
      case "\\":
        this.#escaped();
        return;
      case "<":
      case ">":
        this.#redirection();
        return;
      case "(":
      case ")":
        throw new Opaque("it contains parentheses (a subshell, a function or an array)");
      case "$":
      case "`":
        this.#expansion();
        return;
      default:
        this.#literal(char);
    }
  }

  #literal(char: string): void {
    this.#append(char, false);
    this.#at += 1;
  }

  #append(text: string, quoted: boolean): void {
    this.#word ??= { text: "", quoted };
    this.#word.quoted ||= quoted;
    this.#word.text += text;
  }

  #quote(text: string): void {
    this.#append(text, true);
  }

  #separator(char: string): void {
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest === "&>") {
      this.#redirection();
      return;
    }
    this.#endWord();
    if (char !== "\n" && this.#words.length === 0) {
      throw new Opaque(`there is no command before ${char}`);
    }
    this.#endCommand();
    this.#at += rest === "&&" || rest === "||" || rest === "|&" ? 2 : 1;
  }

  #skipComment(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  #singleQuoted(): void {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end === -1) throw new Opaque("a quote is not closed");
    this.#quote(this.#text.slice(this.#at + 1, end));
    this.#at = end + 1;
  }

  #doubleQuoted(): void {
    let content = "";
    let at = this.#at + 1;
    for (;;) {
      const char = this.#text[at];
      if (char === undefined) throw new Opaque("a quote is not closed");
      if (char === '"') break;
      if (char === "`" || (char === "$" && expands(this.#text[at + 1]))) {
        throw new Opaque(`it contains an expansion or a substitution (${char})`);
      }
      if (char === "\\") {
        const next = this.#text[at + 1] ?? "";
        // Both would vanish, and what is around them could become one `$(`.
        if (next === "\n") throw new Opaque("a line is continued inside quotes");
        // Inside double quotes a backslash escapes only these.
        content += '$`"\\'.includes(next) && next !== "" ? next : `\\${next}`;
        at += 2;
      } else {
        content += char;
        at += 1;
      }
    }
    this.#quote(content);
    this.#at = at + 1;
  }

  #escaped(): void {
    const next = this.#text[this.#at + 1];
    if (next === undefined) throw new Opaque("it ends with a backslash");
    if (next !== "\n") this.#quote(next);
    // Inside a word, it would join what means more together: `$` and a name, or the two dots of `{a..z}`.
    else if (this.#word !== undefined && !/^[ \t\n]?$/.test(this.#text.charAt(this.#at + 2))) {
      throw new Opaque("a line is continued inside a word");
    }
    this.#at += 2;
  }

  #expansion(): void {
    const next = this.#text[this.#at + 1];
    const ansiQuote = next === "'" || next === '"';
    if (this.#text[this.#at] === "`" || ansiQuote || expands(next)) {
      throw new Opaque("it contains an expansion or a substitution ($ or `)");
    }
    this.#literal("$");
  }

  #redirection(): void {
    const descriptor = this.#word;
    // `{PATH}>/dev/null` sets the variable to the number of a descriptor.
    if (descriptor !== undefined && /^\{.*\}$/.test(descriptor.text)) {
      throw new Opaque("it redirects a descriptor with a name");
    }
    if (descriptor?.quoted === false && /^\d+$/.test(descriptor.text)) this.#word = undefined;
    this.#endWord();
    redirectionSign.lastIndex = this.#at;
    if (this.#isFile || !redirectionSign.test(this.#text)) {
      throw new Opaque("it contains a redirection that can't be read");
    }
    this.#at = redirectionSign.lastIndex;
    this.#isFile = true;
  }

  #endWord(): void {
    const word = this.#word;
    if (word === undefined) return;
    this.#word = undefined;
    if (this.#isFile) {
      this.#isFile = false;
      return;
    }
    const { text, quoted } = word;
    if (this.#words.length === 0) {
      if (!quoted && reserved.has(text)) throw new Opaque(`it is a compound command (${text})`);
      if (!quoted && /[*?[{~]/.test(text)) {
        throw new Opaque("the name of a command is to be expanded by the shell");
      }
      if (/^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/.test(text)) {
        throw new Opaque("it sets an environment variable");
      }
    }
    this.#words.push(text);
  }

  #endCommand(): void {
    this.#endWord();
    if (this.#isFile) throw new Opaque("a redirection has no file");
    if (this.#words.length > 0) this.#commands.push(this.#words);
    this.#words = [];
  }
}

/** Whether `$` before this character means something to a shell. */
function expands(next: string | undefined): boolean {
  return next !== undefined && /[A-Za-z0-9_{([@*#?$!-]/.test(next);
}

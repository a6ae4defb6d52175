/**
 * Parses a shell command line just far enough to know which commands it runs.
 *
 * Invariant: what it returns is what a POSIX shell or bash would run, word for word; whatever it does not
 * understand, or whose words only the shell knows (expansions, substitutions), is `opaque`, and an opaque
 * command line matches no pattern. It errs on that side on purpose.
 */
export type ShellReading =
  | {
      readonly kind: "commands";
      readonly commands: readonly (readonly string[])[];
      /** Whether one of them runs on while the shell does the next thing, or ends. */
      readonly background: boolean;
      /** Words with a wildcard that the shell replaces by names; absent where there are none. */
      readonly expanded?: ReadonlySet<string>;
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
    const { background, expanded } = reader;
    return { kind: "commands", commands, background, ...(expanded.size === 0 ? {} : { expanded }) };
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

/** Descriptors with two digits are the shell's own, or of the program that runs it. */
const harmlessRedirection =
  /(?:(?:&>>?|>>?)[ \t]*\/dev\/null|[<>]&(?:\d|-)|<[ \t]*\/dev\/null)(?=[\s;&|]|$)/y;

interface Word {
  parts: string[];
  /** The first character, and the last three. */
  first: string;
  tail: string;
  /** Whether any part was quoted: a quoted `if` is a plain word. */
  quoted: boolean;
  /** Whether it has a wildcard that the shell will replace. */
  wild: boolean;
}

class ShellReader {
  background = false;
  readonly #text: string;
  #at = 0;
  #word: Word | undefined;
  #words: string[] = [];
  readonly #commands: string[][] = [];
  readonly expanded = new Set<string>();
  /** The last `,` or `..` with a `}` after it. A brace before it may be an expansion. */
  readonly #lastBraceSeparator: number;

  constructor(text: string) {
    this.#text = text;
    const end = text.lastIndexOf("}");
    this.#lastBraceSeparator =
      end === -1 ? -1 : Math.max(text.lastIndexOf(",", end), text.lastIndexOf("..", end));
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
      case "*":
      case "?":
      case "[":
        this.#wildcard(char);
        return;
      case "{":
        this.#brace();
        return;
      case "~":
        this.#tilde();
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
    this.#word ??= { parts: [], first: "", tail: "", quoted, wild: false };
    const word = this.#word;
    word.quoted ||= quoted;
    word.parts.push(text);
    if (word.first === "") word.first = text.charAt(0);
    word.tail = (word.tail + text.slice(-3)).slice(-3);
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
    if (char === "&" && rest !== "&&") this.background = true;
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

  /** bash expands it also where a word looks like an assignment: `x=~/y`, `x=a:~/y`. */
  #tilde(): void {
    if (/[=:]$/.test(this.#word?.tail ?? "")) {
      throw new Opaque("the shell could replace a ~ inside a word");
    }
    this.#literal("~");
  }

  #expansion(): void {
    const next = this.#text[this.#at + 1];
    const ansiQuote = next === "'" || next === '"';
    if (this.#text[this.#at] === "`" || ansiQuote || expands(next)) {
      throw new Opaque("it contains an expansion or a substitution ($ or `)");
    }
    this.#literal("$");
  }

  /** Must not match planted names that mean more than a file, such as options. */
  #wildcard(char: string): void {
    const { first, tail } = this.#word ?? { first: "", tail: "" };
    if (this.#words.length === 0) throw new Opaque("the name of a command contains a wildcard");
    // Also behind `''`: the name of a planted file could begin with a dash, and become an option.
    if (first === "") throw new Opaque(`a word starts with the wildcard ${char} (write ./${char})`);
    if (first === "-") throw new Opaque("an option contains a wildcard (put it in quotes)");
    // `.*` is also `..`, up to bash 5.1.
    if (/(?:^|\/)\.\.?$/.test(tail)) throw new Opaque("a wildcard could match ..");
    this.#literal(char);
    if (this.#word !== undefined) this.#word.wild = true;
  }

  #brace(): void {
    // `{a,b}` and `{1..3}` make several words of one. Where the braces of an expansion end is a science of
    // its own in bash (`{a{x},b}`, `{'}',b}`): wherever there could be one, there is.
    const alone =
      this.#word === undefined &&
      /^\{\}(?![^\s;&|])/.test(this.#text.slice(this.#at, this.#at + 3));
    if (!alone && this.#at < this.#lastBraceSeparator)
      throw new Opaque("it contains a brace expansion");
    this.#literal("{");
  }

  /** Only redirections that don't read or write a file: to /dev/null, or between descriptors. */
  #redirection(): void {
    const descriptor = this.#word;
    // `{PATH}>/dev/null` sets the variable to the number of a descriptor.
    if (descriptor?.first === "{" && descriptor.tail.endsWith("}")) {
      throw new Opaque("it redirects a descriptor with a name");
    }
    if (
      descriptor !== undefined &&
      !descriptor.quoted &&
      descriptor.parts.every((part) => /^\d$/.test(part))
    ) {
      this.#word = undefined;
    }
    this.#endWord();
    harmlessRedirection.lastIndex = this.#at;
    if (!harmlessRedirection.test(this.#text)) throw new Opaque("it redirects from or to a file");
    this.#at = harmlessRedirection.lastIndex;
  }

  #endWord(): void {
    const word = this.#word;
    if (word === undefined) return;
    this.#word = undefined;
    const text = word.parts.join("");
    // `1,/a*/s/e./x/g` is a script to sed, and another one with the name of a planted file in it.
    if (word.wild && /[\s,;\\]/.test(text)) {
      throw new Opaque("a wildcard is in a word that is not a plain path (put it in quotes)");
    }
    if (word.wild) this.expanded.add(text);
    if (this.#words.length === 0 && !word.quoted) {
      if (reserved.has(text)) throw new Opaque(`it is a compound command (${text})`);
      if (/^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/.test(text)) {
        throw new Opaque("it sets an environment variable");
      }
    }
    if (this.#words.length === 0 && word.quoted && /^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(text)) {
      throw new Opaque("it sets an environment variable");
    }
    this.#words.push(text);
  }

  #endCommand(): void {
    this.#endWord();
    if (this.#words.length > 0) this.#commands.push(this.#words);
    this.#words = [];
  }
}

/** Whether `$` before this character means something to a shell. */
function expands(next: string | undefined): boolean {
  return next !== undefined && /[A-Za-z0-9_{([@*#?$!-]/.test(next);
}

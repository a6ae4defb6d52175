/** The tokens of a flowchart. Brackets and quotes are read before arrows, because commands contain `-->`, `|` and `:`. */
import { defined } from "../../text/guards.ts";

export interface FlowFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint?: string;
  readonly severity?: "warning";
}

/** Ends its statement: reading goes on with the next line. */
export class FlowchartError extends Error {
  readonly fault: FlowFault;

  constructor(fault: FlowFault) {
    super(fault.reason);
    this.fault = fault;
  }
}

export interface FlowProperties {
  readonly label?: FlowLabel;
  readonly shape?: string;
}

/** An edge, or a link without an arrow head. */
export interface Link {
  readonly offset: number;
  readonly isArrow: boolean;
  readonly label: string;
}

interface Stroke {
  readonly head: string | undefined;
  readonly label: string;
}

/** Opening → what closes it. A longer opening comes before its own beginning. */
const brackets: readonly (readonly [string, readonly string[]])[] = [
  ["(((", [")))"]],
  ["((", ["))"]],
  ["([", ["])"]],
  ["(-", ["-)"]],
  ["(", [")"]],
  ["[[", ["]]"]],
  ["[(", [")]"]],
  ["[/", ["/]", "\\]"]],
  ["[\\", ["\\]", "/]"]],
  ["[|", ["|]"]],
  ["[", ["]"]],
  ["{{", ["}}"]],
  ["{", ["}"]],
  [">", ["]"]],
];
const openings: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

export const wordPattern = /[A-Za-z][\w-]*/y;
/** Links: a whole one, or the beginning and the end of one with a text between them. */
const strokes: readonly {
  readonly whole: RegExp;
  readonly open?: RegExp;
  readonly close?: RegExp;
}[] = [
  { whole: /-?\.+-([xo>])?/y, open: /-\./y, close: /(?:-|(?<!\.))\.+-([xo>])?/g },
  { whole: /--+([xo>])|---+/y, open: /--/y, close: /--+([xo>])?/g },
  { whole: /==+([xo>])|===+/y, open: /==/y, close: /==+([xo>])?/g },
  { whole: /~~~+/y },
];
const blockText = /[|>][-+]?[ \t]*\n(?:[ \t]*\n)*( +)[^}\n]*(?:\n(?:\1[^}\n]*|[ \t]*(?=\n)))*/y;
const edgeIdPattern = /[\p{L}\p{N}_]+@(?=[xo<]?(?:--|==|-\.))/uy;

export class FlowScanner {
  readonly text: string;
  at = 0;
  /** The ids in `e1@-->`. `e1@{ … }` sets properties of such an edge. */
  readonly edgeIds = new Set<string>();

  constructor(text: string) {
    this.text = text;
  }

  shape(): FlowLabel | undefined {
    const start = this.at;
    let isOpened = false;
    for (const [open, closings] of brackets) {
      if (!this.text.startsWith(open, start)) continue;
      isOpened = true;
      this.at = start + open.length;
      const label = this.#label(closings);
      if (label !== undefined) return label;
    }
    this.at = start;
    if (!isOpened) return undefined;
    const sign = JSON.stringify(this.text.charAt(start));
    throw this.fault(start, `The bracket ${sign} is never closed.`);
  }

  #label(closings: readonly string[]): FlowLabel | undefined {
    const start = this.at;
    this.skipWhite();
    const offset = this.at;
    if (this.text.charAt(offset) === '"') {
      const end = this.text.indexOf('"', offset + 1);
      if (end !== -1) {
        this.at = end + 1;
        this.skipWhite();
        const closing = closings.find((one) => this.text.startsWith(one, this.at));
        if (closing !== undefined) {
          this.at += closing.length;
          return labelText(this.text.slice(offset + 1, end), offset + 1);
        }
      }
    }
    const end = this.#closing(start, closings);
    if (end === undefined) return undefined;
    this.at = end.offset + end.closing.length;
    return labelText(this.text.slice(start, end.offset), start);
  }

  /** Where the brackets are closed, which brackets and quotes inside of them don't do. */
  #closing(
    start: number,
    closings: readonly string[],
  ): { readonly offset: number; readonly closing: string } | undefined {
    const text = this.text;
    const [last = ""] = (closings[0] ?? "").slice(-1);
    const open = openings[last] ?? "";
    const first = closings.map((one) => one.charAt(0)).join("");
    let depth = 0;
    for (let at = start; at < text.length; at++) {
      const sign = text.charAt(at);
      if (depth === 0 && first.includes(sign)) {
        const closing = closings.find((one) => text.startsWith(one, at));
        if (closing !== undefined) return { offset: at, closing };
      }
      if (sign === open) depth += 1;
      else if (sign === last) {
        if (depth === 0) return undefined;
        depth -= 1;
      } else if (sign === '"' || (sign === "'" && /[\s([{=]/.test(text.charAt(at - 1)))) {
        const end = text.indexOf(sign, at + 1);
        const lineEnd = end === -1 ? -1 : text.indexOf("\n", at + 1);
        if (end !== -1 && (lineEnd === -1 || end < lineEnd)) at = end;
      }
    }
    return undefined;
  }

  /** `@{ shape: stadium, label: "…" }` */
  properties(): FlowProperties {
    const start = this.at;
    const unclosed = (): FlowchartError => this.fault(start, 'The bracket "@{" is never closed.');
    this.at += 2;
    let found: FlowProperties = {};
    for (;;) {
      while (this.skipWhite() === ",") this.at += 1;
      if (this.text.charAt(this.at) === "}") {
        this.at += 1;
        return found;
      }
      const offset = this.at;
      const key = this.match(wordPattern);
      if (this.at >= this.text.length) throw unclosed();
      if (key === undefined || this.skipWhite() !== ":") {
        const hint = 'write @{ shape: …, label: "…" }, with the label in quotes';
        throw this.fault(offset, `Expected a property, found ${this.found(offset)}.`, hint);
      }
      this.at += 1;
      this.skipWhite();
      const value = this.#value();
      if (value === undefined) throw unclosed();
      if (key === "shape") found = { ...found, shape: value.text };
      if (key === "label" && value.text !== "") found = { ...found, label: value };
    }
  }

  #value(): FlowLabel | undefined {
    const offset = this.at;
    const block = this.peek(blockText);
    if (block !== undefined) return this.#block(block);
    const quote = this.text.charAt(offset);
    if (quote !== '"' && quote !== "'") {
      const plain = this.match(/[^,}\n]*/y) ?? "";
      return this.at < this.text.length ? labelText(plain, offset) : undefined;
    }
    const isYaml = quote === '"';
    let end = this.text.indexOf(quote, offset + 1);
    // A backslash before a quote belongs to the text.
    if (isYaml) while (isEscaped(this.text, end)) end = this.text.indexOf(quote, end + 1);
    if (end === -1) return undefined;
    this.at = end + 1;
    const text = this.text.slice(offset + 1, end);
    return labelText(text, offset + 1, isYaml ? "yaml" : "plain");
  }

  /** `|`, and indented lines. */
  #block(block: string): FlowLabel {
    const [head = "", ...lines] = block.split("\n");
    const indent = /^ */.exec(lines.find((line) => line.trim() !== "") ?? "")?.[0].length ?? 0;
    const text = lines.map((line) => line.slice(indent)).join(head.startsWith(">") ? " " : "\n");
    const label = labelText(text, this.at + head.length + 1 + indent);
    this.at += block.length;
    return { ...label, isVerbatim: label.isVerbatim && lines.length === 1 };
  }

  /** An edge, over line breaks; undefined if the statement ends here. */
  link(): Link | undefined {
    const before = this.at;
    this.skipWhite();
    const id = this.match(edgeIdPattern);
    if (id !== undefined) this.edgeIds.add(id.slice(0, -1));
    const offset = this.at;
    const tail = this.match(/[xo<](?=--|==|-\.)/y);
    const stroke = this.#stroke(offset);
    if (stroke === undefined) {
      this.at = before;
      return undefined;
    }
    const { head } = stroke;
    if (tail !== undefined || head === "x" || head === "o") {
      const reason = "An edge must lead in one direction, with an arrow head.";
      throw this.fault(offset, reason, "write -->");
    }
    const end = this.at;
    const isPiped = this.skipWhite() === "|";
    if (!isPiped) this.at = end;
    const label = isPiped ? this.#pipeLabel() : stroke.label;
    return { offset, isArrow: head === ">", label };
  }

  #stroke(offset: number): Stroke | undefined {
    for (const { whole, open, close } of strokes) {
      whole.lastIndex = this.at;
      const found = whole.exec(this.text);
      if (found !== null) {
        this.at = whole.lastIndex;
        return { head: found[1], label: "" };
      }
      if (open === undefined || close === undefined || this.match(open) === undefined) continue;
      const closed = this.#linkText(close);
      if (closed !== undefined) return closed;
      throw this.fault(offset, "This edge has no end.", "write --> or -- text -->");
    }
    return undefined;
  }

  /** `text -->` after `--`, on one line. */
  #linkText(close: RegExp): Stroke | undefined {
    this.skipSpaces();
    const start = this.at;
    const lineEnd = this.lineEnd();
    const from = this.#afterQuote(start, lineEnd);
    close.lastIndex = from;
    const found = close.exec(this.text.slice(0, lineEnd));
    if (found === null) return undefined;
    this.at = found.index + found[0].length;
    return { head: found[1], label: labelText(this.text.slice(start, found.index), start).text };
  }

  #pipeLabel(): string {
    const start = this.at;
    const lineEnd = this.lineEnd();
    const from = this.#afterQuote(start + 1, lineEnd);
    const end = this.text.indexOf("|", from);
    if (end === -1 || end > lineEnd) throw this.fault(start, 'The label "|" is never closed.');
    this.at = end + 1;
    return labelText(this.text.slice(start + 1, end), start + 1).text;
  }

  #afterQuote(from: number, lineEnd: number): number {
    const quoted = /\s*"[^"\n]*(?=")/y;
    quoted.lastIndex = from;
    return quoted.test(this.text) && quoted.lastIndex < lineEnd ? quoted.lastIndex : from;
  }

  fault(offset: number, reason: string, hint?: string): FlowchartError {
    return new FlowchartError({ offset, reason, ...defined({ hint }) });
  }

  lineEnd(): number {
    const end = this.text.indexOf("\n", this.at);
    return end === -1 ? this.text.length : end;
  }

  skipSpaces(): string {
    this.match(/[ \t]*/y);
    return this.text.charAt(this.at);
  }

  skipWhite(): string {
    this.match(/\s*/y);
    return this.text.charAt(this.at);
  }

  /** Over empty statements and comments; whether there is more. */
  skipBlank(): boolean {
    for (;;) {
      this.match(/[\s;]*/y);
      if (!this.text.startsWith("%%", this.at)) return this.at < this.text.length;
      // `%%{init: …}%%`
      const isDirective = this.text.charAt(this.at + 2) === "{";
      const end = isDirective ? this.text.indexOf("}%%", this.at) : -1;
      this.at = end === -1 ? this.lineEnd() : end + 3;
    }
  }

  match(pattern: RegExp): string | undefined {
    const found = this.peek(pattern);
    if (found !== undefined) this.at += found.length;
    return found;
  }

  peek(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0];
  }

  found(at = this.at): string {
    const rest = this.text.slice(at, at + 40);
    const [word] = /^[\w-]+|^[^]/u.exec(rest) ?? [""];
    if (word === "") return "the end of the flowchart";
    return word === "\n" ? "the end of the line" : JSON.stringify(word);
  }

  /** To the end of a statement that has no meaning here. */
  skipStatement(): void {
    const end = this.lineEnd();
    for (; this.at < end && this.text.charAt(this.at) !== ";"; this.at++) {
      if (this.text.charAt(this.at) !== '"') continue;
      const close = this.text.indexOf('"', this.at + 1);
      if (close === -1 || close > end) {
        this.at = end;
        return;
      }
      this.at = close;
    }
  }
}

function isEscaped(text: string, at: number): boolean {
  if (at === -1) return false;
  let slashes = 0;
  while (text.charAt(at - 1 - slashes) === "\\") slashes += 1;
  return slashes % 2 === 1;
}

/** The texts of a flowchart: what Mermaid shows for what was written, and the way back. */

export interface FlowLabel {
  readonly text: string;
  readonly offset: number;
  /** Whether the characters of the text are those at the offset. */
  readonly isVerbatim: boolean;
}

const entities: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  amp: "&",
  lt: "<",
  gt: ">",
  nbsp: " ",
};
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** `#quot;` and `#35;` are characters, `<br/>` is a line break, and `` "`…`" `` is Markdown. */
function labelText(
  written: string,
  offset: number,
  quoting: "plain" | "yaml" = "plain",
): FlowLabel {
  const unescaped =
    quoting === "plain"
      ? written
      : written.replace(/\\([ntr"\\/])/g, (whole, sign: string) => escapes[sign] ?? whole);
  const trimmed = unescaped.trim();
  const isMarkdown = trimmed.length > 1 && trimmed.startsWith("`") && trimmed.endsWith("`");
  const text = (isMarkdown ? trimmed.slice(1, -1) : trimmed)
    .replace(/#(\d{1,7}|[a-z]{2,4});|<br\s{0,9}\/?>/gi, (whole, entity: string | undefined) =>
      entity === undefined ? "\n" : character(entity, whole),
    )
    .trim();
  const start = isMarkdown ? written.indexOf("`") + 1 : 0;
  const lead = written.length - written.slice(start).trimStart().length;
  const isVerbatim = written.startsWith(text, lead);
  return { text, offset: offset + lead, isVerbatim };
}

function character(entity: string, whole: string): string {
  const code = Number(entity);
  if (Number.isNaN(code)) return entities[entity.toLowerCase()] ?? whole;
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
}

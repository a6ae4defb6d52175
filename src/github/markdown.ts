/**
 * Foreign Markdown in, harmless Markdown out: no HTML, image, mention, reference or foreign address is left that GitHub
 * would make something of, nothing can end a fence of ours, and no line is a marker of ours. A word in which GitHub would
 * find a mention, a reference or an address becomes code. It takes linear time for any text and never throws.
 */
import {
  harmless,
  harmlessCode,
  oneLine,
  fenced,
  fenceOf,
  literal,
} from "../text/harmless-text.ts";
import { truncate } from "../text/truncate.ts";
import MarkdownIt, { type Token } from "markdown-it";
import { urlOf } from "../text/guards.ts";

export interface SafeMarkdownOptions {
  /** Maximum length of the result, in UTF-16 units. */
  readonly maxLength: number;
  /** Prefixes of links that pass, such as `https://github.com/owner/name/blob/`. Each ends with a slash. */
  readonly allowedLinks?: readonly string[];
  /** The number of levels by which headings are lowered, so that they stand below ours. Default: 0. */
  readonly lowered?: number;
}

export interface SafeMarkdown {
  readonly text: string;
  readonly whole: boolean;
}

export function safeMarkdown(text: string, options: SafeMarkdownOptions): SafeMarkdown {
  return fitting(text, options.maxLength, (part) =>
    new Writer(markdown().parse(harmlessCode(part), {}), options).blocks().trim(),
  );
}

/** Writes one line that may stand in a table, or behind something else on a line. `title`: in bold before it. */
export function safeCell(
  text: string,
  { title = "", ...options }: SafeMarkdownOptions & { readonly title?: string | undefined },
): string {
  const line = (one: string): string => {
    const [token] = markdown().parseInline(
      harmless(one)
        .trim()
        .replace(/\s*\n\s*/g, " "),
      {},
    );
    return new Writer([], options).phrasing(token?.children ?? [], true);
  };
  const name = line(title);
  const before = name === "" ? "" : `**${name}** `;
  const { text: cell, whole } = fitting(text, options.maxLength - 1, (part) =>
    (before + line(part)).trim(),
  );
  return whole ? cell : `${cell}…`;
}

/** Returns a name as code on one line, which may stand in a table. */
export function codeText(name: string, length: number): string {
  return codeSpan(oneLine(name, length) || "?", true);
}

/** Links Markdown of ours to an address of ours. */
export function linkText(text: string, url: string): string {
  return `[${text}](${destination(url)})`;
}

/** Writes the longest beginning of the text whose result isn't longer than allowed. */
function fitting(text: string, maxLength: number, write: (text: string) => string): SafeMarkdown {
  let length = Math.min(text.length, Math.max(0, maxLength));
  for (;;) {
    const result = write(truncate(text, length));
    if (result.length <= maxLength || length === 0)
      return { text: result, whole: length === text.length };
    // A character may become several, though not everywhere as many.
    length = Math.floor(length * Math.min(0.9, (0.98 * maxLength) / result.length));
  }
}

/** Emphasis that is nested more deeply is left out. */
const MAX_DEPTH = 8;
/** Lists and quotes that are nested more deeply are not read, so that no walk goes deep. */
const MAX_NESTING = 60;

let parser: ReturnType<typeof MarkdownIt> | undefined;

/** Parses an image as a link with a sign before it. */
function markdown(): ReturnType<typeof MarkdownIt> {
  parser ??= new MarkdownIt({ html: false, maxNesting: MAX_NESTING }).disable("image");
  return parser;
}

/** A part of a line. Adjacent texts, and adjacent code spans, would run into each other: they are joined. */
interface Piece {
  readonly kind: "text" | "code" | "written";
  readonly value: string;
}

class Writer {
  readonly #tokens: readonly Token[];
  readonly #allowedLinks: readonly string[];
  readonly #lowered: number;
  #next = 0;

  constructor(
    tokens: readonly Token[],
    { allowedLinks = [], lowered = 0 }: Omit<SafeMarkdownOptions, "maxLength">,
  ) {
    this.#tokens = tokens;
    this.#allowedLinks = allowedLinks;
    this.#lowered = lowered;
  }

  /** Writes blocks up to the token `end`. In an item, a list stands right below a line. */
  blocks(end?: string): string {
    let result = "";
    for (
      let token = this.#take();
      token !== undefined && token.type !== end;
      token = this.#take()
    ) {
      const block = this.#block(token);
      if (block === "") continue;
      const isTight = end === "list_item_close" && /^(?:[-*+]|1[.)]) /.test(block);
      result += (result === "" ? "" : isTight ? "\n" : "\n\n") + block;
    }
    return result;
  }

  #block(token: Token): string {
    switch (token.type) {
      case "paragraph_open":
        return this.#inline();
      case "heading_open": {
        const level = Math.min(6, Number(token.tag.slice(1)) + this.#lowered);
        return `${"#".repeat(level)} ${this.#inline(true)}`;
      }
      case "blockquote_open":
        return prefixed(this.blocks("blockquote_close"), "> ", "> ");
      case "bullet_list_open":
      case "ordered_list_open":
        return this.#list(token);
      case "table_open":
        return this.#table();
      case "fence":
      case "code_block":
        return codeBlock(token);
      case "hr":
        return "___";
      default:
        return "";
    }
  }

  #take(): Token | undefined {
    return this.#tokens[this.#next++];
  }

  #inline(isOneLine = false): string {
    const token = this.#take();
    this.#take();
    return this.phrasing(token?.children ?? [], isOneLine);
  }

  #list(list: Token): string {
    const items: string[] = [];
    const isOrdered = list.type === "ordered_list_open";
    let number = Number(list.attrGet("start") ?? 1);
    while (this.#take()?.type === "list_item_open") {
      const mark = `${isOrdered ? number++ : ""}${list.markup} `;
      items.push(prefixed(this.blocks("list_item_close"), mark, " ".repeat(mark.length)));
    }
    return items.join(items.some((item) => item.includes("\n\n")) ? "\n\n" : "\n");
  }

  #table(): string {
    const rows: string[][] = [];
    for (let token = this.#take(); token?.type !== "table_close"; token = this.#take()) {
      if (token === undefined) break;
      if (token.type === "tr_open") rows.push([]);
      if (token.type === "th_open" || token.type === "td_open")
        rows.at(-1)?.push(this.#inline(true));
    }
    const [head = [], ...others] = rows;
    return [head, head.map(() => "-"), ...others]
      .map((cells) => `| ${cells.join(" | ")} |`)
      .join("\n");
  }

  /** `isOneLine`: in a heading or a cell. */
  phrasing(tokens: readonly Token[], isOneLine = false): string {
    const root: Piece[] = [];
    // Emphasis and links collect their content, which is added to what is around them at their end.
    const open = [root];
    const links: string[] = [];
    const written = (pieces: readonly Piece[]): string => line(pieces, isOneLine);
    for (const token of tokens) {
      const target = open.at(-1) ?? root;
      const add = (kind: Piece["kind"], value: string): void => void target.push({ kind, value });
      switch (token.type) {
        case "softbreak":
        case "hardbreak":
          if (isOneLine) add("text", " ");
          else add("written", token.type === "hardbreak" ? "\\\n" : "\n");
          break;
        case "code_inline":
          add("code", token.content);
          break;
        case "em_open":
        case "strong_open":
        case "s_open":
          open.push(open.length > MAX_DEPTH ? target : []);
          break;
        case "em_close":
        case "strong_close":
        case "s_close": {
          open.pop();
          const around = open.at(-1) ?? root;
          const { markup } = token;
          const inside = around === target ? "" : written(target);
          if (inside.trim() !== "")
            around.push({ kind: "written", value: markup + inside + markup });
          break;
        }
        case "link_open":
          links.push(String(token.attrGet("href") ?? ""));
          open.push([]);
          break;
        case "link_close":
          open.pop();
          this.#link(links.pop() ?? "", target, open.at(-1) ?? root, written);
          break;
        default:
          // An entity may have become a control character or a line end.
          add("text", harmless(token.content).replaceAll("\n", " "));
      }
    }
    return written(root).replace(tildeFence, (tildes) => literal(tildes));
  }

  #link(
    href: string,
    inside: readonly Piece[],
    around: Piece[],
    written: (pieces: readonly Piece[]) => string,
  ): void {
    const last = around.at(-1);
    const isImage = last?.kind === "text" && last.value.endsWith("!");
    if (isImage) around.splice(-1, 1, { kind: "text", value: last.value.slice(0, -1) });
    // A browser resolves `..` and escapes before it goes there.
    const url = isImage ? undefined : urlOf(href)?.href;
    const isAllowed = this.#allowedLinks.some((prefix) => url?.startsWith(prefix) === true);
    const text = written(inside);
    if (url !== undefined && isAllowed && text !== "") {
      around.push({ kind: "written", value: linkText(text, url) });
      return;
    }
    const address: Piece = { kind: "code", value: href };
    const [only] = inside;
    if (text === "" || (inside.length === 1 && only?.kind === "text" && only.value === href))
      around.push(address);
    else
      around.push(...inside, { kind: "text", value: " (" }, address, { kind: "text", value: ")" });
  }
}

function line(pieces: readonly Piece[], inCell: boolean): string {
  const parts = joined(joined(pieces).flatMap((one) => (one.kind === "text" ? words(one) : one)));
  const written = parts.map(({ kind, value }, index) => {
    if (kind === "code") return codeSpan(value, inCell);
    if (kind === "written") return value;
    const isStart = index === 0 || parts[index - 1]?.value.endsWith("\n") === true;
    return literal(isStart ? value.trimStart() : value);
  });
  return written.join("");
}

function joined(pieces: readonly Piece[]): readonly Piece[] {
  const result: Piece[] = [];
  for (const { kind, value } of pieces) {
    const last = result.at(-1);
    if (last?.kind !== kind || kind === "written") result.push({ kind, value });
    else result.splice(-1, 1, { kind, value: last.value + value });
  }
  return result;
}

/** Nested strikethrough may begin a line with what opens a block of code. */
const tildeFence = /(?<=^[^\S\n]*)~{3,}/gm;

/** All that GitHub looks for consists of these characters. */
const visibleWord = /[!-~]+/g;
const found = /@\w|#\d|GH-\d|:\/\/|www\.|(?:mailto|xmpp):|\$|(?<!\w)[0-9a-f]{7,40}(?!\w)/i;
/** A word without the punctuation around it. */
const core = /^[([{<"'*]*(.*?)[)\]}>"'*.,;:!?]*$/;

function words({ value }: Piece): readonly Piece[] {
  const result: Piece[] = [];
  let end = 0;
  for (const { 0: word, index } of value.matchAll(visibleWord)) {
    if (!found.test(word)) continue;
    // The punctuation may be what makes it more than a word.
    const inner = core.exec(word)?.[1] ?? "";
    const code = found.test(inner) ? inner : word;
    const from = index + word.indexOf(code);
    result.push({ kind: "text", value: value.slice(end, from) }, { kind: "code", value: code });
    end = from + code.length;
  }
  return [...result, { kind: "text", value: value.slice(end) } as const].filter(
    (one) => one.value !== "",
  );
}

function codeSpan(code: string, inCell: boolean): string {
  const value = harmless(code).replaceAll("\n", " ");
  const fence = fenceOf(value, 1);
  // Parsers strip one space from each end, unless the code is only spaces.
  const losesSpaces = value.startsWith(" ") && value.endsWith(" ") && /[^ ]/.test(value);
  const padding = losesSpaces || /^`|`$/.test(value) ? " " : "";
  const text = fence + padding + value + padding + fence;
  // Parsers disagree about `\\|`, so no backslash stands before that of ours.
  return inCell
    ? text.replace(/(\\?)\|/g, (_pipe, backslash) => (backslash === "" ? "\\|" : "\\ \\|"))
    : text;
}

function destination(url: string): string {
  const signs = /[()|\\`<>\s]/g;
  return url
    .replace(signs, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("&", "&amp;");
}

/** GitHub makes more than code of these: a button that changes a file, a drawing, a map. */
const alive = /^(?:suggestion|mermaid|math|geojson|topojson|stl)$/i;

function codeBlock({ content, info }: Token): string {
  const [language = ""] = /^[\w+#.-]{1,30}/.exec(info.trim()) ?? [];
  const code = harmlessCode(content).replace(/\n$/, "");
  return fenced(code, alive.test(language) ? "" : language);
}

function prefixed(text: string, first: string, others: string): string {
  return text
    .split("\n")
    .map((one, index) => (index === 0 ? first + one : others + one).trimEnd())
    .join("\n");
}

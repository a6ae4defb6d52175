/**
 * Foreign Markdown as a tree of what may pass. A word in which GitHub would find a mention, a reference or an address
 * becomes code. The parser takes linear time and bounds the nesting, so that no walk over the tree goes deep.
 */
import { urlOf } from "../text/guards.ts";
import MarkdownIt, { type Token } from "markdown-it";
import type {
  BlockContent,
  InlineCode,
  List,
  ListItem,
  Paragraph,
  PhrasingContent,
  Table,
  TableRow,
  Text,
} from "mdast";
import { harmless, harmlessCode } from "../text/harmless-text.ts";

declare module "mdast" {
  interface EmphasisData {
    /** As it was written: another sign may not work there. */
    markup?: string;
  }
  interface StrongData {
    markup?: string;
  }
}

export interface TreeOptions {
  /** Links that begin like this pass: `https://github.com/owner/name/blob/`. Each ends with a slash. */
  readonly allowedLinks?: readonly string[];
  /** By how many levels headings are lowered, so that they stand below ours. Default: 0. */
  readonly lowered?: number;
}

const MAX_DEPTH = 8;
/** Of lists and quotes; what is nested more deeply is not read. */
const MAX_NESTING = 60;

let parser: ReturnType<typeof MarkdownIt> | undefined;

/** An image is parsed as a link with a sign before it. */
function markdown(): ReturnType<typeof MarkdownIt> {
  parser ??= new MarkdownIt({ html: false, maxNesting: MAX_NESTING }).disable("image");
  return parser;
}

export function blocksOf(text: string, options: TreeOptions): BlockContent[] {
  return new TreeBuilder(markdown().parse(harmlessCode(text), {}), options).blocks();
}

/** Of text on one line: no block is made of it. */
export function phrasingOf(text: string, options: TreeOptions): PhrasingContent[] {
  const [token] = markdown().parseInline(
    harmless(text)
      .trim()
      .replace(/\s*\n\s*/g, " "),
    {},
  );
  return new TreeBuilder([], options).phrasing(token?.children ?? []);
}

class TreeBuilder {
  readonly #tokens: readonly Token[];
  readonly #allowedLinks: readonly string[];
  readonly #lowered: number;
  #next = 0;

  constructor(tokens: readonly Token[], { allowedLinks = [], lowered = 0 }: TreeOptions) {
    this.#tokens = tokens;
    this.#allowedLinks = allowedLinks;
    this.#lowered = lowered;
  }

  blocks(end?: string): BlockContent[] {
    const result: BlockContent[] = [];
    for (let token = this.#take(); token !== undefined; token = this.#take()) {
      if (token.type === end) break;
      switch (token.type) {
        case "paragraph_open": {
          const node: Paragraph = { type: "paragraph", children: this.#inline() };
          if (node.children.length > 0) result.push(node);
          break;
        }
        case "heading_open": {
          const level = Number(token.tag.slice(1)) + this.#lowered;
          const depthOf = ([1, 2, 3, 4, 5] as const).find((one) => one === level) ?? 6;
          result.push({ type: "heading", depth: depthOf, children: this.#inline(" ") });
          break;
        }
        case "blockquote_open":
          result.push({ type: "blockquote", children: this.blocks("blockquote_close") });
          break;
        case "bullet_list_open":
        case "ordered_list_open":
          result.push(this.#list(token));
          break;
        case "table_open":
          result.push(this.#table());
          break;
        case "fence":
        case "code_block":
          result.push(codeBlock(token));
          break;
        case "hr":
          result.push({ type: "thematicBreak" });
          break;
        default:
      }
    }
    return result;
  }

  #take(): Token | undefined {
    return this.#tokens[this.#next++];
  }

  #inline(lineEnd = "\n"): PhrasingContent[] {
    const token = this.#take();
    this.#take();
    return this.phrasing(token?.children ?? [], lineEnd);
  }

  #list(open: Token): List {
    const children: ListItem[] = [];
    for (let token = this.#take(); token?.type === "list_item_open"; token = this.#take()) {
      const content = this.blocks("list_item_close");
      // Without an empty line, more than a list below a line would run together.
      const spread = content.slice(1).some(({ type }) => type !== "list");
      children.push({ type: "listItem", spread, children: content });
    }
    const spread = children.some((item) => item.spread === true);
    const ordered = open.type === "ordered_list_open";
    const start = ordered ? Number(open.attrGet("start") ?? 1) : null;
    return { type: "list", ordered, start, spread, children };
  }

  #table(): Table {
    const rows: TableRow[] = [];
    for (let token = this.#take(); token !== undefined; token = this.#take()) {
      if (token.type === "table_close") break;
      if (token.type === "tr_open") rows.push({ type: "tableRow", children: [] });
      if (token.type === "th_open" || token.type === "td_open")
        rows.at(-1)?.children.push({ type: "tableCell", children: this.#inline() });
    }
    return { type: "table", children: rows };
  }

  phrasing(tokens: readonly Token[], lineEnd = "\n"): PhrasingContent[] {
    const root: PhrasingContent[] = [];
    // Where nodes are added. What passes only as its content has the list of what is around it.
    const open = [root];
    const links: { readonly href: string; readonly text: PhrasingContent[] }[] = [];
    for (const token of tokens) {
      const target = open.at(-1) ?? root;
      const text = (value: string): void => void target.push({ type: "text", value });
      switch (token.type) {
        case "softbreak":
          text(lineEnd);
          break;
        case "hardbreak":
          if (lineEnd === "\n") target.push({ type: "break" });
          else text(lineEnd);
          break;
        case "code_inline":
          target.push(code(token.content));
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
          if (around !== target && target.length > 0) around.push(attention(token, target));
          break;
        }
        case "link_open":
          links.push({ href: String(token.attrGet("href") ?? ""), text: [] });
          open.push(links.at(-1)?.text ?? []);
          break;
        case "link_close": {
          open.pop();
          const link = links.pop();
          if (link !== undefined) this.#link(link, open.at(-1) ?? root);
          break;
        }
        default:
          // An entity may have become a control character or a line end.
          text(harmless(token.content).replaceAll("\n", " "));
      }
    }
    return plainPhrasing(root);
  }

  #link(
    { href, text }: { readonly href: string; readonly text: PhrasingContent[] },
    around: PhrasingContent[],
  ): void {
    const last = around.at(-1);
    const isImage = last?.type === "text" && last.value.endsWith("!");
    if (isImage) last.value = last.value.slice(0, -1);
    const url = isImage ? undefined : this.#allowed(href);
    const children = plainPhrasing(text);
    if (url !== undefined && children.length > 0) {
      around.push({ type: "link", url, children });
      return;
    }
    const address = code(href);
    const [only] = text;
    if (text.length === 0 || (text.length === 1 && only?.type === "text" && only.value === href))
      around.push(address);
    else around.push(...text, { type: "text", value: " (" }, address, { type: "text", value: ")" });
  }

  /** As a browser would read it: with `..` and escapes resolved. */
  #allowed(href: string): string | undefined {
    const url = urlOf(href)?.href;
    if (url === undefined) return undefined;
    return this.#allowedLinks.some((prefix) => url.startsWith(prefix)) ? url : undefined;
  }
}

function attention({ type, markup }: Token, inside: readonly PhrasingContent[]): PhrasingContent {
  const children = plainPhrasing(inside);
  if (type === "em_close") return { type: "emphasis", data: { markup }, children };
  if (type === "strong_close") return { type: "strong", data: { markup }, children };
  return { type: "delete", children };
}

function code(value: string): InlineCode {
  return { type: "inlineCode", value: harmless(value).replaceAll("\n", " ") };
}

/** GitHub makes more than code of these: a button that changes a file, a drawing, a map. */
const alive = /^(?:suggestion|mermaid|math|geojson|topojson|stl)$/i;

function codeBlock({ content, info }: Token): BlockContent {
  const [language = ""] = /^[\w+#.-]{1,30}/.exec(info.trim()) ?? [];
  const lang = alive.test(language) || language === "" ? null : language;
  return { type: "code", lang, value: harmlessCode(content).replace(/\n$/, "") };
}

/** All that GitHub looks for consists of these characters. */
const words = /[!-~]+/g;
const found = /@\w|#\d|GH-\d|:\/\/|www\.|(?:mailto|xmpp):|\$|(?<!\w)[0-9a-f]{7,40}(?!\w)/i;
const before = "([{<\"'*";
const after = ")]}>\"'*.,;:!?";

/** Texts that are next to each other are one, and so are code spans, which would run into each other. */
function plainPhrasing(nodes: readonly PhrasingContent[]): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  for (const node of joined(nodes, "text")) {
    if (node.type === "text") result.push(...plainWords(node.value));
    else result.push(node);
  }
  return joined(result, "inlineCode");
}

function joined(nodes: readonly PhrasingContent[], type: "text" | "inlineCode"): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  let run: Text | InlineCode | undefined;
  for (const node of nodes) {
    if (node.type !== type) {
      run = undefined;
      result.push(node);
    } else if (run === undefined) {
      run = { ...node };
      result.push(run);
    } else run.value += node.value;
  }
  return result;
}

function plainWords(text: string): PhrasingContent[] {
  const result: PhrasingContent[] = [];
  let end = 0;
  const plain = (to: number): void => {
    if (to > end) result.push({ type: "text", value: text.slice(end, to) });
    end = to;
  };
  for (const { 0: word, index } of text.matchAll(words)) {
    if (!found.test(word)) continue;
    const [from, to] = withoutEdges(word);
    plain(index + from);
    result.push({ type: "inlineCode", value: word.slice(from, to) });
    end = index + to;
  }
  plain(text.length);
  return result;
}

/** Where the word is without the punctuation around it, as far as that isn't what makes it more than a word. */
function withoutEdges(word: string): readonly [number, number] {
  let from = 0;
  let to = word.length;
  while (from < to && before.includes(word.charAt(from))) from += 1;
  while (from < to && after.includes(word.charAt(to - 1))) to -= 1;
  return found.test(word.slice(from, to)) ? [from, to] : [0, word.length];
}

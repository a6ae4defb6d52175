/**
 * An oracle for what is alive on GitHub and must not come from agents. Its parser has settings of its own, in which HTML
 * is HTML.
 */
import { urlOf } from "../../src/text/guards.ts";
import MarkdownIt, { type Token } from "markdown-it";

const github = new MarkdownIt({ html: true, maxNesting: 1000 });

/** GitHub looks for these in texts of the finished page. */
const inText: readonly (readonly [string, RegExp])[] = [
  ["a mention or a mail address", /@[a-z0-9]/i],
  ["a reference", /#\d|GH-\d/i],
  ["a commit", /(?<![\w])[0-9a-f]{7,40}(?!\w)/i],
  ["an address", /[a-z]:\/\/|www\.|mailto:|xmpp:/i],
  ["mathematics", /\$/],
  ["a control character", /[\p{Cc}\u200B\u200E\u200F\u2028-\u202E\u2061-\u206F]/u],
];
const inCode = /(?![\n\t])[\p{Cc}\u200B\u200E\u200F\u2028-\u202E\u2061-\u206F]/u;
const drawn = /^\s*(?:suggestion|mermaid|math|geojson|topojson|stl)(?:\s|$)/i;

export interface AliveOptions {
  /** Our own hidden line, at the very beginning. */
  readonly marker?: boolean;
  /** Addresses of our own links begin with one of these. */
  readonly links?: readonly string[];
  /** Our own tags and HTML entities: `<sub>`. */
  readonly html?: RegExp;
  /** Our own blocks: those of suggestions, and charts. */
  readonly fences?: RegExp;
}

/** Empty if nothing is. */
export function alive(markdown: string, options: AliveOptions = {}): string[] {
  const found: string[] = [];
  const text =
    options.marker === true ? markdown.replace(/^<!-- [^\n]* -->(?:\n|$)/, "") : markdown;
  if (options.marker === true && text === markdown) found.push("no marker");
  for (const token of github.parse(text, {})) check(token, options, found);
  return found;
}

function check(token: Token, options: AliveOptions, found: string[]): void {
  const { type, content, info } = token;
  switch (type) {
    case "html_block":
    case "html_inline":
      if (options.html?.test(content) !== true) found.push(`HTML: ${content}`);
      break;
    case "image":
      found.push(`an image: ${String(token.attrGet("src"))}`);
      break;
    case "link_open": {
      const href = String(token.attrGet("href"));
      const url = urlOf(href)?.href ?? href;
      if (options.links?.some((prefix) => url.startsWith(prefix)) !== true)
        found.push(`a link: ${href}`);
      break;
    }
    case "text":
      for (const [what, pattern] of inText) {
        const match = pattern.exec(content);
        if (match !== null) found.push(`${what}: ${content.slice(match.index, match.index + 50)}`);
      }
      break;
    case "fence":
    case "code_block":
    case "code_inline":
      if (drawn.test(info) && options.fences?.test(info) !== true) found.push(`a fence: ${info}`);
      if (inCode.test(content)) found.push(`a control character in code: ${content}`);
      break;
    default:
  }
  let isOurs = false;
  for (const child of token.children ?? []) {
    // GitHub looks for nothing in code; in bold, the summary has the numbers of works.
    if (child.type === "html_inline" && /^<\/?(?:b|code)>$/.test(child.content))
      isOurs = !child.content.startsWith("</");
    else if (child.type !== "text" || !isOurs) check(child, options, found);
  }
}

/** A list of the blocks of a text, without their words. */
export function structure(markdown: string): string {
  return github
    .parse(markdown, {})
    .map(({ type }) => type)
    .join(" ");
}

/**
 * The structure of a Markdown file (CommonMark), with positions. Texts are taken from the lines as they are: only the
 * block parser of `markdown-it` runs, which takes linear time and bounds its own recursion.
 */
import { defined } from "../text/guards.ts";
import MarkdownIt from "markdown-it";
import { type Diagnostic, type Locate, type Position, linePositions } from "./diagnostic.ts";
import { readDocument, readSource } from "./read-document.ts";

/** A line that begins with `#`, outside of fences, lists, quotes and HTML. */
export interface MarkdownHeading {
  readonly level: number;
  /** The text of the heading without its signs, and with single spaces. */
  readonly text: string;
  readonly at: Position;
}

export interface MarkdownFence {
  /** The info string of the fence: `mermaid`, `sh`. */
  readonly info: string;
  readonly content: string;
  readonly at: Position;
  readonly isClosed: boolean;
  /** The place in the file of an offset of `content`. */
  readonly locate: (offset: number) => Position;
}

export interface MarkdownFile {
  /** The lines of the file, without line ends. Those of the front matter are empty. */
  readonly lines: readonly string[];
  readonly frontMatter?: { readonly value: unknown; readonly locate: Locate };
  readonly headings: readonly MarkdownHeading[];
  /** Lines that look like headings, but belong to HTML that is no comment. */
  readonly hidden: readonly MarkdownHeading[];
  /** In lists and quotes as well. */
  readonly fences: readonly MarkdownFence[];
}

export type ReadMarkdown =
  | { readonly kind: "read"; readonly document: MarkdownFile }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

let parser: ReturnType<typeof MarkdownIt> | undefined;

export function readMarkdown(source: string | Uint8Array, file?: string): ReadMarkdown {
  const decoded = readSource(source, file);
  if (decoded.kind === "rejected") return decoded;
  const all = decoded.text.replace(/\r\n?/g, "\n").split("\n");
  const length = frontMatterLines(all);
  const lines = all.map((line, index) => (index < length ? "" : line));

  // Its place in the file is kept by the empty line that stands for the first fence.
  const yaml = `\n${all.slice(1, Math.max(1, length - 1)).join("\n")}`;
  const blank = yaml.split("\n").every((line) => /^\s*(?:#|$)/.test(line));
  const front = blank ? undefined : readDocument(yaml, { ...defined({ file }), format: "yaml" });
  if (front?.kind === "rejected") return front;

  const document = { lines, ...structure(lines) };
  if (front === undefined) return { kind: "read", document };
  const { value, locate } = front;
  return { kind: "read", document: { ...document, frontMatter: { value, locate } } };
}

export function fencesOf(text: string): readonly MarkdownFence[] {
  return structure(text.replace(/\r\n?/g, "\n").split("\n")).fences;
}

/** With both fences; 0 without front matter. A first `---` that is never closed is a line across the page. */
function frontMatterLines(lines: readonly string[]): number {
  if (!/^---[ \t]*$/.test(lines[0] ?? "")) return 0;
  return lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)[ \t]*$/.test(line)) + 1;
}

function structure(lines: readonly string[]): Omit<MarkdownFile, "lines" | "frontMatter"> {
  parser ??= new MarkdownIt("commonmark").disable(["inline"]);
  const headings: MarkdownHeading[] = [];
  const hidden: MarkdownHeading[] = [];
  const fences: MarkdownFence[] = [];
  for (const token of parser.parse(lines.join("\n"), {})) {
    const [first, end] = token.map ?? [0, 0];
    switch (token.type) {
      case "heading_open": {
        // Underlined headings are not used: a `---` below a line of a prompt is meant as a line.
        if (token.level > 0 || !token.markup.startsWith("#")) break;
        headings.push(headingAt(lines, first, token.markup.length));
        break;
      }
      case "html_block":
        if (/^\s*<!--/.test(token.content) && token.content.includes("-->")) break;
        for (let index = first; index < end; index++) {
          const signs = /^ {0,3}(#{1,6})\s/.exec(lines[index] ?? "")?.[1];
          if (signs !== undefined) hidden.push(headingAt(lines, index, signs.length));
        }
        break;
      case "fence": {
        const line = lines[first] ?? "";
        const at = { line: first + 1, column: Math.max(line.indexOf(token.markup), 0) + 1 };
        const content = token.content.replace(/\n$/, "").split("\n");
        const isClosed = end - first - 1 > (token.content === "" ? 0 : content.length);
        const locate = locateIn(content, lines, first + 1);
        fences.push({ info: token.info.trim(), content: token.content, at, isClosed, locate });
        break;
      }
      default:
    }
  }
  return { headings, hidden, fences };
}

function headingAt(lines: readonly string[], index: number, level: number): MarkdownHeading {
  const line = lines[index] ?? "";
  const at = { line: index + 1, column: line.indexOf("#") + 1 };
  return { level, text: headingText(line), at };
}

function headingText(line: string): string {
  const text = line.trim().replace(/^#+/, "").trim().replace(/\s+/g, " ");
  const end = text.length - (/#+$/.exec(text.slice(-1_000))?.[0].length ?? 0);
  // Signs at the end close the heading only if a space is before them.
  return end === 0 || /\s/.test(text.charAt(end - 1)) ? text.slice(0, end).trim() : text;
}

/** Lines of a fence lack the indentation, or the signs of the quote, that the lines of the file have. */
function locateIn(
  content: readonly string[],
  lines: readonly string[],
  first: number,
): (offset: number) => Position {
  const place = linePositions(() => content.map(({ length }) => length));
  return (offset) => {
    const { line, column } = place(offset);
    const indent = (lines[first + line - 1] ?? "").length - (content[line - 1] ?? "").length;
    return { line: first + line, column: column + Math.max(0, indent) };
  };
}

/**
 * Foreign Markdown in, harmless Markdown out: no HTML, image, mention, reference or foreign address is left that GitHub
 * would make something of, nothing can end a fence of ours, and no line is a marker of ours. Takes linear time for any
 * text and never throws; harmless Markdown is the same after a second time.
 */
import { gfmTableToMarkdown } from "mdast-util-gfm-table";
import { toMarkdown, type Handle, type Options, type State } from "mdast-util-to-markdown";
import type { Delete, Emphasis, InlineCode, Nodes, Parents, PhrasingContent, Strong } from "mdast";
import { fenceOf } from "../text/fence.ts";
import { truncate } from "../text/truncate.ts";
import { blocksOf, phrasingOf, type TreeOptions } from "./markdown-tree.ts";

export interface SafeMarkdownOptions extends TreeOptions {
  /** Of the result, in UTF-16 units. */
  readonly maxLength: number;
}

export interface SafeMarkdown {
  readonly text: string;
  readonly whole: boolean;
}

export function safeMarkdown(text: string, options: SafeMarkdownOptions): SafeMarkdown {
  return fitting(text, options.maxLength, (part) =>
    written({ type: "root", children: blocksOf(part, options) }).trim(),
  );
}

/** On one line that may stand in a table, or behind something else on a line. `title`: in bold before it. */
export function safeCell(
  text: string,
  { title = "", ...options }: SafeMarkdownOptions & { readonly title?: string | undefined },
): string {
  const name = phrasingOf(title, options);
  const before: PhrasingContent[] =
    name.length === 0
      ? []
      : [
          { type: "strong", children: name },
          { type: "text", value: " " },
        ];
  const { text: cell, whole } = fitting(text, options.maxLength - 1, (part) =>
    writtenCell([...before, ...phrasingOf(part, options)]),
  );
  return whole ? cell : `${cell}…`;
}

/** Nodes of our own, such as a link. */
export function writtenCell(children: PhrasingContent[]): string {
  return written({ type: "tableCell", children }).trim();
}

/** What is written of the longest beginning of the text for which that isn't longer than allowed. */
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

function written(tree: Nodes): string {
  return toMarkdown(tree, (options ??= makeOptions()));
}

/** As it was written: those of the serializer look for the best sign in the whole paragraph, in quadratic time. */
function attention(markupOf: (node: Emphasis | Strong | Delete) => string): Handle {
  const handle: Handle = (node: Emphasis | Strong | Delete, _parent, state, info) => {
    const markup = markupOf(node);
    const exit = state.enter("emphasis");
    const tracker = state.createTracker(info);
    const inside = { before: markup, after: markup, ...tracker.current() };
    const text = state.containerPhrasing(node, inside);
    exit();
    return markup + text + markup;
  };
  // The serializer asks what follows a text; writing it all for that takes twice as long at each level.
  return Object.assign(handle, {
    peek: (node: Emphasis | Strong | Delete) => markupOf(node),
  });
}

function inlineCode(node: InlineCode, _parent: Parents | undefined, state: State): string {
  const { value } = node;
  const fence = fenceOf(value, 1);
  // Parsers strip one space from each end, unless the code is only spaces.
  const losesSpaces = value.startsWith(" ") && value.endsWith(" ") && /[^ ]/.test(value);
  const padding = losesSpaces || /^`|`$/.test(value) ? " " : "";
  const text = fence + padding + value + padding + fence;
  // Parsers disagree about `\\|`, so no backslash stands before that of ours.
  return state.stack.includes("tableCell") ? text.replace(/(\\?)\|/g, doubledPipe) : text;
}

function doubledPipe(_pipe: string, backslash: string): string {
  return backslash === "" ? "\\|" : "\\ \\|";
}

/** Made when the first text is written, because the packages are loaded then. */
let options: Options | undefined;
const makeOptions = (): Options => ({
  bullet: "-",
  rule: "-",
  fences: true,
  listItemIndent: "one",
  extensions: [
    gfmTableToMarkdown({ tablePipeAlign: false }),
    {
      handlers: {
        emphasis: attention((node) => (node.type === "emphasis" && node.data?.markup) || "*"),
        strong: attention((node) => (node.type === "strong" && node.data?.markup) || "**"),
        delete: attention(() => "~~"),
        inlineCode: Object.assign(inlineCode, { peek: () => "`" }),
      },
      unsafe: [{ character: "~", inConstruct: "phrasing" }],
    },
  ],
});

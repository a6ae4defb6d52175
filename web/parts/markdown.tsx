/**
 * Markdown of a model as nodes that are safe to show.
 *
 * Invariants: HTML in the Markdown is shown as text; no scripts, styles, forms, images or frames; links go to http(s)
 * only, and tell the other side nothing. Every text gives nodes: what can't be read as Markdown is shown as it is.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import { CodeBlock } from "./code-block.tsx";
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

/** UTF-16 units of a text that are read as Markdown: what follows is shown as it is. */
const MAX_MARKDOWN = 50_000;
/** A text that grows is read again after this many times the time that it took. */
const PAUSE = 8;

/**
 * Text of a model as Markdown. The nodes are sanitized; Preact doesn't know them. However long a text is and however
 * fast it grows, most of the time is left to the rest of the page. `find`: see `CodeBlock`.
 */
export function Markdown({ text, find }: { text: string; find?: string }) {
  const element = useRef<HTMLDivElement>(null);
  const last = useRef({ at: -Infinity, took: 0 });
  const end = endOfMarkdown(text);
  const head = text.slice(0, end);
  useLayoutEffect(() => {
    const show = () => {
      const begun = performance.now();
      element.current?.replaceChildren(markdownToNodes(head));
      const at = performance.now();
      last.current = { at, took: at - begun };
    };
    const { at, took } = last.current;
    const wait = at + took * PAUSE - performance.now();
    if (wait <= 0) return show();
    const timer = setTimeout(show, wait);
    return () => clearTimeout(timer);
  }, [head]);
  return (
    <>
      <div ref={element} class="markdown" />
      {end === text.length ? null : (
        <CodeBlock text={text.slice(end)} label="rest of the text" find={find} />
      )}
    </>
  );
}

/** At the end of a line, if there is one near the limit. */
function endOfMarkdown(text: string): number {
  if (text.length <= MAX_MARKDOWN) return text.length;
  const line = text.lastIndexOf("\n", MAX_MARKDOWN) + 1;
  return line > MAX_MARKDOWN / 2 ? line : MAX_MARKDOWN;
}

const allowedTags = [
  ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a".split(" "),
  ..."table thead tbody tr th td".split(" "),
];

const MAX_NESTING = 100;

/** Takes linear time, whatever the text: a message is hostile input. */
const markdown = new MarkdownIt({ html: false, linkify: true, maxNesting: MAX_NESTING });
// `README.md` is no address, although .md is a domain.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.renderer.rules["image"] = (tokens, index) => {
  const token = tokens[index];
  const text = token?.content ?? "";
  return escapeHtml(text === "" ? `[image ${token?.attrGet("src") ?? ""}]` : `[image: ${text}]`);
};
// Styles are not allowed, and the boxes of a list of tasks are no controls.
markdown.core.ruler.push("plain", ({ tokens }) => {
  tokens.forEach((token, index) => {
    const [, align] = /^text-align:(\w+)$/.exec(String(token.attrGet("style"))) ?? [];
    if (align !== undefined) token.attrSet("align", align);
    const [first] = token.children ?? [];
    if (first?.type === "text" && tokens[index - 2]?.type === "list_item_open")
      first.content = first.content.replace(/^\[ \](?=\s)/, "☐").replace(/^\[x\](?=\s)/i, "☑");
  });
});

function markdownToNodes(text: string): DocumentFragment {
  const html = htmlOf(text);
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: allowedTags,
    ALLOWED_ATTR: ["href", "title", "start", "align"],
    ALLOWED_URI_REGEXP: /^https?:\/\//i,
    // The others are tested as if they were addresses.
    ADD_URI_SAFE_ATTR: ["align", "start"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  // A link that leads nowhere doesn't look like one.
  for (const link of fragment.querySelectorAll("a:not([href])"))
    link.replaceWith(...link.childNodes);
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noreferrer noopener";
    link.target = "_blank";
  }
  // The page's own headings come first.
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    heading.setAttribute("role", "presentation");
  }
  for (const block of fragment.querySelectorAll("pre, table")) {
    block.setAttribute("tabindex", "0");
  }
  return fragment;
}

function htmlOf(text: string): string {
  const environment = {};
  const tokens = markdown.parse(text, environment);
  // The renderer would leave out deeper parts.
  return tokens.some(({ level }) => level >= MAX_NESTING - 1)
    ? `<pre>${escapeHtml(text)}</pre>`
    : markdown.renderer.render(tokens, markdown.options, environment);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

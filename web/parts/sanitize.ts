/**
 * Markdown of a model to nodes that are safe to show.
 *
 * Invariants: HTML in the Markdown is shown as text; no scripts, styles, forms, images or frames; links go to http(s)
 * only, and tell the other side nothing. Every text gives nodes: what can't be read as Markdown is shown as it is.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

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

export function markdownToNodes(text: string): DocumentFragment {
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
  // What leads nowhere doesn't look like a link.
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
  // What is nested deeper would be left out.
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

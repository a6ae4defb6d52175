/**
 * Markdown of a model to nodes that are safe to show.
 *
 * Invariants: HTML in the Markdown is shown as text; no scripts, styles, forms, images or frames; links go to http(s)
 * only, and tell the other side nothing.
 */
import DOMPurify from "dompurify";
import { Marked, type Tokens } from "marked";

const allowedTags = [
  ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a".split(" "),
  ..."table thead tbody tr th td".split(" "),
];

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
    image: ({ text, href }: Tokens.Image) =>
      escapeHtml(text === "" ? `[image ${href}]` : `[image: ${text}]`),
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
  },
});

export function markdownToNodes(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false });
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

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Texts of GitHub are untrusted: what is invisible there must not reach a model either. */
import { truncate } from "./truncate.ts";

export const MAX_EVENT_TEXT = 100_000;

/** `<!-->` and `<!--->` are whole comments. */
const comment = /<!--(?:-?>|[^]*?(?:-->|$))/g;

export function cleanEventText(raw: string): { readonly text: string; readonly cut: number } {
  const visible = raw
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/\p{Cs}/gu, "\uFFFD")
    .replace(/\p{Cc}/gu, (control) => (control === "\n" || control === "\t" ? control : ""))
    // Zero-width, bidirectional, tag and filler characters, variation selectors, annotation anchors.
    .replace(/[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu, "");
  // After the invisible ones, which could have split the markers. What is left of comments after two rounds was made
  // to hide something: it goes to the end, as one that is never closed does on GitHub.
  const text = visible
    .replace(comment, "")
    .replace(comment, "")
    .replace(/<!--[^]*/, "");
  const kept = truncate(text, MAX_EVENT_TEXT);
  return { text: kept, cut: text.length - kept.length };
}

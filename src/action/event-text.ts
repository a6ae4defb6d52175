/**
 * Text of an event (titles, bodies, comments) is untrusted data. Text that is invisible on GitHub
 * must not reach a model either.
 */
export const MAX_EVENT_TEXT = 100_000;

export interface CleanText {
  readonly text: string;
  /** Characters that were cut off at the end. */
  readonly cut: number;
}

export function cleanEventText(raw: string): CleanText {
  const visible = raw
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/\p{Cs}/gu, "\uFFFD")
    .replace(/\p{Cc}/gu, (control) => (control === "\n" || control === "\t" ? control : ""))
    // Zero-width, bidirectional, tag and filler characters, variation selectors, annotation anchors.
    .replace(/[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu, "");
  // After the invisible ones, which could have split the markers.
  const text = withoutComments(visible);
  if (text.length <= MAX_EVENT_TEXT) return { text, cut: 0 };
  // Not through the middle of a character.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(MAX_EVENT_TEXT - 1))
    ? MAX_EVENT_TEXT - 1
    : MAX_EVENT_TEXT;
  return { text: text.slice(0, end), cut: text.length - end };
}

/**
 * Linear, and in one pass: a marker that the removal of a comment puts together is found as well. One that
 * is never closed goes to the end, as on GitHub.
 */
function withoutComments(text: string): string {
  const kept: string[] = [];
  let next = 0;
  while (next < text.length) {
    kept.push(text.charAt(next));
    next += 1;
    if (kept.slice(-4).join("") !== "<!--") continue;
    kept.splice(-4);
    next = endOfComment(text, next);
  }
  return kept.join("");
}

/** `start` is behind the opening marker; `<!-->` and `<!--->` are whole comments. */
function endOfComment(text: string, start: number): number {
  for (const short of [">", "->"]) if (text.startsWith(short, start)) return start + short.length;
  const end = text.indexOf("-->", start);
  return end < 0 ? text.length : end + 3;
}

/**
 * The longest beginning of `text` that has at most `limit` characters and ends at white space or at a quote:
 * where a text is cut before the redactor sees it, half a secret would no longer be recognized.
 */
export function beginningOf(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = limit;
  while (end > 0 && !/[\s"'`]/.test(text.charAt(end))) end -= 1;
  return text.slice(0, end);
}

/** The same with a mark where something is left out. */
export function clipWords(text: string, limit: number): string {
  return text.length <= limit ? text : `${beginningOf(text, limit)}…`;
}

/** The same as `beginningOf` from the other end. */
export function endOf(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let start = text.length - limit;
  while (start < text.length && !/[\s"'`]/.test(text.charAt(start - 1))) start += 1;
  return text.slice(start);
}

/** For a text that has been redacted: at most its first `limit` characters, never half of one. */
export function cut(text: string, limit: number): string {
  return text.length <= limit ? text : text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "");
}

/** The same with a mark where something is left out. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${cut(text, length)}…`;
}

/** At most the last `limit` characters of a text that has been redacted. */
export function cutStart(text: string, limit: number): string {
  return text.length <= limit
    ? text
    : text.slice(text.length - limit).replace(/^[\uDC00-\uDFFF]/, "");
}

import stringWidth from "fast-string-width";

/**
 * Two ways to truncate. Before redaction, a text must end between words, because half a secret would not be recognized;
 * these functions are called `…Unredacted`. Afterwards any character will do, as long as it stays whole. `mark` follows
 * what is left of a longer text.
 */

/** At most the first `limit` characters of a text that is not redacted yet: whole words, or nothing. */
export function truncateUnredacted(
  text: string,
  limit: number,
  mark: string | ((left: number) => string) = "",
): string {
  if (text.length <= limit) return text;
  let end = limit;
  while (end > 0 && !isBoundary(text.charCodeAt(end))) end -= 1;
  return text.slice(0, end) + (typeof mark === "string" ? mark : mark(text.length - end));
}

/** A `mark` of `truncateUnredacted`. */
export function moreCharacters(left: number): string {
  return `… [${left} more characters]`;
}

/** At most the last `limit` characters of a text that is not redacted yet: whole words, or nothing. */
export function truncateStartUnredacted(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let start = text.length - limit;
  while (start < text.length && !isBoundary(text.charCodeAt(start - 1))) start += 1;
  return text.slice(start);
}

/** White space or a quote. An expression for every character would take ten times as long. */
function isBoundary(code: number): boolean {
  if (code > 0x7f) return code >= 0xa0 && /\s/.test(String.fromCharCode(code));
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return code === 0x22 || code === 0x27 || code === 0x60;
}

/** At most the first `limit` characters of a redacted text, and `mark` if it is longer. */
export function truncate(text: string, limit: number, mark = ""): string {
  return text.length <= limit ? text : text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "") + mark;
}

/** At most the last `limit` characters of a redacted text. */
export function truncateStart(text: string, limit: number): string {
  return text.length <= limit
    ? text
    : text.slice(text.length - limit).replace(/^[\uDC00-\uDFFF]/, "");
}

const leftOut = /\n\[(\d+) characters left out\]\n/g;

/** Both ends of a redacted text. The count includes what a mark in the text counts. */
export function truncateMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  let from = truncate(text, half).length;
  let to = text.length - truncateStart(text, half).length;
  let before = 0;
  for (const { index, 0: mark, 1: count } of text.matchAll(leftOut)) {
    if (index >= to || index + mark.length <= from) continue;
    from = Math.min(from, index);
    to = Math.max(to, index + mark.length);
    before += Number(count) - mark.length;
  }
  return `${text.slice(0, from)}\n[${to - from + before} characters left out]\n${text.slice(to)}`;
}

/** Halves of characters, as in a text that was truncated elsewhere, become U+FFFD: few programs take JSON that has one. */
export function wholeCharacters(text: string): string {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}

/** With a full stop, unless it ends with a mark already. */
export function sentence(text: string): string {
  return /[.!?]["')]?$/.test(text) ? text : `${text}.`;
}

/** A visible character: a letter, a digit, punctuation or a symbol. A combining mark alone and a blank pattern are invisible. */
export const visible =
  /(?![\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffd])[\p{L}\p{N}\p{P}\p{S}]/u;

export function firstLine(text: string): string {
  return (text.split(/\r\n|\r|\n/, 1)[0] ?? "").trim();
}

const OUTPUT_CHARACTERS = 300;
const OUTPUT_LINES = 3;

/** Matches lines of test runners, compilers and linters that name a failure. Counters such as `# skipped 0` don't match. */
const telling =
  /^(?:not ok\b|[✖✗×●] |E {2,}|--- FAIL|FAIL)|\b(?:\w*(?:Error|Exception)|[Ee]rror|ERROR|fatal)\b[^:]{0,40}: *[^\s|>]|panicked at|[!=]==? |\b[Ee]xpected\b/;

/** A reason with the last lines of an output, unless only lines before them say what failed, or it contains them. */
export function withOutput(reason: string, output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const last = lines.slice(-OUTPUT_LINES);
  const found = lines.filter((line) => telling.test(line)).slice(0, OUTPUT_LINES);
  const isEnd = found.length === 0 || last.some((line) => telling.test(line));
  const shown = isEnd ? last : found;
  if (shown.every((line) => reason.includes(line))) return reason;
  const text = shown.join("\n");
  const end = `The end of its output: ${truncateStartUnredacted(text, OUTPUT_CHARACTERS)}`;
  return `${sentence(reason)} ${isEnd ? end : `From its output: ${truncate(text, OUTPUT_CHARACTERS, "…")}`}`;
}

/** Exactly `width` columns: truncated between whole characters, or padded. */
export function fit(text: string, width: number, align: "left" | "right" = "left"): string {
  const fitted = fitColumns(text, width);
  const padding = " ".repeat(Math.max(0, width - stringWidth(fitted)));
  return align === "left" ? fitted + padding : padding + fitted;
}

export function fitName(text: string, width: number): string {
  return fit(fitColumnsMiddle(text, width), width);
}

/** At most `width` columns. */
export function fitColumns(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let result = "";
  let used = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment);
    if (used > width) break;
    result += segment;
  }
  return width < 1 ? "" : `${result}…`;
}

/** At most `width` columns. The middle is left out, because names that belong together differ at their ends. */
export function fitColumnsMiddle(text: string, width: number): string {
  if (stringWidth(text) <= width || width < 3) return fitColumns(text, width);
  const tail = Math.floor((width - 1) / 2);
  let end = "";
  for (const { segment } of [...new Intl.Segmenter().segment(text)].toReversed()) {
    if (stringWidth(segment + end) > tail) break;
    end = segment + end;
  }
  return fitColumns(text, width - tail) + end;
}

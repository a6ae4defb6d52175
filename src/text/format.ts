/** Makes foreign text fit on one line of a terminal. */
import stringWidth from "fast-string-width";
import { harmless, oneLine, unsafeCharacters } from "./harmless-text.ts";
import { countText, plural } from "./numbers.ts";

export { countText, harmless, oneLine, plural, unsafeCharacters };

/** At most `lines` lines and `length` UTF-16 units. */
export function paragraph(text: string, lines: number, length: number): string[] {
  const all = harmless(text.slice(0, length)).trim().split("\n");
  const kept = all.slice(0, lines);
  if (kept.length < all.length || text.trim().length > length) kept.push("…");
  return kept;
}

/** Exactly `width` columns: cut between whole characters, or padded. */
export function fit(text: string, width: number, align: "left" | "right" = "left"): string {
  const cut = cutTo(text, width);
  const padding = " ".repeat(Math.max(0, width - stringWidth(cut)));
  return align === "left" ? cut + padding : padding + cut;
}

export function fitName(text: string, width: number): string {
  return fit(cutMiddle(text, width), width);
}

export function cutTo(text: string, width: number): string {
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

/** At most `width` columns; what is cut is the middle, because names that belong together differ at their ends. */
export function cutMiddle(text: string, width: number): string {
  if (stringWidth(text) <= width || width < 3) return cutTo(text, width);
  const tail = Math.floor((width - 1) / 2);
  let end = "";
  for (const { segment } of [...new Intl.Segmenter().segment(text)].toReversed()) {
    if (stringWidth(segment + end) > tail) break;
    end = segment + end;
  }
  return cutTo(text, width - tail) + end;
}

/** `mm:ss`, from an hour on `h:mm:ss`. */
export function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const rest = `${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`;
  return seconds < 3600 ? rest : `${Math.floor(seconds / 3600)}:${rest}`;
}

/** `0.4 s`, from a minute on like `clockText`. */
export function tookText(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : clockText(milliseconds);
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

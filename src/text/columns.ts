/** Fits text to the columns of a terminal. */
import stringWidth from "fast-string-width";

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

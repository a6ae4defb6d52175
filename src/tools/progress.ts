/** What a call reports while it runs: a percentage, and a message that doesn't repeat it. */
import type { ToolProgress } from "./tool.ts";

const percentage =
  /^[[(]?\s*(\d{1,3}(?:\.\d+)?)\s?%(?!\w)[\])]?|(?<![\w.,])[[(]?(\d{1,3}(?:\.\d+)?)\s?%[\])]?$/;

/** The percentage at the beginning or the end of a line, and the rest as a message. */
export function progressOf(line: string): ToolProgress {
  const found = percentIn(line);
  if (found === undefined) return { message: line };
  const { percent, rest } = found;
  return rest === "" ? { percent } : { percent, message: rest };
}

/** Without the percentage in its message, if it is the same. */
export function saidOnce(progress: ToolProgress): ToolProgress {
  const { percent, message } = progress;
  const found = typeof message === "string" ? percentIn(message) : undefined;
  if (percent === undefined || found === undefined) return progress;
  if (Math.floor(found.percent) !== Math.floor(percent)) return progress;
  return found.rest === "" ? { percent } : { percent, message: found.rest };
}

function percentIn(text: string): { readonly percent: number; readonly rest: string } | undefined {
  const line = text.trim();
  const [whole = "", atBegin, atEnd] = percentage.exec(line) ?? [];
  const percent = Number(atBegin ?? atEnd ?? Number.NaN);
  if (!(percent <= 100)) return undefined;
  const rest = (
    atBegin === undefined ? line.slice(0, -whole.length) : line.slice(whole.length)
  ).trim();
  return { percent, rest: rest.replace(/^[:–—|-] |[:–—|-]$/, "").trim() };
}

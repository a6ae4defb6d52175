/** The arguments of a tool call, which are JSON by a model: anything is possible. Pure. */
import { truncate } from "../../src/text/truncate.ts";

export function prettyJson(text: string): string {
  const value = parsed(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}

const MAX_SUMMARY = 160;
/** The arguments that say most, the first one that is there. */
const telling = [
  "command",
  "path",
  "file_path",
  "pattern",
  "query",
  "url",
  "argument",
  "description",
];

/** One line about a call: what a reader wants to know before opening it. */
export function summaryOf(text: string): string {
  const value = parsed(text);
  if (typeof value !== "object" || value === null) return oneLine(text);
  const entries = new Map<string, unknown>(Object.entries(value));
  const names = [...telling, ...entries.keys()];
  for (const name of names) {
    const argument = entries.get(name);
    if (typeof argument === "string" && argument.trim() !== "") return oneLine(argument);
  }
  return entries.size === 0 ? "" : oneLine(text);
}

function oneLine(text: string): string {
  const line = text
    .slice(0, MAX_SUMMARY * 2)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= MAX_SUMMARY ? line : truncate(line, MAX_SUMMARY - 1, "…");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

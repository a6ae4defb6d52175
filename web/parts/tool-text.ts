/** The arguments of a tool call, which a model wrote: anything is possible. Pure. */
import { truncate } from "../../src/text/truncate.ts";

const MAX_LINE = 300;
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
export function summaryOf(given: unknown): string {
  if (typeof given !== "object" || given === null) return oneLine(argumentText(given));
  const values = new Map<string, unknown>(Object.entries(given));
  for (const name of [...telling, ...values.keys()]) {
    const value = values.get(name);
    if (typeof value === "string" && value.trim() !== "") return oneLine(value);
  }
  return values.size === 0 ? "" : oneLine(argumentText(given));
}

/** Writes arguments as readable text; those that a model gave as text stay as they are. */
export function argumentText(given: unknown): string {
  if (given === undefined) return "";
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given, null, 2) ?? "";
  } catch {
    return "(nested too deeply)";
  }
}

/** The value of JSON; what is no JSON stays a text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function oneLine(text: string): string {
  return truncate(
    text
      .slice(0, MAX_LINE * 2)
      .replace(/\s+/g, " ")
      .trim(),
    MAX_LINE,
  );
}

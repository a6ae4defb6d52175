/** What can be said of a pattern of `permissions.shell` before any command comes. Pure. */
import { readShell } from "./shell-reading.ts";

/**
 * Why no command can match it; undefined if one can. Whatever a pattern matches is a command that can be
 * read, so its own words have to be.
 */
export function unmatchable(pattern: string): string | undefined {
  const words = pattern.trim().split(/\s+/);
  // What a wildcard stands for is a plain text at best.
  const text = words.join(" ").replaceAll("*", "x");
  const reading = readShell(text);
  if (reading.kind === "opaque") return reading.reason;
  const [first = [], ...others] = reading.commands;
  if (others.length > 0)
    return `it is ${others.length + 1} commands, and each is matched by itself`;
  return first.join(" ") === text && first.length === words.length
    ? undefined
    : "quotes, backslashes and comments are not part of the words of a command";
}

/** Checks of a pattern of `permissions.shell` that need no command. Pure. */
import { readShell } from "./shell-reading.ts";

/**
 * Why no command can match it; undefined if one can. Whatever a pattern matches is a command that can be
 * read, so its own words have to be.
 */
export function unmatchable(pattern: string): string | undefined {
  const words = pattern.trim().split(/\s+/);
  // A wildcard only matches plain text.
  const text = words.join(" ").replaceAll("*", "x");
  const reading = readShell(text);
  if (reading.kind === "opaque") return reading.reason;
  const [first = [], ...others] = reading.commands;
  if (others.length > 0)
    return `it contains ${others.length + 1} commands, and each command is matched on its own`;
  return first.join(" ") === text && first.length === words.length
    ? undefined
    : "quotes, backslashes and comments are not part of the words of a command";
}

/** Matches the commands of a shell line against the patterns of `permissions.shell`. Pure. */
import { baseName, hazardsNamedBy, hazardsOf } from "./hazards.ts";
import { readShell } from "./shell-reading.ts";
import { wildcardMatches } from "./wildcard.ts";

export type ShellVerdict =
  { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/**
 * Every command of the line must match one of `allow` (`true`: any command) and none may match one of `deny`.
 * A pattern is words separated by blanks: `*` inside a word stands for any characters of that word, and a
 * last word `*` for any further arguments, also none.
 */
export function decideShell(
  line: string,
  allow: true | readonly string[],
  deny: readonly string[],
  platform: NodeJS.Platform = process.platform,
): ShellVerdict {
  if (allow === true && deny.length === 0) return { allowed: true };
  // PowerShell reads quotes, backslashes and separators in its own way.
  if (platform === "win32") {
    return {
      allowed: false,
      reason:
        "patterns of permissions.shell can't be checked on Windows, where commands are read by PowerShell; only shell: true without denials allows them there",
    };
  }
  const reading = readShell(line);
  if (reading.kind === "opaque") {
    return {
      allowed: false,
      reason: `the command can't be checked against the patterns of permissions.shell: ${reading.reason}. Use plain commands`,
    };
  }
  if (allow !== true && reading.background) {
    return {
      allowed: false,
      reason: "where patterns allow commands, none may run in the background (&)",
    };
  }
  for (const command of reading.commands) {
    const denied = deny.find((pattern) => mentions(command, pattern));
    if (denied !== undefined) {
      return { allowed: false, reason: `"${command.join(" ")}" is denied by "!${denied}"` };
    }
    if (allow !== true && !allow.some((pattern) => matches(command, pattern))) {
      return { allowed: false, reason: unmatched(command, allow) };
    }
  }
  return { allowed: true };
}

function unmatched(command: readonly string[], allow: readonly string[]): string {
  const [hazard] = hazardsOf(command);
  const why =
    hazard === undefined
      ? `"${command.join(" ")}" matches no pattern of permissions.shell`
      : `"${command.join(" ")}" has ${command[hazard]}, which can run programs, or write or read other files, and no pattern of permissions.shell names it`;
  return `${why}. Allowed: ${allow.length === 0 ? "nothing" : allow.map((p) => `"${p}"`).join(", ")}`;
}

/** Whether the pattern allows exactly this command. */
export function matches(command: readonly string[], pattern: string): boolean {
  const words = pattern.trim().split(/\s+/);
  const open = words.length > 1 && words.at(-1) === "*";
  const fixed = open ? words.slice(0, -1) : words;
  // `*` alone: every command, with every argument. Who writes that has switched the check off.
  if (words.length === 1 && words[0] === "*") return true;
  if (open ? command.length < fixed.length : command.length !== fixed.length) return false;
  if (!fixed.every((word, index) => wordMatches(command[index] ?? "", word))) return false;
  // What turns a harmless command into a dangerous one is allowed only by name.
  const named = hazardsNamedBy(fixed);
  return [...hazardsOf(command)].every((index) => named.has(index));
}

/**
 * Whether the command, or a command inside one of its arguments (`env rm x`, `sh -c "rm x"`), is what the
 * pattern denies. Best effort: a shell that is otherwise open can't be fenced in by names.
 */
function mentions(command: readonly string[], pattern: string): boolean {
  for (let start = 0; start < command.length; start += 1) {
    const rest = command.slice(start);
    const name = rest[0] ?? "";
    if (plainMatches(rest, pattern)) return true;
    if (plainMatches([baseName(name), ...rest.slice(1)], pattern)) return true;
    if (start > 0 && /[\s;|&]/.test(name)) {
      const inner = readShell(name);
      if (inner.kind === "opaque") {
        // A text with a blank in it is often just a text; one that only a shell can read may be a script.
        if (isInterpreter(command[0] ?? "")) return true;
      } else if (inner.commands.some((one) => mentions(one, pattern))) return true;
    }
  }
  return false;
}

/** A deny pattern also matches with more arguments than it names. */
function plainMatches(command: readonly string[], pattern: string): boolean {
  const words = pattern.trim().split(/\s+/);
  const fixed = words.at(-1) === "*" ? words.slice(0, -1) : words;
  if (command.length < fixed.length) return false;
  return fixed.every((word, index) => wordMatches(command[index] ?? "", word, true));
}

function isInterpreter(name: string): boolean {
  return /(?:^|\/)(?:ba|da|z|k|c|tc|fi)?sh$|(?:^|\/)(?:eval|env|sudo|xargs|find|python[\d.]*|node|perl|ruby)$/.test(
    name,
  );
}

function wordMatches(word: string, pattern: string, anyCase = false): boolean {
  return anyCase
    ? wildcardMatches(word.toLowerCase(), pattern.toLowerCase())
    : wildcardMatches(word, pattern);
}

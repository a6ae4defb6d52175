/**
 * Where in a command `{{NAME}}` stands, so that its value gets there as one word, whatever it contains: in
 * `"{{NAME}}"`, a value in single quotes alone would be run.
 *
 * Reads as much of the language of the shell as that takes. Where that isn't enough to be certain (here-documents,
 * arithmetic, `${…}`, backquotes, comments), only a plain word is inserted.
 */

export type Place =
  /** Outside of quotes. */
  | "word"
  | "double"
  | "single"
  /** `$'…'`. */
  | "escaped"
  /** Only a plain word is safe. */
  | "plain";

/** As one word of a shell: whatever it contains, it is never run. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;
}

/** What to insert at this place of a command; undefined if no quotes are safe there. */
export function quotedAt(place: Place, value: string): string | undefined {
  const quoted = shellQuoted(value);
  switch (place) {
    case "word":
      return quoted;
    case "double":
      return `"${quoted}"`;
    case "single":
      return `'${quoted}'`;
    case "escaped":
      return `'${quoted}$'`;
    case "plain":
      return /^[\w@%+=:,./-]*$/.test(value) ? value : undefined;
  }
}

/** The place of each `{{` in a command, by its offset. */
export function placesIn(command: string): ReadonlyMap<number, Place> {
  const places = new Map<number, Place>();
  /** Double quotes, and commands with the number of their open parentheses, from the outside to the inside. */
  const levels: ("double" | { parentheses: number; hasCase: boolean })[] = [
    { parentheses: 0, hasCase: false },
  ];
  let at = 0;
  const skip = (length: number, place: Place): void => {
    for (const end = at + length; at < end; at += 1)
      if (command.startsWith("{{", at)) places.set(at, place);
  };
  const match = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.exec(command)?.[0].length ?? 0;
  };
  const rest = (place: Place): void => skip(command.length - at, place);
  while (at < command.length) {
    const level = levels.at(-1) ?? "double";
    const isDouble = level === "double";
    const sign = command.charAt(at);
    if (sign === "\\") skip(2, "plain");
    else if (sign === '"') {
      if (isDouble) levels.pop();
      else levels.push("double");
      at += 1;
    } else if (
      sign === "`" ||
      command.startsWith("${", at) ||
      /^\$(?:\(\(|\[)/.test(command.slice(at, at + 3))
    ) {
      // Quotes mean something else in there: what isn't simple makes everything after it uncertain.
      const simple = match(/`[^'"`\\]*`|\$\{[^'"`\\{}]*\}|\$\(\([^'"`\\()]*\)\)/y);
      if (simple === 0) rest("plain");
      else skip(simple, "plain");
    } else if (command.startsWith("$(", at)) {
      levels.push({ parentheses: 0, hasCase: false });
      at += 2;
    } else if (isDouble) skip(1, "double");
    else if (command.startsWith("$'", at)) {
      const length = match(/\$'(?:[^\\']|\\[^])*'/y);
      if (length === 0) rest("plain");
      else skip(length, "escaped");
    } else if (sign === "'") skip(match(/'[^']*'/y) || command.length, "single");
    else if (sign === "#" && /^$|[\s;&|()<>]/.test(command.charAt(at - 1))) {
      skip(match(/[^\n]*/y), "plain");
    } else if (command.startsWith("<<<", at)) at += 3;
    // Where they end is not read.
    else if (command.startsWith("<<", at) || command.startsWith("((", at)) rest("plain");
    else if (sign === "(") {
      level.parentheses += 1;
      at += 1;
    } else if (sign === ")") {
      if (level.parentheses > 0) level.parentheses -= 1;
      // The end of a pattern, or of the substitution?
      else if (levels.length > 1 && level.hasCase) rest("plain");
      else if (levels.length > 1) levels.pop();
      at += 1;
    } else {
      const word = match(/\w+/y);
      if (command.slice(at, at + word) === "case") level.hasCase = true;
      skip(word || 1, "word");
    }
  }
  return places;
}

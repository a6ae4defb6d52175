/** Texts against patterns with `*`. Pure, and never worse than the length of the text times that of the pattern. */

/** `*` matches any characters, including none. Everything else is literal. */
export function wildcardMatches(text: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** Longer than any path. No wildcard matches a part of such a word. */
const maxWord = 4_096;

/**
 * For a word of a command, which may be a path or an option: `*` stands for any characters but `/`, `**`
 * also for those. Neither stands for a part `..`, or for what gives a word another meaning: a leading `-`,
 * `/` or `~`.
 */
export function wordMatches(word: string, pattern: string): boolean {
  if (!pattern.includes("*")) return word === pattern;
  if (word.length > maxWord || !word.startsWith(pattern.slice(0, pattern.indexOf("*")))) {
    return false;
  }
  if (pattern.startsWith("*") && /^[-/~]/.test(word)) return false;
  if (/(?:^|[/=:,@])\.\.(?:\/|$)/.test(word.slice(fixedFolder(pattern).length))) return false;
  return pathMatches(word, pattern);
}

/** The part of a pattern before its first wildcard, up to the last slash. */
export function fixedFolder(pattern: string): string {
  const star = pattern.indexOf("*");
  const fixed = star === -1 ? pattern : pattern.slice(0, star);
  return fixed.slice(0, fixed.lastIndexOf("/") + 1);
}

function pathMatches(word: string, pattern: string): boolean {
  const tokens = pattern.replace(/\*{2,}/g, "\0").split("");
  // reached[i]: the first i tokens match what has been read of the word so far.
  let reached = new Uint8Array(tokens.length + 1);
  reached[0] = 1;
  skipStars(reached, tokens);
  for (const char of word.split("")) {
    const next = new Uint8Array(tokens.length + 1);
    tokens.forEach((token, index) => {
      if (reached[index] !== 1) return;
      if (token === "\0" || (token === "*" && char !== "/")) next[index] = 1;
      else if (token === char) next[index + 1] = 1;
    });
    skipStars(next, tokens);
    reached = next;
  }
  return reached[tokens.length] === 1;
}

/** A wildcard may match nothing. */
function skipStars(reached: Uint8Array, tokens: readonly string[]): void {
  tokens.forEach((token, index) => {
    if (reached[index] === 1 && (token === "*" || token === "\0")) reached[index + 1] = 1;
  });
}

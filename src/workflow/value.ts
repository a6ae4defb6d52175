/** Values as an author writes them: quoted constants, names, prompts, and `{{NAME}}` in texts. */

/** Between two quotes of one kind. */
export function isQuoted(text: string): boolean {
  const quote = text.charAt(0);
  return text.length >= 2 && (quote === "'" || quote === '"') && text.endsWith(quote);
}

export function unquote(text: string): string {
  return isQuoted(text) ? text.slice(1, -1) : text;
}

/** The name of a variable or a parameter. */
export const namePattern = /^[A-Za-z_]\w{0,99}$/;

export type PromptRole = "system" | "user" | "assistant";

export const roles: Readonly<Record<string, PromptRole>> = {
  System: "system",
  User: "user",
  Assistant: "assistant",
};

/** Of the id of a prompt, which begins with it. */
export function roleOf(id: string): PromptRole | undefined {
  const [word = ""] = /^[A-Za-z]+(?=\s|$)/.exec(id) ?? [];
  return Object.hasOwn(roles, word) ? roles[word] : undefined;
}

/** The name of a prompt is a heading, in which a line break of a label is a space. */
export function oneLineName(text: string): string {
  return roleOf(text) === undefined ? text : text.replace(/\s+/g, " ");
}

const placeholder = /\{\{([A-Za-z_]\w{0,99})\}\}/g;

/** No text grows beyond it: `A={{A}}{{A}}` would double it each time. */
const longestText = 10_000_000;

/**
 * The text with the values of its `{{NAME}}`, in one pass: what is inserted is not expanded again. A name without a
 * value stays as it is and is returned.
 */
export function substitute(
  text: string,
  valueOf: (name: string, offset: number) => string | undefined,
): { readonly text: string; readonly missing: readonly string[] } | "too-long" {
  const missing = new Set<string>();
  const parts: string[] = [];
  let length = 0;
  let at = 0;
  const add = (part: string): void => {
    parts.push(part);
    length += part.length;
  };
  for (const found of text.matchAll(placeholder)) {
    const [whole, name = ""] = found;
    const value = valueOf(name, found.index);
    if (value === undefined) missing.add(name);
    add(text.slice(at, found.index));
    add(value ?? whole);
    if (length > longestText) return "too-long";
    at = found.index + whole.length;
  }
  add(text.slice(at));
  return length > longestText ? "too-long" : { text: parts.join(""), missing: [...missing] };
}

/** The names in a text, with their offsets. */
export function* placeholders(
  text: string,
): Iterable<{ readonly name: string; readonly offset: number }> {
  for (const found of text.matchAll(placeholder)) {
    const [, name = ""] = found;
    yield { name, offset: found.index };
  }
}

/** As one word of a shell: whatever it contains, it is never run. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;
}

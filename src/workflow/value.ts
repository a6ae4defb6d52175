/** Values as an author writes them: quoted constants, names, prompts, and `{{NAME}}` in texts. */

export function isQuoted(text: string): boolean {
  const quote = text.charAt(0);
  return text.length >= 2 && (quote === "'" || quote === '"') && text.endsWith(quote);
}

export function unquote(text: string): string {
  return isQuoted(text) ? text.slice(1, -1) : text;
}

export const namePattern = /^[A-Za-z_]\w{0,99}$/;

export type PromptRole = "system" | "user" | "assistant";

export const roles: Readonly<Record<string, PromptRole>> = {
  System: "system",
  User: "user",
  Assistant: "assistant",
};

/** The id of a prompt begins with its role. */
export function roleOf(id: string): PromptRole | undefined {
  const [word = ""] = /^[A-Za-z]+(?=\s|$)/.exec(id) ?? [];
  return Object.hasOwn(roles, word) ? roles[word] : undefined;
}

/** The name of a prompt is a heading, in which a line break of a label is a space. */
export function oneLineName(text: string): string {
  return roleOf(text) === undefined ? text : text.replace(/\s+/g, " ");
}

const placeholder = /\{\{([A-Za-z_]\w{0,99})\}\}/g;

/** In one pass: what is inserted is not expanded again. A name without a value stays as it is and is returned. */
export function substitute(
  text: string,
  valueOf: (name: string, offset: number) => string | undefined,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  const filled = text.replace(placeholder, (whole, name: string, offset: number) => {
    const value = valueOf(name, offset);
    if (value === undefined) missing.add(name);
    return value ?? whole;
  });
  return { text: filled, missing: [...missing] };
}

export function* placeholders(
  text: string,
): Iterable<{ readonly name: string; readonly offset: number }> {
  for (const found of text.matchAll(placeholder)) {
    const [, name = ""] = found;
    yield { name, offset: found.index };
  }
}

/** Quotes a text as one word of a shell: nothing in it is run. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", "'\\''")}'`;
}

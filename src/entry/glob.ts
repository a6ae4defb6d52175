/**
 * The globs of `permissions.read` and `permissions.write`. Not a regular expression on purpose: the glob comes from an
 * entry, the path from a model, and `*a*a*a*b` must not take seconds. Matching takes time in proportion to the path.
 */

export interface Glob {
  readonly text: string;
  readonly parts: readonly Part[];
}

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "folders" }
  | { readonly kind: "pattern"; readonly tokens: readonly Token[] };

type Token = { readonly kind: "any" } | { readonly kind: "char"; readonly char: string } | Fitting;

interface Fitting {
  readonly kind: "fitting";
  readonly fits: (char: string, anyCase: boolean) => boolean;
}

const longest = 1_000;
const mostAlternatives = 100;

export function readGlob(glob: string): readonly Glob[] | string {
  const known = read.get(glob);
  if (known !== undefined) return known;
  if (read.size >= mostRemembered) read.clear();
  const fresh = parseGlob(glob);
  read.set(glob, fresh);
  return fresh;
}

/** Rules are asked for every file of a folder. */
const read = new Map<string, readonly Glob[] | string>();
const mostRemembered = 1_000;

function parseGlob(glob: string): readonly Glob[] | string {
  if (glob === "") return "a glob must not be empty";
  if (glob.length > longest) return `a glob must not be longer than ${longest} characters`;
  try {
    return expand(glob).map(readPattern);
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
}

class Unreadable extends Error {}

/** `{a,b}c` → `ac`, `bc`. Braces without a comma are plain characters. */
function expand(glob: string): readonly string[] {
  let done: readonly string[] = [""];
  const add = (texts: readonly string[]): void => {
    if (done.length * texts.length > mostAlternatives) {
      throw new Unreadable(`it expands to more than ${mostAlternatives} patterns`);
    }
    done = done.flatMap((before) => texts.map((text) => before + text));
  };
  for (let at = 0; at < glob.length;) {
    const char = glob[at] ?? "";
    if (char === "{") {
      const { end, choices } = readBraces(glob, at);
      if (choices !== undefined) {
        add(choices.flatMap(expand));
        at = end;
        continue;
      }
    }
    const length = char === "\\" ? 2 : char === "[" ? setLength(glob, at) : 1;
    add([glob.slice(at, at + length)]);
    at += length;
  }
  return done;
}

function readBraces(
  glob: string,
  start: number,
): { readonly end: number; readonly choices: readonly string[] | undefined } {
  const choices: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < glob.length; at += 1) {
    const char = glob[at];
    if (char === "\\") at += 1;
    else if (char === "[") at += setLength(glob, at) - 1;
    else if (char === "{") depth += 1;
    else if (char === "," && depth === 1) {
      choices.push(glob.slice(from, at));
      from = at + 1;
    } else if (char === "}") {
      depth -= 1;
      if (depth > 0) continue;
      const last = glob.slice(from, at);
      if (choices.length === 0 && /^(?:-?\d+|[a-z])\.\.(?:-?\d+|[a-z])/i.test(last)) {
        throw new Unreadable("ranges in braces are not supported: write {1,2,3}");
      }
      return { end: at + 1, choices: choices.length === 0 ? undefined : [...choices, last] };
    }
  }
  return { end: start, choices: undefined };
}

function readPattern(text: string): Glob {
  const parts: Part[] = [];
  // A folder means all that is in it.
  const whole = `${text.replace(/^(?:\.\/)+(?=.)/, "")}${text.endsWith("/") ? "**" : ""}`;
  for (const part of splitParts(whole)) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.some(({ kind }) => kind !== "text")) {
      throw new Unreadable(".. after a wildcard is ambiguous");
    }
    if (part !== "**") parts.push(readPart(part));
    else if (parts.at(-1)?.kind !== "folders") parts.push({ kind: "folders" });
  }
  return { text: whole, parts };
}

function splitParts(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "/") {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}

function readPart(part: string): Part {
  const tokens: Token[] = [];
  for (let at = 0; at < part.length; at += 1) {
    const char = part[at] ?? "";
    if (part[at + 1] === "(" && "!@+?*".includes(char)) {
      throw new Unreadable(
        `extended globs such as ${char}(…) are not supported: write \\( for a parenthesis`,
      );
    }
    if (char === "*") {
      if (tokens.at(-1)?.kind !== "any") tokens.push({ kind: "any" });
    } else if (char === "?") tokens.push({ kind: "fitting", fits: () => true });
    else if (char === "[" && setLength(part, at) > 1) {
      const length = setLength(part, at);
      tokens.push({ kind: "fitting", fits: readSet(part.slice(at + 1, at + length - 1)) });
      at += length - 1;
    } else {
      if (char === "\\" && at + 1 < part.length) at += 1;
      tokens.push({ kind: "char", char: part[at] ?? "" });
    }
  }
  const chars = tokens.flatMap((token) => (token.kind === "char" ? [token.char] : []));
  return chars.length === tokens.length
    ? { kind: "text", text: chars.join("") }
    : { kind: "pattern", tokens };
}

/** From `[` to `]`; 1 if it is a plain character. */
function setLength(glob: string, start: number): number {
  let at = start + 1;
  if (glob[at] === "!" || glob[at] === "^") at += 1;
  if (glob[at] === "]") at += 1;
  for (; at < glob.length && glob[at] !== "/"; at += 1) {
    if (glob.startsWith("[:", at))
      throw new Unreadable("character classes such as [:alpha:] are not supported");
    if (glob[at] === "\\") at += 1;
    else if (glob[at] === "]") return at + 1 - start;
  }
  return 1;
}

function readSet(content: string): Fitting["fits"] {
  const not = /^[!^]/.test(content);
  const chars = [...(not ? content.slice(1) : content).matchAll(/\\(.)|(.)/gs)].map(
    ([, escaped, plain]) => ({ char: escaped ?? plain ?? "", escaped: escaped !== undefined }),
  );
  const ranges: [string, string][] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const from = chars[at]?.char ?? "";
    const dash = chars[at + 1];
    const to = chars[at + 2];
    if (dash?.char === "-" && !dash.escaped && to !== undefined) {
      ranges.push([from, to.char]);
      at += 2;
    } else ranges.push([from, from]);
  }
  return (char, anyCase) => {
    const forms = anyCase ? [char, char.toLowerCase(), char.toUpperCase()] : [char];
    return ranges.some(([from, to]) => forms.some((form) => from <= form && form <= to)) !== not;
  };
}

/** With globs that begin with `!` only, all other paths match. Invalid globs match nothing. */
export function isAmong(globs: readonly string[], path: string): boolean {
  const names = path.split("/");
  const matches = (glob: string): boolean => {
    const patterns = readGlob(glob);
    return (
      typeof patterns !== "string" && patterns.some(({ parts }) => partsMatch(parts, names, false))
    );
  };
  const wanted = globs.filter((glob) => !glob.startsWith("!"));
  return (
    (wanted.length === 0 || wanted.some(matches)) &&
    !globs.some((glob) => glob.startsWith("!") && matches(glob.slice(1)))
  );
}

export function partsMatch(
  parts: readonly Part[],
  names: readonly string[],
  anyCase: boolean,
): boolean {
  return sequenceMatches(
    parts,
    names,
    (part) => part.kind === "folders",
    (part, name) => part.kind !== "folders" && nameMatches(part, name, anyCase),
  );
}

function nameMatches(
  part: Exclude<Part, { kind: "folders" }>,
  name: string,
  anyCase: boolean,
): boolean {
  if (part.kind === "text") return same(name, part.text, anyCase);
  return sequenceMatches(
    part.tokens,
    name.split(""),
    ({ kind }) => kind === "any",
    (token, char) => {
      if (token.kind === "fitting") return token.fits(char, anyCase);
      return token.kind === "char" && same(char, token.char, anyCase);
    },
  );
}

function same(a: string, b: string, anyCase: boolean): boolean {
  return a === b || (anyCase && a.toLowerCase() === b.toLowerCase());
}

/** The usual matcher of wildcards: after a mismatch only the last wildcard takes one more. */
function sequenceMatches<P, T>(
  pattern: readonly P[],
  texts: readonly T[],
  isMany: (one: P) => boolean,
  isOne: (one: P, text: T) => boolean,
): boolean {
  let at = 0;
  let many: { readonly pattern: number; text: number } | undefined;
  for (let index = 0; index < texts.length;) {
    const one = pattern[at];
    const text = texts[index];
    if (one !== undefined && isMany(one)) {
      at += 1;
      many = { pattern: at, text: index };
    } else if (one !== undefined && text !== undefined && isOne(one, text)) {
      at += 1;
      index += 1;
    } else if (many !== undefined) {
      many.text += 1;
      index = many.text;
      at = many.pattern;
    } else return false;
  }
  return pattern.slice(at).every((one) => isMany(one));
}

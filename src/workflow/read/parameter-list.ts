/** `PARAMS`: `REPO_URL, USER_NAME=guest`, separated by commas or line breaks; values may be quoted. */

export interface ReadParameter {
  readonly name: string;
  readonly default?: string;
  readonly offset: number;
}

export interface ReadParameters {
  readonly parameters: readonly ReadParameter[];
  readonly faults: readonly {
    readonly offset: number;
    readonly reason: string;
    readonly hint?: string;
  }[];
}

export function parseParameters(text: string): ReadParameters {
  const parameters: ReadParameter[] = [];
  const faults: { offset: number; reason: string; hint?: string }[] = [];
  let at = 0;
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  for (;;) {
    skip(/(?:[\s,]|\\n)*/y);
    if (at >= text.length) return { parameters, faults };
    const offset = at;
    const name = skip(/[A-Za-z_]\w*/y);
    skip(/[ \t]*/y);
    const sign = text.charAt(at);
    const isEnd = /^[,\n]?$/.test(sign) || text.startsWith("\\n", at);
    if (name === "" || name.length > 100 || !(isEnd || sign === "=")) {
      const rest = skip(/(?:(?!\\n)[^,\n])*/y);
      const found = JSON.stringify(text.slice(offset, at).trim().slice(0, 40) || sign);
      const reason = `${found} is not a parameter.`;
      faults.push({ offset, reason, hint: "write NAME or NAME=value, separated by commas" });
      if (rest === "") at += 1;
      continue;
    }
    if (isEnd) {
      parameters.push({ name, offset });
      continue;
    }
    at += 1;
    skip(/[ \t]*/y);
    parameters.push({ name, default: value(), offset });
  }

  function value(): string {
    const quote = text.charAt(at);
    // A quote belongs to the value if something else than the next parameter follows the second one.
    if (quote === "'" || quote === '"') {
      const end = text.indexOf(quote, at + 1);
      const quoted = /[ \t]*(?:$|[,\n]|\\n)/y;
      quoted.lastIndex = end + 1;
      if (end !== -1 && quoted.test(text)) {
        const inner = text.slice(at + 1, end);
        at = end + 1;
        return inner;
      }
    }
    return skip(/(?:(?!\\n)[^,\n])*/y).trim();
  }
}

import type { McpServer } from "../../entry/model.ts";

export type ServerAddress =
  | {
      readonly kind: "program";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "url";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

type Variables = Readonly<Record<string, string>>;

/** In a header it may be a word of several: `Bearer env:NAME`. */
const wholeValue = /^env:(.*)$/gs;
const wordOfHeader = /(?<=^|\s)env:(\S*)/g;

export function variablesOf(declaration: McpServer): readonly string[] {
  const [fields = {}, reference] =
    "command" in declaration ? [declaration.env, wholeValue] : [declaration.headers, wordOfHeader];
  const found = Object.values(fields).flatMap((value) => [...value.matchAll(reference)]);
  return [...new Set(found.map(([, name = ""]) => name))];
}

/** `missing`: a variable that isn't set or is empty, or that the caller hasn't allowed. */
export function addressOf(
  declaration: McpServer,
  variables: Variables,
): ServerAddress | { readonly kind: "incomplete"; readonly missing: string } {
  const missing = variablesOf(declaration).find((name) => valueOf(variables, name) === undefined);
  if (missing !== undefined) return { kind: "incomplete", missing };
  if ("command" in declaration) {
    const { command, args = [], env = {} } = declaration;
    return { kind: "program", command, args, env: filled(env, wholeValue, variables) };
  }
  const { url, headers = {} } = declaration;
  return { kind: "url", url, headers: filled(headers, wordOfHeader, variables) };
}

function filled(fields: Variables, reference: RegExp, variables: Variables): Variables {
  const fill = (text: string): string =>
    text.replaceAll(reference, (all, name: string) => valueOf(variables, name) ?? all);
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fill(text)]));
}

function valueOf(variables: Variables, name: string): string | undefined {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  // A secret that a workflow doesn't have is an empty text.
  return value === "" ? undefined : value;
}

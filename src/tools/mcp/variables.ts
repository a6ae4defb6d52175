/** `env:NAME` in the declaration of an MCP server: the value of a variable that the caller has allowed. Pure. */
import type { McpServer } from "../../entry/model.ts";

/** What is needed to reach a server, with the values of all variables. */
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
const wholeValue = /^env:(.*)$/s;
const wordOfHeader = /(?<=^|\s)env:(\S*)/g;

/** The variables that a declaration names, each once. */
export function variablesOf(declaration: McpServer): readonly string[] {
  const names =
    "command" in declaration
      ? Object.values(declaration.env ?? {}).flatMap((value) => wholeValue.exec(value)?.[1] ?? [])
      : Object.values(declaration.headers ?? {}).flatMap((value) =>
          [...value.matchAll(wordOfHeader)].map(([, name = ""]) => name),
        );
  return [...new Set(names)];
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
    return {
      kind: "program",
      command,
      args,
      env: mapValues(env, (text) => whole(text, variables)),
    };
  }
  const { url, headers = {} } = declaration;
  return { kind: "url", url, headers: mapValues(headers, (text) => inWords(text, variables)) };
}

function whole(text: string, variables: Variables): string {
  const name = wholeValue.exec(text)?.[1];
  return name === undefined ? text : (valueOf(variables, name) ?? text);
}

function inWords(text: string, variables: Variables): string {
  return text.replaceAll(wordOfHeader, (word, name: string) => valueOf(variables, name) ?? word);
}

function valueOf(variables: Variables, name: string): string | undefined {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  // A secret that a workflow doesn't have is an empty text.
  return value === "" ? undefined : value;
}

function mapValues(
  fields: Readonly<Record<string, string>>,
  map: (value: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value)]));
}

import { resolve } from "node:path";
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

/** Another word of a command may be a name that means something else, such as that of a package. */
export const relativePath = /^((?:--?[\w-]+=)?)(\.\.?(?:[\\/].*)?)$/s;

/**
 * `missing`: a variable that isn't set or is empty, or that the caller hasn't allowed. `folder`: what relative paths lead
 * to, of a server that starts elsewhere.
 */
export function addressOf(
  declaration: McpServer,
  variables: Variables,
  folder?: string,
): ServerAddress | { readonly kind: "incomplete"; readonly missing: string } {
  const missing = variablesOf(declaration).find((name) => valueOf(variables, name) === undefined);
  if (missing !== undefined) return { kind: "incomplete", missing };
  if ("command" in declaration) {
    const { command, args = [], env = {} } = declaration;
    const absolute = (word: string): string => {
      const [, option = "", path] = relativePath.exec(word) ?? [];
      return folder === undefined || path === undefined ? word : option + resolve(folder, path);
    };
    return {
      kind: "program",
      command: absolute(command),
      args: args.map(absolute),
      env: filled(env, wholeValue, variables),
    };
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

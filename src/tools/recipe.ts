/** `build.tool.yml`: what a tool needs on the machine on which it runs. Pure. */
import type { Diagnostic } from "../document/diagnostic.ts";
import { readDocument } from "../document/read-document.ts";
import { compileSchema } from "../document/schema-check.ts";
import { object } from "../entry/schema-parts.ts";

export const recipeFile = "build.tool.yml";

export interface Recipe {
  /** An image. Default: `defaultImage`. */
  readonly from?: string;
  /** Of Debian, which `apt-get` installs. */
  readonly packages?: readonly string[];
  /** For `/bin/sh -ec`, one after the other. */
  readonly run?: readonly string[];
  /** For the lines, and for the tool. */
  readonly env?: Readonly<Record<string, string>>;
}

export const defaultImage = "debian:13-slim";

/** A longer line of a Dockerfile is refused by Docker (64 KB), and escaping makes lines longer. */
const longest = 10_000;

const recipeSchema = object(
  {
    from: {
      type: "string",
      pattern: "^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,499}$",
      description: "The name of an image, such as node:24-slim.",
    },
    packages: {
      type: "array",
      maxItems: 500,
      items: {
        type: "string",
        pattern: "^[a-z0-9][a-z0-9+.-]*(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+:~-]+)?$",
      },
      description: "Debian packages.",
    },
    run: {
      type: "array",
      maxItems: 500,
      items: { type: "string", minLength: 1, maxLength: longest, pattern: "^[^\\u0000]*$" },
      description: "Lines for /bin/sh.",
    },
    env: {
      type: "object",
      maxProperties: 500,
      propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
      // A Dockerfile has no way to write a line break in a value.
      additionalProperties: {
        type: "string",
        maxLength: longest,
        pattern: "^[^\\u0000-\\u001f\\u007f]*$",
      },
      description: "Variables of the environment.",
    },
  },
  [],
  { title: "Recipe of a tool" },
);

export type ReadRecipe =
  | { readonly kind: "read"; readonly recipe: Recipe }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

const check = compileSchema<Recipe>(recipeSchema, "recipe");

export function readRecipe(source: string | Uint8Array, file: string): ReadRecipe {
  const read = readDocument(source, { file, format: "yaml" });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  if (check.accepts(value)) return { kind: "read", recipe: value };
  return { kind: "rejected", diagnostics: check.diagnose(value, { file, locate }).map(inWords) };
}

/** What the patterns of the schema mean. */
const meanings: readonly (readonly [field: RegExp, reason: string])[] = [
  [/^recipe\.from$/, "Must be the name of an image, such as node:24-slim."],
  [/^recipe\.packages\[/, "Must be the name of a Debian package, or name=version."],
  [/^recipe\.env\[/, "Must be one line without control characters."],
];

function inWords(diagnostic: Diagnostic): Diagnostic {
  if (!diagnostic.reason.includes("must match pattern")) return diagnostic;
  const meaning = meanings.find(([field]) => field.test(diagnostic.codePath));
  return meaning === undefined ? diagnostic : { ...diagnostic, reason: meaning[1] };
}

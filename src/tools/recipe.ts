import { createHash } from "node:crypto";
import type { Diagnostic } from "../document/diagnostic.ts";
import { readDocument } from "../document/read-document.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { object } from "../entry/schema-parts.ts";

export const recipeFile = "build.tool.yml";

export interface Recipe {
  readonly from?: string;
  readonly packages?: readonly string[];
  readonly run?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const defaultImage = "debian:13-slim";

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

type ReadRecipe =
  | { readonly kind: "read"; readonly recipe: Recipe }
  | { readonly kind: "rejected"; readonly diagnostics: readonly Diagnostic[] };

const check = schemaCheck<Recipe>(recipeSchema, "recipe");

export function readRecipe(source: string | Uint8Array, file: string): ReadRecipe {
  const read = readDocument(source, { file, format: "yaml" });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  if (check.accepts(value)) return { kind: "read", recipe: value };
  return { kind: "rejected", diagnostics: check.diagnose(value, { file, locate }).map(inWords) };
}

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

export function dockerfileOf(recipe: Recipe): string {
  const { from = defaultImage, packages = [], run = [], env = {} } = recipe;
  const lines = [`FROM ${from}`];
  for (const [name, value] of Object.entries(env))
    lines.push(`ENV ${name}="${value.replaceAll(/["\\$]/g, "\\$&")}"`);
  if (packages.length > 0) {
    lines.push(
      "RUN apt-get update \\",
      " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \\",
      `    ${packages.join(" ")} \\`,
      " && rm -rf /var/lib/apt/lists/*",
    );
  }
  for (const line of run) {
    const parts = shell(line).map((part) => JSON.stringify(part));
    lines.push(`RUN [${parts.join(", ")}]`);
  }
  return `${lines.join("\n")}\n`;
}

/** Docker takes the texts of a list literally: no variables, options, continuations or here-documents. */
function shell(line: string): readonly string[] {
  return ["/bin/sh", "-ec", line];
}

export function imageOf(dockerfile: string): string {
  return `agent-jobs-tool:${createHash("sha256").update(dockerfile).digest("hex").slice(0, 32)}`;
}

/** What of a recipe only Docker provides. Undefined: its lines can run here. */
export function needsDocker({ from, packages = [] }: Recipe): string | undefined {
  const needs = [
    ...(from === undefined ? [] : [`the image ${from}`]),
    ...(packages.length === 0 ? [] : [`the packages ${packages.join(", ")}`]),
  ];
  return needs.join(" and ") || undefined;
}

export function commandsOf({ run = [] }: Recipe): readonly (readonly string[])[] {
  return run.map(shell);
}

export function scriptOf(recipe: Recipe): string {
  const variables = Object.entries(recipe.env ?? {});
  const exports = variables.map(([name, value]) => `export ${name}=${singleQuoted(value)}\n`);
  return [...exports, ...commandsOf(recipe).map((command) => `${wordsOf(command)}\n`)].join("");
}

export function wordsOf(command: readonly string[]): string {
  return command.map((text) => (/^[\w./-]+$/.test(text) ? text : singleQuoted(text))).join(" ");
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

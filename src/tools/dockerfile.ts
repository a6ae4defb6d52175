/** A recipe as a Dockerfile, or as commands for a machine without Docker. Pure. */
import { createHash } from "node:crypto";
import { defaultImage, type Recipe } from "./recipe.ts";

/** It needs no files: everything is in its text. */
export function dockerfileOf({
  from = defaultImage,
  packages = [],
  run = [],
  env = {},
}: Recipe): string {
  const lines = [`FROM ${from}`];
  for (const [name, value] of Object.entries(env)) lines.push(`ENV ${name}=${quoted(value)}`);
  if (packages.length > 0) {
    lines.push(
      "RUN apt-get update \\",
      " && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \\",
      `    ${packages.join(" ")} \\`,
      " && rm -rf /var/lib/apt/lists/*",
    );
  }
  for (const line of run) {
    lines.push(
      `RUN [${shell(line)
        .map((part) => JSON.stringify(part))
        .join(", ")}]`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/** In the quotes of `ENV` these three characters mean something. */
function quoted(value: string): string {
  return `"${value.replaceAll(/["\\$]/g, "\\$&")}"`;
}

/**
 * As a list Docker takes each text as it is: no variable is replaced, and nothing in a line is an option, a
 * continuation or the beginning of a here-document.
 */
function shell(line: string): readonly string[] {
  return ["/bin/sh", "-ec", line];
}

/** The name of the image. Other content has another name. */
export function imageOf(dockerfile: string): string {
  return `agent-jobs-tool:${createHash("sha256").update(dockerfile).digest("hex").slice(0, 32)}`;
}

export type PlainCommands =
  | {
      readonly kind: "commands";
      readonly env: Readonly<Record<string, string>>;
      readonly commands: readonly (readonly string[])[];
    }
  /** `what`: the image and the packages, for texts. */
  | { readonly kind: "needs-docker"; readonly what: string };

export function plainCommandsOf({
  from,
  packages = [],
  run = [],
  env = {},
}: Recipe): PlainCommands {
  const needs = [
    ...(from === undefined ? [] : [`the image ${from}`]),
    ...(packages.length === 0 ? [] : [`the packages ${packages.join(", ")}`]),
  ];
  if (needs.length > 0) return { kind: "needs-docker", what: needs.join(" and ") };
  return { kind: "commands", env, commands: run.map(shell) };
}

/** For people to read or to run. */
export function scriptOf({ env, commands }: Extract<PlainCommands, { kind: "commands" }>): string {
  return [
    ...Object.entries(env).map(([name, value]) => `export ${name}=${singleQuoted(value)}`),
    ...commands.map(wordsOf),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** A command as a line for a shell. */
export function wordsOf(command: readonly string[]): string {
  return command.map(asWord).join(" ");
}

function asWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : singleQuoted(text);
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

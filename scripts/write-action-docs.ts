/**
 * Writes the tables of inputs and outputs in docs/action.md from action.yml: `npm run docs`.
 * With `--check` it writes nothing and fails if they are stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..", "..");
const page = join(root, "docs", "action.md");

interface Declared {
  readonly description: string;
  readonly default?: string;
  readonly required?: boolean;
}

type Table = readonly (readonly string[])[];

const manifest: unknown = parse(await readFile(join(root, "action.yml"), "utf8"));
const tables: Readonly<Record<string, Table>> = {
  inputs: [
    ["input", "default", "meaning"],
    ["---", "---", "---"],
    ...declared("inputs").map(([name, input]) => [
      `\`${name}\``,
      input.required === true ? "**required**" : code(input.default ?? ""),
      input.description,
    ]),
  ],
  outputs: [
    ["output", "meaning"],
    ["---", "---"],
    ...declared("outputs").map(([name, output]) => [`\`${name}\``, output.description]),
  ],
};

const text = await readFile(page, "utf8");
let fresh = text;
for (const [name, table] of Object.entries(tables)) {
  // Not aligned by prettier: one changed description would change every line.
  const [start, end] = [
    `<!-- action ${name}: npm run docs -->\n<!-- prettier-ignore-start -->\n`,
    `<!-- prettier-ignore-end -->\n<!-- /action ${name} -->`,
  ];
  const from = fresh.indexOf(start);
  const to = fresh.indexOf(end, from);
  if (from < 0 || to < 0)
    throw new Error(`docs/action.md has no place for the ${name}:\n${start}${end}`);
  const rows = table.map((cells) => `| ${cells.map(cell).join(" | ")} |\n`).join("");
  fresh = `${fresh.slice(0, from + start.length)}\n${rows}\n${fresh.slice(to)}`;
}
if (!process.argv.includes("--check")) await writeFile(page, fresh);
else if (fresh !== text) {
  console.error("docs/action.md is not what action.yml says. Run: npm run docs");
  process.exitCode = 1;
}

function declared(section: "inputs" | "outputs"): [string, Declared][] {
  const entries = isObject(manifest) ? manifest[section] : undefined;
  if (!isObject(entries)) throw new Error(`action.yml declares no ${section}`);
  return Object.entries(entries).map(([name, value]) => {
    if (!isDeclared(value)) throw new Error(`action.yml: ${section}.${name} has no description`);
    return [name, value];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isDeclared(value: unknown): value is Declared {
  return isObject(value) && typeof value["description"] === "string";
}

function code(value: string): string {
  return value === "" ? "" : `\`${value}\``;
}

function cell(content: string): string {
  return content.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").trim();
}

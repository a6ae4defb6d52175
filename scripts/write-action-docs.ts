/**
 * Writes the inputs of action.yml and the options in docs/cli.md from the table of options, and the tables of
 * docs/action.md from action.yml: `npm run docs`. With `--check` it writes nothing and fails if they are stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { inputTable } from "../src/action/inputs.ts";
import { helpOf, options, type Row } from "../src/cli/options.ts";
import { kebab, type Option } from "../src/run/option-table.ts";
import { isRecord, isText } from "../src/text/guards.ts";

const root = join(import.meta.dirname, "..", "..");

const action = await update("action.yml", (text) =>
  between(text, "\ninputs:\n", "\noutputs:\n", inputsOf(inputTable)),
);
await update("docs/action.md", (text) => {
  const inputs = declared("inputs").map(([name, { description, default: value = "" }]) => [
    `\`${name}\``,
    value === "" ? "" : `\`${value}\``,
    description,
  ]);
  const outputs = declared("outputs").map(([name, { description }]) => [
    `\`${name}\``,
    description,
  ]);
  const withInputs = withTable(text, "inputs", [["input", "default", "meaning"], ...inputs]);
  return withTable(withInputs, "outputs", [["output", "meaning"], ...outputs]);
});

await update("docs/cli.md", (text) => withBlock(text, "options", optionsByGroup(options.run)));

function optionsByGroup(rows: Readonly<Record<string, Row>>): string {
  const groups = new Set(Object.values(rows).map(({ group = "" }) => group));
  return [...groups]
    .map((group) => {
      const all = Object.values(rows).filter((row) => row.group === group);
      const lines = all.map((row) => {
        const more = row.page === undefined ? "" : ` [More](${row.page}).`;
        const variable = row.env === undefined ? "" : ` Or \`${row.env}\`.`;
        return [`\`${row.flag}\``, withValues(row, helpOf(row)) + variable + more];
      });
      return tableOf([[group, "meaning"], ...lines]);
    })
    .join("\n");
}

/** Returns the fresh text. */
async function update(name: string, edit: (text: string) => string): Promise<string> {
  const text = await readFile(join(root, name), "utf8");
  const fresh = edit(text);
  if (!process.argv.includes("--check")) await writeFile(join(root, name), fresh);
  else if (fresh !== text) {
    console.error(`${name} is stale. Run: npm run docs`);
    process.exitCode = 1;
  }
  return fresh;
}

function inputsOf(rows: Readonly<Record<string, Option>>): string {
  return Object.entries(rows)
    .map(([name, row]) => {
      const { preset = row.kind.isFlag === true ? "false" : "", expression = preset } = row;
      return `  ${kebab(name)}:\n    description: >-\n${wrapped(descriptionOf(row))}    default: ${JSON.stringify(expression)}\n`;
    })
    .join("");
}

function descriptionOf({ kind, help, input = help, without, risk }: Option): string {
  return [
    withValues({ kind }, input),
    ...(without?.action === undefined ? [] : [`Default: ${without.action}.`]),
    ...(risk === undefined ? [] : [`Risk: ${risk}`]),
  ].join(" ");
}

/** Puts the values before a text that doesn't list them. */
function withValues({ kind }: Pick<Option, "kind">, text: string): string {
  const values = kind.values?.map((value) => `\`${value}\``) ?? [];
  if (values.every((value) => text.includes(value))) return text;
  const list = `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
  return `${list}: ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

function wrapped(text: string): string {
  return text.replaceAll(/(.{1,90})(?: |$)/g, "      $1\n");
}

function withTable(text: string, name: string, rows: readonly string[][]): string {
  return withBlock(text, `action ${name}`, tableOf(rows));
}

/** Prettier would align the cells, so that one changed description would change every line. */
function withBlock(text: string, name: string, block: string): string {
  const start = `<!-- ${name}: npm run docs -->\n<!-- prettier-ignore-start -->\n`;
  const end = `<!-- prettier-ignore-end -->\n<!-- /${name} -->`;
  return between(text, start, end, `\n${block}\n`);
}

function tableOf([head = [], ...rows]: readonly string[][]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map(cell).join(" | ")} |\n`)
    .join("");
}

function between(text: string, start: string, end: string, body: string): string {
  const from = text.indexOf(start) + start.length;
  const to = text.indexOf(end, from);
  if (from < start.length || to < 0)
    throw new Error(`There is no place between ${start} and ${end}`);
  return text.slice(0, from) + body + text.slice(to);
}

function declared(
  section: "inputs" | "outputs",
): [string, Record<"description", string> & { default?: string }][] {
  const manifest: unknown = parse(action);
  const entries = isRecord(manifest) ? manifest[section] : undefined;
  if (!isRecord(entries)) throw new Error(`action.yml declares no ${section}`);
  return Object.entries(entries).map(([name, value]) => {
    const { description, default: preset } = isRecord(value) ? value : {};
    if (!isText(description)) throw new Error(`action.yml: ${section}.${name} has no description`);
    return [name, { description, ...(isText(preset) && { default: preset }) }];
  });
}

function cell(content: string): string {
  return content.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").trim();
}

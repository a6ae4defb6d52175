/**
 * Writes the action.yml of each action and the tables of docs/action.md from the tables of inputs and outputs, and the
 * options in docs/cli.md from the table of options: `npm run docs`. With `--check` it writes nothing and fails if they
 * are stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { actions, inputName, inputTable, type Mode } from "../src/action/actions.ts";
import { helpOf, options, type Row } from "../src/cli/options.ts";
import { outputTable } from "../src/github/step-outputs.ts";
import type { Option } from "../src/run/option-table.ts";

const root = join(import.meta.dirname, "..", "..");
const rows: Readonly<Record<string, Option>> = inputTable;
const modes: readonly Mode[] = ["run", "plan", "merge", "deliver", "rehearse"];

for (const mode of modes) await update(fileOf(mode), () => actionYml(mode));
await update("docs/action.md", (text) => {
  const main: readonly string[] = actions.run.inputs;
  const tables: Readonly<Record<string, readonly (readonly string[])[]>> = {
    inputs: [["input", "default", "meaning"], ...main.map(inputCells)],
    outputs: [["output", "meaning"], ...actions.run.outputs.map(outputCells)],
    "sister actions": [
      ["action", "what it does", "inputs of its own", "outputs of its own"],
      ...modes.slice(1).map((mode) => [
        `[\`${mode}\`](../${fileOf(mode)})`,
        actions[mode].description,
        ownCells(
          actions[mode].inputs.filter((field) => !main.includes(field)),
          (field) => `\`${inputName(field, rows[field])}\`: ${descriptionOf(rowOf(field))}`,
        ),
        ownCells(
          actions[mode].outputs.filter((name) => !actions.run.outputs.includes(name)),
          (name) => `\`${name}\`: ${outputTable[name]}`,
        ),
      ]),
    ],
  };
  return Object.entries(tables).reduce((page, [name, table]) => withTable(page, name, table), text);
});

await update("docs/cli.md", (text) => withBlock(text, "options", optionsByGroup(options.run)));

function optionsByGroup(described: Readonly<Record<string, Row>>): string {
  const groups = new Set(Object.values(described).map(({ group = "" }) => group));
  return [...groups]
    .map((group) => {
      const all = Object.values(described).filter((row) => row.group === group);
      const lines = all.map((row) => {
        const more = row.page === undefined ? "" : ` [More](${row.page}).`;
        const variable = row.env === undefined ? "" : ` Or \`${row.env}\`.`;
        return [`\`${row.flag}\``, withValues(row, helpOf(row)) + variable + more];
      });
      return tableOf([[group, "meaning"], ...lines]);
    })
    .join("\n");
}

async function update(name: string, edit: (text: string) => string): Promise<void> {
  const text = await readFile(join(root, name), "utf8").catch(() => "");
  const fresh = edit(text);
  if (!process.argv.includes("--check")) await writeFile(join(root, name), fresh);
  else if (fresh !== text) {
    console.error(`${name} is stale. Run: npm run docs`);
    process.exitCode = 1;
  }
}

function fileOf(mode: Mode): string {
  return mode === "run" ? "action.yml" : `${mode}/action.yml`;
}

function actionYml(mode: Mode): string {
  const isMain = mode === "run";
  const { description, inputs, outputs, meanings = {} } = actions[mode];
  const dist = isMain ? "dist/action" : "../dist/action";
  const post = mode === "deliver" ? "" : `  post: ${dist}/post.js\n`;
  return `# Written by \`npm run docs\` from src/action/actions.ts and the table of outputs.
name: ${isMain ? "agent-jobs" : JSON.stringify(`agent-jobs: ${mode}`)}
description: ${JSON.stringify(description)}
author: agent-jobs contributors
branding:
  icon: check-square
  color: purple

inputs:
${inputs.map((field) => inputYml(field, meanings[field])).join("")}
outputs:
${outputs.map((name) => `  ${name}:\n${descriptionYml(outputTable[name])}`).join("")}
runs:
  using: node24
  main: ${dist}/${mode}.js
${post}`;
}

function inputYml(field: string, own: string | undefined): string {
  const row = rowOf(field);
  return `  ${inputName(field, row)}:\n${descriptionYml(own ?? descriptionOf(row))}    default: ${JSON.stringify(defaultOf(row))}\n`;
}

function descriptionYml(text: string): string {
  return `    description: >-\n${text.replaceAll(/(.{1,90})(?: |$)/g, "      $1\n")}`;
}

function rowOf(field: string): Option {
  const row = rows[field];
  if (row === undefined) throw new Error(`There is no input ${field}`);
  return row;
}

function defaultOf({ kind, preset, expression }: Option): string {
  return expression ?? preset ?? (kind.isFlag === true ? "false" : "");
}

function ownCells<T>(names: readonly T[], describe: (name: T) => string): string {
  return names.map(describe).join("<br>");
}

function inputCells(field: string): string[] {
  const row = rowOf(field);
  const value = defaultOf(row);
  return [`\`${inputName(field, row)}\``, value === "" ? "" : `\`${value}\``, descriptionOf(row)];
}

function outputCells(name: keyof typeof outputTable): string[] {
  return [`\`${name}\``, outputTable[name]];
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

function withTable(text: string, name: string, cells: readonly (readonly string[])[]): string {
  return withBlock(text, `action ${name}`, tableOf(cells));
}

/** Prettier would align the cells, so that one changed description would change every line. */
function withBlock(text: string, name: string, block: string): string {
  const start = `<!-- ${name}: npm run docs -->\n<!-- prettier-ignore-start -->\n`;
  const end = `<!-- prettier-ignore-end -->\n<!-- /${name} -->`;
  return between(text, start, end, `\n${block}\n`);
}

function tableOf([head = [], ...others]: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...others]
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

function cell(content: string): string {
  return content.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").trim();
}

/** The action.yml files: what they declare, and that the bundle has what they name. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { actions, inputName, inputTable, type Mode } from "../../src/action/actions.ts";
import type { Option } from "../../src/run/option-table.ts";
import { actionMain } from "../rig/dist.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const rows: Readonly<Record<string, Option>> = inputTable;

interface Declared {
  readonly description: string;
  readonly default?: string;
  readonly required?: boolean;
}

interface Manifest {
  readonly inputs: Readonly<Record<string, Declared>>;
  readonly outputs: Readonly<Record<string, { readonly description: string }>>;
  readonly runs: Readonly<Record<string, string>>;
}

const files: Readonly<Record<Mode, string>> = {
  run: "action.yml",
  plan: "plan/action.yml",
  merge: "merge/action.yml",
  deliver: "deliver/action.yml",
  rehearse: "rehearse/action.yml",
};
const modes = Object.keys(files).filter((name): name is Mode => name in files);

async function manifestOf(mode: Mode): Promise<Manifest> {
  const manifest: unknown = parse(await readFile(join(root, files[mode]), "utf8"));
  assertManifest(manifest);
  return manifest;
}

function assertManifest(value: unknown): asserts value is Manifest {
  const fields = typeof value === "object" && value !== null ? Object.keys(value) : [];
  for (const field of ["inputs", "outputs", "runs"]) assert.ok(fields.includes(field), field);
}

for (const mode of modes) {
  test(`${files[mode]} describes every input, with the values that it may have and one default, and every output`, async () => {
    const { inputs, outputs } = await manifestOf(mode);
    const fields: readonly string[] = actions[mode].inputs;
    assert.deepEqual(
      Object.keys(inputs),
      fields.map((field) => inputName(field, rows[field])),
    );
    for (const field of fields) {
      const { kind } = rows[field] ?? assert.fail(field);
      const declared = inputs[inputName(field, rows[field])];
      const description = declared?.description ?? "";
      assert.ok(description.length > 15, field);
      assert.equal(typeof declared?.default, "string", field);
      const values = kind.isFlag === true ? ["true", "false"] : (kind.values ?? []);
      for (const one of values) assert.ok(description.includes(`\`${one}\``), `${field}: ${one}`);
    }
    assert.deepEqual(Object.keys(outputs), actions[mode].outputs);
    for (const { description } of Object.values(outputs)) assert.ok(description.length > 15);
    // Runners refuse a manifest with an expression outside of a default.
    for (const { description } of [...Object.values(inputs), ...Object.values(outputs)])
      assert.ok(!description.includes("${{"), description);
  });

  test(`${files[mode]} runs on Node 24, from the bundle, and main and post are what the bundle makes`, async () => {
    const { runs } = await manifestOf(mode);
    assert.equal(runs["using"], "node24");
    // An action that starts no agent leaves no processes.
    assert.equal(runs["post"] === undefined, mode === "deliver");
    const own = join(root, dirname(files[mode]));
    const main = join(own, runs["main"] ?? "");
    assert.equal(main, join(root, "dist/action", `${mode}.js`));
    assert.ok(existsSync(actionMain(mode)), actionMain(mode));
    if (runs["post"] !== undefined)
      assert.equal(join(own, runs["post"]), join(root, "dist/action/post.js"));
  });
}

test("the main action has at most 30 inputs and 16 outputs, a sister at most 15 inputs", async () => {
  for (const mode of modes) {
    const { inputs, outputs } = await manifestOf(mode);
    const most = mode === "run" ? 30 : 15;
    assert.ok(Object.keys(inputs).length <= most, `${mode}: ${Object.keys(inputs).length}`);
    assert.ok(Object.keys(outputs).length <= 16);
  }
  const folders = readdirSync(root).filter((name) => existsSync(join(root, name, "action.yml")));
  assert.deepEqual(folders.toSorted(), modes.filter((mode) => mode !== "run").toSorted());
});

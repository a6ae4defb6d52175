import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { outputsWithoutRun } from "../../src/action/github.ts";
import { inputTable } from "../../src/action/inputs.ts";
import { kebab, type Option } from "../../src/run/option-table.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

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

const manifest: unknown = parse(await readFile(`${root}action.yml`, "utf8"));
assertManifest(manifest);

function assertManifest(value: unknown): asserts value is Manifest {
  const fields = typeof value === "object" && value !== null ? Object.keys(value) : [];
  for (const field of ["inputs", "outputs", "runs"]) assert.ok(fields.includes(field), field);
}

test("action.yml describes every input, with the values that it may have and one default", () => {
  for (const [field, { kind }] of Object.entries<Option>(inputTable)) {
    const declared: Declared | undefined = manifest.inputs[kebab(field)];
    const description = declared?.description ?? "";
    assert.ok(description.length > 20, field);
    assert.equal(typeof declared?.default, "string", field);
    const values = kind.isFlag === true ? ["true", "false"] : (kind.values ?? []);
    for (const one of values) assert.ok(description.includes(`\`${one}\``), `${field}: ${one}`);
  }
});

test("action.yml declares just the outputs that are set", () => {
  assert.deepEqual(
    Object.keys(manifest.outputs).sort(),
    Object.keys(outputsWithoutRun("skipped", "")).sort(),
  );
  for (const { description } of Object.values(manifest.outputs)) assert.ok(description.length > 20);
});

test("action.yml runs on Node 24, from the bundle, and main and post are what the bundle makes", async () => {
  const [main, post] = ["dist/action/index.js", "dist/action/post/index.js"];
  assert.deepEqual(manifest.runs, { using: "node24", main, post });
  for (const file of [main, post]) await access(`${root}${file}`);
});

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { permissionPresets } from "../../src/entry/model.ts";
import { providerTypes, wireApis } from "../../src/app/options-provider.ts";
import { outputsWithoutRun } from "../../src/app/github.ts";
import {
  inputTable,
  permissionValues,
  providerTypeValues,
  wireApiValues,
  type InputDeclaration,
} from "../../src/action/input-table.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Manifest {
  readonly inputs: Readonly<Record<string, object>>;
  readonly outputs: Readonly<Record<string, { readonly description: string }>>;
  readonly runs: Readonly<Record<string, string>>;
}

const manifest: unknown = parse(await readFile(`${root}action.yml`, "utf8"));
assertManifest(manifest);

function assertManifest(value: unknown): asserts value is Manifest {
  const fields = typeof value === "object" && value !== null ? Object.keys(value) : [];
  for (const field of ["inputs", "outputs", "runs"]) assert.ok(fields.includes(field), field);
}

test("action.yml declares the inputs of the code, in their order, with their defaults and descriptions", () => {
  const expected = Object.entries<InputDeclaration>(inputTable).map(
    ([name, { description, default: value, required }]) => [
      name,
      required === true ? { description, required } : { description, default: value },
    ],
  );
  assert.deepEqual(Object.entries(manifest.inputs), expected);
});

test("every input is described, and the first of its values is its default", () => {
  for (const [name, declared] of Object.entries<InputDeclaration>(inputTable)) {
    assert.ok(declared.description.length > 20, name);
    const { values } = declared;
    if (values === undefined) continue;
    assert.equal(values[0], declared.default, name);
    for (const value of values)
      assert.match(declared.description, new RegExp(`\`${value}\``), name);
  }
});

test("the values of an input are those that the core knows", () => {
  assert.deepEqual(permissionValues, permissionPresets);
  assert.deepEqual(providerTypeValues, providerTypes);
  assert.deepEqual(wireApiValues, wireApis);
});

test("action.yml declares just the outputs that are set", () => {
  assert.deepEqual(
    Object.keys(manifest.outputs).sort(),
    Object.keys(outputsWithoutRun("skipped", "")).sort(),
  );
  for (const { description } of Object.values(manifest.outputs)) assert.ok(description.length > 20);
});

test("action.yml runs on Node 24, from the bundle, and main and post are what the bundle makes", async () => {
  assert.deepEqual(manifest.runs, {
    using: "node24",
    main: "dist/action/index.js",
    post: "dist/action/post/index.js",
  });
  const bundler = await readFile(`${root}scripts/bundle.mjs`, "utf8");
  for (const folder of ["dist/action", "dist/action/post"]) {
    assert.ok(bundler.includes(`"${folder}"`), folder);
  }
  await access(`${root}src/action/main.ts`);
});

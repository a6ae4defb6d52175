/**
 * Writes what is made from the schemas in the code: the JSON Schemas that editors use, and the compiled check
 * of an entry, which every start would have to compile else. `npm run schema`; with `--check` it writes nothing
 * and fails if one of them is stale.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import standalone from "ajv/dist/standalone/index.js";
import { entrySchema } from "../src/entry/entry-schema.ts";
import { schemaOptions } from "../src/document/schema-check.ts";
import { rehearsalSchema } from "../src/rehearsal/format/rehearsal-schema.ts";

/** As a module that needs nothing else; it says yes or no only. `unicode` would bring a helper to count with. */
function compiled(schema: object): string {
  const ajv = new Ajv2020({
    ...schemaOptions,
    allErrors: false,
    verbose: false,
    messages: false,
    unicode: false,
    inlineRefs: true,
    code: { source: true, esm: true, optimize: 2 },
  });
  const code = standalone.default(ajv, ajv.compile(schema));
  if (code.includes("require(")) throw new Error("The compiled check needs a module.");
  return `// @ts-nocheck -- written by scripts/write-schema.ts: npm run schema\n${code}\n`;
}

const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`;
const files: readonly { readonly file: string; readonly text: string }[] = [
  { file: "schema/entry.schema.json", text: json(entrySchema) },
  { file: "schema/rehearsal.schema.json", text: json(rehearsalSchema) },
  { file: "src/entry/schema-accepts.generated.ts", text: compiled(entrySchema) },
];

const root = join(import.meta.dirname, "..", "..");
const check = process.argv.includes("--check");
const stale: string[] = [];
for (const { file, text } of files) {
  const path = join(root, file);
  if (check) {
    if ((await readFile(path, "utf8").catch(() => "")) !== text) stale.push(file);
  } else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
if (stale.length > 0) {
  console.error(`Stale: ${stale.join(", ")}. Run: npm run schema`);
  process.exitCode = 1;
}

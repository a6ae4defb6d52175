/**
 * Writes the JSON Schemas that editors use, from the schemas in the code: `npm run docs`. With `--check` it
 * writes nothing and fails if one of them is stale.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { entrySchema } from "../src/entry/entry-schema.ts";
import { evalSchema } from "../src/evals/eval-schema.ts";
import { messageSchema } from "../src/protocol/read-message.ts";
import { rehearsalSchema } from "../src/rehearsal/format/rehearsal-schema.ts";

const schemas = {
  "entry.schema.json": entrySchema,
  "action-protocol.schema.json": messageSchema,
  "rehearsal.schema.json": rehearsalSchema,
  "eval.schema.json": evalSchema,
};
const folder = join(import.meta.dirname, "..", "..", "schema");
for (const [name, schema] of Object.entries(schemas)) {
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  const file = join(folder, name);
  if (!process.argv.includes("--check")) await writeFile(file, text);
  else if ((await readFile(file, "utf8").catch(() => "")) !== text) {
    console.error(`schema/${name} is stale. Run: npm run docs`);
    process.exitCode = 1;
  }
}

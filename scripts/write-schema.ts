/**
 * Writes the JSON Schemas that editors use, from their sources in the code:
 * `npm run schema`. With `--check` it writes nothing and fails if one of them is stale.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { entrySchema } from "../src/entry/schema.ts";
import { rehearsalSchema } from "../src/rehearsal/schema.ts";

const schemas: readonly { readonly file: string; readonly schema: object }[] = [
  { file: "schema/entry.schema.json", schema: entrySchema },
  { file: "schema/rehearsal.schema.json", schema: rehearsalSchema },
];

const root = join(import.meta.dirname, "..", "..");
const check = process.argv.includes("--check");
const stale: string[] = [];
for (const { file, schema } of schemas) {
  const path = join(root, file);
  const text = `${JSON.stringify(schema, null, 2)}\n`;
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

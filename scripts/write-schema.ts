/**
 * Writes the JSON Schemas that editors use, from the schemas in the code: `npm run schema`. With `--check` it
 * writes nothing and fails if one of them is stale.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { entrySchema } from "../src/entry/entry-schema.ts";
import { evalSchema } from "../src/evals/eval-schema.ts";
import { messageSchema } from "../src/protocol/message-schema.ts";
import { rehearsalSchema } from "../src/rehearsal/format/rehearsal-schema.ts";

const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`;
const files: readonly { readonly file: string; readonly text: string }[] = [
  { file: "schema/entry.schema.json", text: json(entrySchema) },
  { file: "schema/action-protocol.schema.json", text: json(messageSchema) },
  { file: "schema/rehearsal.schema.json", text: json(rehearsalSchema) },
  { file: "schema/eval.schema.json", text: json(evalSchema) },
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

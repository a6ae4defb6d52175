import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

/** Makes the journal of a rehearsal what a model would have left: nothing but the mark differs. Returns its digest. */
export async function asReal(file: string): Promise<string> {
  const rehearsed = await readFile(file, "utf8");
  const text = rehearsed.replace(',"rehearsed":true', "");
  assert.notEqual(text, rehearsed);
  await writeFile(file, text);
  return createHash("sha256").update(text).digest("hex");
}

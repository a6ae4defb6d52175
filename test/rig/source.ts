/** The source as text, for tests that something is done in one place only. */
import { readdirSync, readFileSync } from "node:fs";

const root = new URL("../../../src/", import.meta.url);

/** By the path in `src/`, with `/`. Without what the build generates. */
export const sourceTexts: ReadonlyMap<string, string> = new Map(
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts") && !file.startsWith("generated/"))
    .sort()
    .map((file) => [file, readFileSync(new URL(file, root), "utf8")]),
);

/** The files in which a pattern matches. */
export function sourceFilesWith(pattern: RegExp): string[] {
  return [...sourceTexts].flatMap(([file, text]) => (pattern.test(text) ? [file] : []));
}

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { PageFiles } from "./html.ts";

/** The texts of the page, as the build left them. */
export async function readPageFiles(): Promise<PageFiles> {
  const read = (name: string): Promise<string> =>
    readFile(fileURLToPath(new URL(`../../web/${name}`, import.meta.url)), "utf8");
  const [script, style] = await Promise.all([read("page.js"), read("page.css")]);
  return { script, style };
}

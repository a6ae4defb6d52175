/** Hooks that load TypeScript where Node can't (before 22.18). Bundled by scripts/generate.mjs. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { LoadHook } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "sucrase";

const load: LoadHook = async (url, context, nextLoad) => {
  const [, extension] = /^file:.*(\.[mc]?ts)(?:[?#]|$)/.exec(url) ?? [];
  if (extension === undefined || url.includes("/node_modules/")) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const { code } = transform(await readFile(path, "utf8"), {
    transforms: ["typescript"],
    disableESTransforms: true,
    keepUnusedImports: true,
    filePath: path,
  });
  return { format: formatOf(path, extension, code), source: code, shortCircuit: true };
};

function formatOf(path: string, extension: string, code: string): "module" | "commonjs" {
  if (extension === ".mts") return "module";
  if (extension === ".cts") return "commonjs";
  const type = packageType(dirname(path));
  if (type !== undefined) return type;
  return /^[^\S\n]*(?:import|export)\b/m.test(code) || /\bimport\.meta\b/.test(code)
    ? "module"
    : "commonjs";
}

function packageType(folder: string): "module" | "commonjs" | undefined {
  const file = join(folder, "package.json");
  if (existsSync(file)) {
    const { type }: { type?: unknown } = JSON.parse(readFileSync(file, "utf8"));
    return type === "module" || type === "commonjs" ? type : undefined;
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : packageType(parent);
}

// For Node, which finds it by this name.
export { load };

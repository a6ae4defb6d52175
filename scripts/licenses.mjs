// The packages in what esbuild has made, with their licenses.
import fs from "node:fs";
import { join } from "node:path";

/** Folder of each package → its bytes in the outputs. Of the project's own files: "". */
export function packagesIn({ outputs }) {
  const sizes = new Map();
  for (const { inputs } of Object.values(outputs))
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "";
      sizes.set(folder, (sizes.get(folder) ?? 0) + bytesInOutput);
    }
  return sizes;
}

/** `folders`: of packages, relative to `root`. */
export function licensesOf(root, folders) {
  return [...new Set(folders)]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = JSON.parse(
        fs.readFileSync(join(root, folder, "package.json"), "utf8"),
      );
      const file = fs.readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? "" : fs.readFileSync(join(root, folder, file), "utf8");
      return `${name} ${version} (${license ?? "see its package"})\n\n${text.replaceAll("\r", "").trim()}\n`;
    })
    .join("\n----\n\n");
}

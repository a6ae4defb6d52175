// The packages in what esbuild has made, with their licenses.
import fs from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The folders of the packages in a bundle, relative to the root. */
export function packagesIn({ outputs }) {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) =>
      bytesInOutput > 0 ? (/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []) : [],
    ),
  );
}

export function licensesOf(folders) {
  return [...new Set(folders)]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const path = `${root}${folder}`;
      const { name, version, license } = JSON.parse(
        fs.readFileSync(`${path}/package.json`, "utf8"),
      );
      const file = fs.readdirSync(path).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? "" : fs.readFileSync(`${path}/${file}`, "utf8");
      return `${name} ${version} (${license ?? "see its package"})\n\n${text.replaceAll("\r", "").trim()}\n`;
    })
    .join("\n----\n\n");
}

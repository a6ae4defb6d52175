/** The order of rooms in docs/internals/design.md, and the rules of CONTRIBUTING.md about `process.env` and the length of files. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** Room → the packages that it may import, beside itself and the rooms before it. */
const packages: Readonly<Record<string, string>> = {
  generated: "",
  text: "fast-string-width",
  document: "ajv jsonc-parser markdown-it re2js yaml",
  platform: "",
  sandbox: "",
  entry: "",
  events: "",
  git: "",
  redaction: "",
  permissions: "",
  runtime: "@github/copilot-sdk",
  engine: "",
  tools: "@modelcontextprotocol/client sucrase",
  protocol: "",
  sessions: "@github/copilot-sdk eventsource-parser",
  workflow: "",
  journal: "",
  outputs: "sarif",
  rehearsal: "yaml",
  reports: "@opentelemetry fast-string-width fast-wrap-ansi",
  github: "@actions/core @actions/github fflate markdown-it",
  run: "p-limit",
  evals: "p-limit",
  host: "@hono/node-server hono",
  action: "@actions/core",
  cli: "commander p-limit",
};
const order = Object.keys(packages);
const withoutNode = ["engine", "protocol", "redaction", "web", "workflow"];
const importedByPage = ["text", "entry", "events", "outputs", "reports", "web"];
const readersOfEnvironment = /^src\/(?:action\/inputs\.ts$|cli\/|platform\/)/;

const root = fileURLToPath(new URL("../../", import.meta.url));
const files = ["src", "web", "test", "bench", "scripts"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:tsx?|mjs)$/.test(name) && !/^(?:generated|fixtures)\//.test(name))
    .map((name) => `${folder}/${name}`),
);
const textOf = (file: string): string => readFileSync(join(root, file), "utf8");
const product = files.filter((file) => /^(?:src|web)\//.test(file));
const codeOf = (file: string): string => textOf(file).replaceAll(/^\s*(?:\*|\/\/|\/\*).*$/gm, "");
const roomOf = (file: string): string => /^(?:src\/)?(\w+)\//.exec(file)?.[1] ?? "";

/** File → what it imports, also for types only and at run time: a file, a package or a module of Node. */
const imports = new Map(
  product.map((file) => {
    const found = codeOf(file).matchAll(/\b(?:from|import)\s*\(?\s*"([@.\w][^"\n]*)"/g);
    const names = [...found].map(([, name = ""]) => name);
    return [file, names.map((name) => (name.startsWith(".") ? join(file, "..", name) : name))];
  }),
);

function mayImport(file: string, imported: string): boolean {
  const room = file === "src/index.ts" ? "index" : roomOf(file);
  if (imported.startsWith("node:")) return !withoutNode.includes(room);
  if (!/^(?:src|web)\//.test(imported)) {
    const [name = ""] = /^(?:@opentelemetry|@[^/]+\/[^/]+|[^@/]+)/.exec(imported) ?? [];
    return room === "web" || packages[room]?.split(" ").includes(name) === true;
  }
  const other = roomOf(imported);
  if (room === "web") return importedByPage.includes(other);
  const isBefore = room === "index" || order.indexOf(other) <= order.indexOf(room);
  return order.includes(other) && isBefore && (other === room || !/^(?:action|cli)$/.test(other));
}

test("a file imports its own room, the rooms before it, and the packages of its room", () => {
  const refused = [...imports].flatMap(([file, list]) =>
    list.filter((one) => !mayImport(file, one)).map((one) => `${file} imports ${one}`),
  );
  assert.deepEqual(refused, []);
});

test("no imports go in a circle, not even for types", () => {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), [...path, file].join(" → "));
    if (done.has(file)) return;
    for (const one of imports.get(file) ?? []) visit(one, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
});

test("only action/inputs.ts, cli/ and platform/ read process.env", () => {
  const readers = product.filter((file) => /\bprocess\??(?:\.env\b|\["env"\])/.test(codeOf(file)));
  assert.deepEqual(
    readers.filter((file) => !readersOfEnvironment.test(file)),
    [],
  );
});

test("a file has at most 400 lines, and 500 outside src/ and web/", () => {
  const tooLong = files.filter((file) => {
    const lines = textOf(file).trimEnd().split("\n").length;
    return lines > (product.includes(file) ? 400 : 500);
  });
  assert.deepEqual(tooLong, []);
});

/** What lint allows and refuses: one workspace with a file per case, linted once. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

interface Room {
  readonly folders?: readonly string[];
  readonly imports: readonly string[];
  readonly packages?: readonly string[];
  readonly node?: true | readonly string[];
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const table: {
  readonly rooms: Readonly<Record<string, Room>>;
  readonly library: readonly string[];
} = await import(new URL("scripts/rooms.mjs", `file://${root}`).href);
const rooms = Object.entries(table.rooms);

/** A module that a file could import: as it is written there, and whether the table allows it. */
interface Import {
  readonly from: string;
  readonly allowed: boolean;
}

const nodeModules = ["fs", "fs/promises", "timers", "module", "path", "os", "url", "child_process"];
const packages = new Set(["unheard-of", ...rooms.flatMap(([, room]) => room.packages ?? [])]);

/** Everything that could be imported into a folder at `up` from src/, by a room or by src/index.ts. */
function importsOf(
  { imports, packages: own = [], node = [] }: Room,
  up: string,
  name = "",
): Import[] {
  const inside = rooms.flatMap(([other, { folders = [] }]) => {
    if (other === name) return [];
    const allowed = imports.includes(other);
    const single = new Set(
      rooms.flatMap(([, room]) => room.imports).filter((one) => one.startsWith(`${other}/`)),
    );
    return [
      { from: `${up}${other}/some-file.ts`, allowed },
      ...folders.map((part) => ({ from: `${up}${other}/${part}/some-file.ts`, allowed })),
      ...[...single].map((one) => ({
        from: `${up}${one}`,
        allowed: allowed || imports.includes(one),
      })),
      { from: `${up}${other}/no-such-folder/some-file.ts`, allowed: false },
      // The same rooms by other ways: everybody writes an import in one way.
      ...(up === "./" ? [] : [{ from: `./${up}${other}/some-file.ts`, allowed: false }]),
      { from: `${up}events/../${other}/some-file.ts`, allowed: false },
    ];
  });
  return [
    ...inside,
    ...(up === "./" ? [] : [{ from: `${up}index.ts`, allowed: false }]),
    { from: `${up}no-such-room/some-file.ts`, allowed: false },
    ...[...packages].map((from) => ({ from, allowed: own.includes(from) })),
    ...nodeModules.map((one) => ({
      from: `node:${one}`,
      allowed: node === true || node.includes(one),
    })),
  ];
}

/** File → its imports. Files of src/generated/ are not linted. */
function cases(): Map<string, Import[]> {
  const files = new Map<string, Import[]>();
  for (const [name, room] of rooms) {
    if (name === "generated") continue;
    const parts = room.folders ?? [];
    const own = (from: string): Import => ({ from, allowed: true });
    files.set(`src/${name}/case.ts`, [
      own("./some-file.ts"),
      ...parts.map((part) => own(`./${part}/some-file.ts`)),
      ...importsOf(room, "../", name),
    ]);
    for (const part of parts)
      files.set(`src/${name}/${part}/case.ts`, [
        own("./some-file.ts"),
        own("../some-file.ts"),
        ...parts.filter((one) => one !== part).map((one) => own(`../${one}/some-file.ts`)),
        ...importsOf(room, "../../", name),
      ]);
    const nowhere = { imports: [] };
    files.set(`src/${name}/no-such-folder/case.ts`, importsOf(nowhere, "../../"));
  }
  files.set("src/index.ts", importsOf({ imports: table.library }, "./"));
  files.set("src/case.ts", importsOf({ imports: [] }, "./"));
  return files;
}

const importCases = cases();

/** Imports at run time, which the rules of lint don't see, as if they were written at the top. */
const dynamicImports = sourceFiles("src").flatMap((file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/\bimport\(\s*"([^"]+)"/g)].map(
    ([, from = ""], index) => ({ file: file.replace(/\.ts$/, `.dynamic-${index}.ts`), from }),
  ),
);

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `export const a${index} = ${index};\n`).join("");

/** Name → file, its text, and the rule that refuses it. */
const refused: Readonly<Record<string, readonly [file: string, text: string, rule: string]>> = {
  "an environment read outside the edges": [
    "src/run/environment.ts",
    'export const a = process.env["A"];\n',
    "no-process-env",
  ],
  "a clock of the engine's own": [
    "src/engine/clock.ts",
    "export const a = (): number => Date.now();\n",
    "no-restricted-globals",
  ],
  "a timer of the engine's own": [
    "src/engine/timer.ts",
    "export const a = (): unknown => setTimeout(() => {}, 1);\n",
    "no-restricted-globals",
  ],
  "a console in the engine": [
    "src/engine/console.ts",
    'export const a = (): void => console.log("a");\n',
    "no-restricted-globals",
  ],
  any: ["src/run/any.ts", "export const a = (b: any): unknown => b;\n", "no-explicit-any"],
  "a source file of over 400 lines": ["src/run/long.ts", lines(401), "max-lines"],
  "a test of over 500 lines": ["test/run/long.test.ts", lines(501), "max-lines"],
  "a cycle of imports": [
    "src/run/cycle-a.ts",
    'import { b } from "./cycle-b.ts";\nexport const a = (): unknown => b;\n',
    "no-cycle",
  ],
  "a cycle of types": [
    "src/run/type-cycle-a.ts",
    'import type { B } from "./type-cycle-b.ts";\nexport type A = B[];\n',
    "no-cycle",
  ],
  "a type from another room": [
    "src/entry/type.ts",
    'import type { A } from "../events/event.ts";\nexport type B = A;\n',
    "no-restricted-imports",
  ],
  "a module of Node in the page": [
    "web/data/node.ts",
    'import { sep } from "node:path";\nexport const a = sep;\n',
    "no-restricted-imports",
  ],
  "the core in the page": [
    "web/run/core.ts",
    'import { a } from "../../src/run/execute.ts";\nexport const b = a;\n',
    "no-restricted-imports",
  ],
  "a package of the server in the page": [
    "web/page.tsx",
    'import { Hono } from "hono";\nexport const a = Hono;\n',
    "no-restricted-imports",
  ],
  "the page in the core": [
    "src/reports/web.ts",
    'import { a } from "../../web/routes.ts";\nexport const b = a;\n',
    "no-restricted-imports",
  ],
  "a re-export from another room": [
    "src/entry/re-export.ts",
    'export * from "../events/event.ts";\n',
    "no-restricted-imports",
  ],
};

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

const importing = (froms: readonly string[]): string =>
  froms.map((from, index) => `import * as a${index} from "${from}";\n`).join("");
const files = {
  ".oxlintrc.json": readFileSync(join(root, ".oxlintrc.json"), "utf8"),
  ...Object.fromEntries(
    [...importCases].map(([file, list]) => [file, importing(list.map(({ from }) => from))]),
  ),
  ...Object.fromEntries(dynamicImports.map(({ file, from }) => [file, importing([from])])),
  ...Object.fromEntries(Object.values(refused).map(([file, text]) => [file, text])),
  "src/run/cycle-b.ts": 'import { a } from "./cycle-a.ts";\nexport const b = (): unknown => a;\n',
  "src/run/type-cycle-b.ts":
    'import type { A } from "./type-cycle-a.ts";\nexport type B = A | 1;\n',
};
const workspace = await mkdtemp(join(tmpdir(), "test-agent-jobs-lint-"));
after(() => rm(workspace, { recursive: true, force: true }));
for (const [file, text] of Object.entries(files)) {
  await mkdir(dirname(join(workspace, file)), { recursive: true });
  await writeFile(join(workspace, file), text);
}
const findings = await lint(workspace);

describe("lint", () => {
  const rulesAt = (file: string): string[] =>
    findings.filter((finding) => finding.file === file).map(({ rule }) => rule);

  for (const [file, list] of importCases)
    it(`holds the imports of ${file} to the table of rooms`, () => {
      const lines = new Set(
        findings
          .filter((one) => one.file === file && one.rule === "no-restricted-imports")
          .map(({ line }) => line),
      );
      const passed = list.filter((_, index) => !lines.has(index + 1));
      assert.deepEqual(
        passed.map(({ from }) => from),
        list.filter(({ allowed }) => allowed).map(({ from }) => from),
      );
    });

  it("is told of every import at run time that the table refuses", () => {
    assert.ok(dynamicImports.length > 0);
    for (const { file } of dynamicImports)
      assert.ok(!rulesAt(file).includes("no-restricted-imports"), file);
  });

  for (const [name, [file, , rule]] of Object.entries(refused))
    it(`refuses ${name}`, () => assert.ok(rulesAt(file).includes(rule), rulesAt(file).join()));
});

describe("the table of rooms", () => {
  it("names the folders of src/ and their parts, and only those", () => {
    const folders = (path: string): string[] =>
      readdirSync(join(root, path), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name);
    const made = folders("src").sort();
    // A room that nothing needs yet may be in the table before it is a folder.
    assert.deepEqual(
      made.filter((name) => !(name in table.rooms)),
      [],
    );
    for (const name of made)
      assert.deepEqual(
        folders(`src/${name}`).sort(),
        [...(table.rooms[name]?.folders ?? [])].sort(),
      );
  });

  it("lets a room import only rooms above it, so that there is no cycle, and nobody the action or the command line", () => {
    const above = new Set<string>();
    for (const [name, { imports }] of rooms) {
      for (const one of imports) {
        const [room = ""] = one.split("/");
        assert.ok(above.has(room), `${name} → ${one}`);
        assert.ok(room !== "action" && room !== "cli", `${name} → ${one}`);
      }
      above.add(name);
    }
  });
});

function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? sourceFiles(path) : [path];
  });
}

async function lint(path: string): Promise<Finding[]> {
  const oxlint = join(root, "node_modules", "oxlint", "bin", "oxlint");
  const output = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [oxlint, "--format", "unix"],
      { cwd: path, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) => resolve(stdout),
    );
  });
  return [...output.matchAll(/^([^:\n]+):(\d+):\d+: .*\[\w+\/[\w-]+\(([\w-]+)\)\]$/gm)].map(
    ([, file = "", line = "", rule = ""]) => ({ file, line: Number(line), rule }),
  );
}

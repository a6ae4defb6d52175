import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execPath, platform } from "node:process";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { makeWorkspace } from "../rig/workspace.ts";

const launcher = fileURLToPath(new URL("../../../scripts/launcher.js", import.meta.url));

/** The launcher beside a program that is what an old Node can't read, under a version of our choice. */
async function launch(
  t: TestContext,
  version: string,
  main: string,
  type: "module" | "commonjs" = "module",
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const workspace = await makeWorkspace(t);
  await workspace.write("package.json", JSON.stringify({ type }));
  await workspace.write("index.js", readFileSync(launcher, "utf8"));
  await workspace.write("main.js", main);
  const versions = JSON.stringify({ ...process.versions, node: version });
  const fake = `Object.defineProperty(process, "versions", { value: ${versions} })`;
  const preload = `data:text/javascript,${encodeURIComponent(fake)}`;
  const args = ["--import", preload, join(workspace.path, "index.js")];
  return spawnSync(execPath, args, { encoding: "utf8", env: {} });
}

describe("the command line's first file", () => {
  for (const [version, type] of [
    ["20.18.3", "module"],
    ["0.10.48", "commonjs"],
  ] as const) {
    it(`says in one line that Node ${version} is too old, and loads nothing (${type})`, async (t) => {
      const { status, stdout, stderr } = await launch(t, version, "this is no program", type);
      assert.equal(status, 2);
      assert.equal(stdout, "");
      assert.equal(stderr.trimEnd().split("\n").length, 1);
      assert.match(stderr, /^agent-jobs needs Node\.js 20\.19 or newer\. This is Node\.js \S+: /);
      assert.ok(stderr.includes(version));
    });
  }

  for (const version of ["20.19.0", "100.0.0"]) {
    it(`starts the program on Node ${version}`, async (t) => {
      const main = 'console.log("started"); process.exitCode = 7;';
      const { status, stdout } = await launch(t, version, main);
      assert.deepEqual([status, stdout], [7, "started\n"]);
    });
  }

  it("says what to do if its files can't be opened", { skip: platform !== "linux" }, async (t) => {
    const names = Array.from({ length: 100 }, (_, index) => `m${index}.js`);
    const workspace = await makeWorkspace(t, {
      ...Object.fromEntries(names.map((name) => [name, "export {};"])),
      "package.json": '{ "type": "module" }',
      "index.js": readFileSync(launcher, "utf8"),
      "main.js": names.map((name) => `import "./${name}";`).join("\n"),
    });
    const args = ["-c", 'ulimit -n 40; exec "$0" "$1"', execPath, join(workspace.path, "index.js")];
    const { status, stderr } = spawnSync("sh", args, { encoding: "utf8", env: {} });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^agent-jobs can't load its own files: EMFILE: [^\n]*\. Raise the limit of open files, for example with: ulimit -n 4096\n$/,
    );
  });

  it("is read by any Node", () => {
    const text = readFileSync(launcher, "utf8");
    assert.doesNotMatch(text, /=>|`|\b(?:const|let|await|class)\b|\?\.|\?\?/);
  });

  it("asks for what package.json asks for", () => {
    const root = new URL("../../../package.json", import.meta.url);
    const { engines }: { engines: { node: string } } = JSON.parse(readFileSync(root, "utf8"));
    assert.equal(engines.node, ">=20.19");
  });

  it("has no package that npm warns about on Node 20", () => {
    const file = new URL("../../../package-lock.json", import.meta.url);
    const lock: { packages: Record<string, { engines?: { node?: string } }> } = JSON.parse(
      readFileSync(file, "utf8"),
    );
    const later = Object.entries(lock.packages).filter(([, { engines }]) =>
      /^>=? ?(?:2[1-9]|[3-9]\d)/.test(engines?.node ?? ""),
    );
    assert.deepEqual(later, []);
  });
});

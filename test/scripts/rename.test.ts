/** The names of the repository and the package: in one place, and changed everywhere by one command. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { makeWorkspace } from "../rig/workspace.ts";
import { runScript, type Ended } from "./rig.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const manifest = readFileSync(join(root, "package.json"), "utf8");
const [, slug = ""] = /github\.com\/(.+)\.git"/.exec(manifest) ?? [];
const [, name = ""] = /"name": "(.+)"/.exec(manifest) ?? [];
// Put together here, so that this file itself has nothing to be renamed.
const product = ["agent", "jobs"].join("-");
const acme = ["acme", "robots"].join("/");

interface Copy {
  readonly path: string;
  rename(...args: string[]): Promise<Ended>;
  /** Name → content, of every file. */
  files(): ReadonlyMap<string, string>;
}

/** The tracked files of this repository, without the bundles. */
async function copyOf(test: TestContext): Promise<Copy> {
  const workspace = await makeWorkspace(test);
  const { path } = workspace;
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { cwd: root, encoding: "utf8" },
  );
  const names = listed.split("\0").filter((name) => name !== "" && !name.startsWith("dist/"));
  const present = names.filter((name) => statSync(join(root, name), { throwIfNoEntry: false }));
  for (const name of present) cpSync(join(root, name), join(path, name));
  await workspace.git("init", "--quiet");
  // Their names are enough.
  await workspace.git("add", "--intent-to-add", "--all");
  return {
    path,
    rename: (...args) => runScript(join(path, "scripts/rename.mjs"), args),
    files: () => new Map(present.map((name) => [name, readFileSync(join(path, name), "utf8")])),
  };
}

describe("scripts/rename.mjs", () => {
  it("finds no name in this repository that package.json does not have", async () => {
    const { code, stderr } = await runScript(join(root, "scripts/rename.mjs"), ["--check"]);
    assert.equal(stderr, "");
    assert.equal(code, 0);
  });

  it("changes the names everywhere, and back", async (t) => {
    const copy = await copyOf(t);
    const before = copy.files();
    const { code, stdout } = await copy.rename(acme, `@acme/${product}`);
    assert.equal(code, 0);
    assert.match(stdout, /in \d+ files/);
    const after = copy.files();
    for (const [file, text] of after) assert.ok(!text.includes(slug), file);
    for (const [file, text] of [
      ["README.md", `- uses: ${acme}@v1`],
      ["package.json", `"name": "@acme/${product}"`],
      ["package.json", `github.com/${acme}.git"`],
      ["package-lock.json", `\n  "name": "@acme/${product}"`],
      ["docs/library.md", `from "@acme/${product}"`],
      ["docs/library.md", `\`@acme/${product}/entry\` loads`],
      ["examples/review/review.yml", `com/${acme}/v1/schema`],
      ["docs/action.md", `npx --yes @acme/${product} report`],
      // The command keeps its name.
      ["README.md", `npx ${product} validate`],
    ] as const)
      assert.ok(after.get(file)?.includes(text), `${file} has no ${text}`);
    assert.equal((await copy.rename("--check")).code, 0);
    assert.equal((await copy.rename(slug, name)).code, 0);
    assert.deepEqual(differing(copy.files(), before), []);
  });

  it("finds stragglers", async (t) => {
    const page = [
      `      - uses: step/${product}@v1`,
      `See https://github.com/address/${product}/issues.`,
      `$schema: https://raw.githubusercontent.com/schema/${product}/v1/x.json`,
      `import { startJob } from "@import/${product}";`,
      `\`@export/${product}/entry\` loads.`,
      `npm install --save-dev @installation/${product}`,
    ];
    const path = await small(t, page.join("\n"));
    const { code, stderr } = await runScript(join(path, "scripts/rename.mjs"), ["--check"]);
    assert.equal(code, 1);
    const found = stderr.matchAll(/^docs\/page\.md: @?(.+)\/agent-jobs \(package\.json has /gm);
    assert.deepEqual([...found].map(([, owner = ""]) => owner).toSorted(), [
      "address",
      "export",
      "import",
      "installation",
      "schema",
      "step",
    ]);
  });

  it("refuses what is no name", async (t) => {
    const path = await small(t, `uses: ${slug}@v1\n`);
    for (const args of [["acme"], [`${acme}/x`], [acme, "Not A Name"]]) {
      const { code } = await runScript(join(path, "scripts/rename.mjs"), args);
      assert.equal(code, 1, args.join(" "));
    }
    for (const [file, text] of [
      ["package.json", manifest],
      ["docs/page.md", `uses: ${slug}@v1\n`],
    ] as const)
      assert.equal(readFileSync(join(path, file), "utf8"), text);
  });
});

/** A repository with the script, the manifest, and a page. */
async function small(test: TestContext, page: string): Promise<string> {
  const workspace = await makeWorkspace(test, { "docs/page.md": page });
  for (const name of ["scripts/rename.mjs", "package.json"])
    cpSync(join(root, name), join(workspace.path, name));
  await workspace.git("init", "--quiet");
  await workspace.git("add", "--all");
  return workspace.path;
}

function differing(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): string[] {
  return [...one.keys()].filter((file) => one.get(file) !== other.get(file));
}

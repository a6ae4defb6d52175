/** Relics on real files: what is found, what is left out, and that nothing is longer than allowed. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { createRelics, relicLimits } from "../../src/tools/relics.ts";
import type { Permissions, RelicDeclaration } from "../../src/entry/model.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { realFiles } from "../../src/sessions/permission-handler.ts";
import { holds } from "../rig/fuzz.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const secret = "correct-horse-battery-staple";

interface Reading {
  /** Called each time that the permissions have looked at a file. */
  readonly afterLook?: (path: string) => void;
  readonly query?: string;
  readonly permissions?: Permissions;
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
}

async function read(
  { path }: Pick<Workspace, "path">,
  files: readonly string[],
  { query, permissions = "read-only", maxTokens, signal, afterLook }: Reading = {},
): Promise<string> {
  const declaration: RelicDeclaration = {
    description: "Documentation",
    files,
    ...(maxTokens === undefined ? {} : { maxTokens }),
  };
  const redactor = createRedactor([secret]);
  const relicsFor = createRelics({
    declarations: { docs: declaration },
    workingDirectory: path,
    files: {
      ...realFiles,
      realpath(path) {
        const real = realFiles.realpath(path);
        afterLook?.(real);
        return real;
      },
    },
    redact: () => redactor.stream(),
  });
  const [relic] = relicsFor(undefined, permissions);
  assert.ok(relic !== undefined);
  const outcome = await relic.read(query, {
    signal: signal ?? new AbortController().signal,
    onProgress: () => {},
  });
  if (outcome.kind !== "succeeded") return outcome.kind;
  assert.ok(typeof outcome.value === "string");
  return outcome.value;
}

const guide = `# Guide

Welcome to the project.

## Deployment

The service is deployed with the tool shipit.
It takes ten minutes.

## Testing

Run the tests before each merge.
`;

async function docs(t: TestContext): Promise<Workspace> {
  return makeWorkspace(t, {
    "docs/guide.md": guide,
    "docs/notes.md": "Notes about the weather.\n\nRain is expected.\n",
    "docs/deep/down/faq.md": "## How are tests run?\n\nWith npm test.\n",
    "src/code.ts": "export const deployment = 1;\n",
  });
}

describe("a relic without a query", () => {
  it("is a table of its files, and the beginning of each", async (t) => {
    const text = await read(await docs(t), ["docs/**/*.md"]);
    assert.match(text, /^The files \(3\):\n- docs\/deep\/down\/faq\.md\n- docs\/guide\.md/);
    for (const beginning of ["docs/guide.md:1\n# Guide", "docs/notes.md:1\nNotes", "npm test."]) {
      assert.ok(text.includes(beginning), text);
    }
    assert.ok(!text.includes("src/code.ts") && !text.includes("Left out"), text);
  });

  it("shows a part of each file where there is no room for all", async (t) => {
    const long = "All work and no play.\n".repeat(500);
    const workspace = await makeWorkspace(t, { "a.md": long, "b.md": long, "c.md": "Short.\n" });
    const text = await read(workspace, ["*.md"], { maxTokens: 300 });
    assert.ok(text.length <= 1_200);
    for (const name of ["a.md:1\nAll", "b.md:1\nAll", "c.md:1\nShort."])
      assert.ok(text.includes(name), text);
  });

  it("says so if there is nothing", async (t) => {
    assert.equal(await read(await docs(t), ["*.txt"]), "There are no files.");
    assert.equal(await read({ path: "/nowhere/at/all" }, ["*.txt"]), "There are no files.");
  });
});

describe("a relic with a query", () => {
  it("is the passages that match best, with their places", async (t) => {
    const workspace = await docs(t);
    const text = await read(workspace, ["docs/**/*.md"], { query: "How is it deployed? shipit" });
    assert.match(text, /^docs\/guide\.md:5\n## Deployment\n\nThe service is deployed/);
    assert.ok(!text.includes("weather"), text);
    const tests = await read(workspace, ["docs/**/*.md"], { query: "run tests" });
    assert.match(tests, /^docs\/deep\/down\/faq\.md:1\n## How are tests run\?/);
    assert.ok(tests.includes("docs/guide.md:10\n## Testing"), tests);
  });

  it("is whole sections", async (t) => {
    const workspace = await makeWorkspace(t, {
      "a.md": "# Alpha\n\nOne.\n\nTwo.\n\n# Beta\n\nThree.\n\nAlpha once more.\n",
    });
    const text = await read(workspace, ["*.md"], { query: "alpha" });
    assert.equal(
      text,
      "a.md:1\n# Alpha\n\nOne.\n\nTwo.\n\na.md:7\n# Beta\n\nThree.\n\nAlpha once more.",
    );
  });

  it("lists the files if no passage matches", async (t) => {
    const workspace = await docs(t);
    const text = await read(workspace, ["docs/*.md"], { query: "zebra" });
    assert.match(text, /^No passage has any of the words zebra\.\n\nThe files \(2\):/);
    const plain = await read(workspace, ["docs/*.md"]);
    assert.equal(await read(workspace, ["docs/*.md"], { query: " ?! " }), plain);
  });

  it("finds a word in a line of any length", async (t) => {
    const line = `${"x ".repeat(50_000)}needle ${"y ".repeat(50_000)}`;
    const workspace = await makeWorkspace(t, { "a.txt": line, "b.txt": "hay" });
    assert.match(
      await read(workspace, ["*.txt"], { query: "needle", maxTokens: 600 }),
      /^a\.txt:1\n[^]*needle/,
    );
  });
});

describe("a file is left out, and counted", () => {
  it("if the permissions of the task deny it", async (t) => {
    const workspace = await docs(t);
    const permissions = { read: ["!docs/notes.md"] };
    for (const query of [undefined, "weather rain deployment"]) {
      const text = await read(workspace, ["docs/*.md"], {
        permissions,
        ...(query === undefined ? {} : { query }),
      });
      assert.ok(!text.includes("weather") && !text.includes("notes"), text);
      assert.match(text, /\n\nLeft out of these files: 1 that this task may not read/);
    }
  });

  for (const query of [undefined, "outside"]) {
    it(`if a folder or a file is swapped after it was judged, with ${query ?? "no query"}`, async (t) => {
      const workspace = await makeWorkspace(t, {
        "d/f.md": "inside",
        "g.md": "inside",
        "h.md": "inside",
        "stays.md": "inside",
      });
      const { path: outside } = await makeWorkspace(t, { "f.md": "outside", "g.md": "outside" });
      const { path } = workspace;
      const swaps = new Map<string, () => void>([
        [join(path, "d/f.md"), () => symlinkSync(outside, join(path, "d"))],
        [join(path, "g.md"), () => symlinkSync(join(outside, "g.md"), join(path, "g.md"))],
        [join(path, "h.md"), () => execFileSync("mkfifo", [join(path, "h.md")])],
      ]);
      const text = await read(workspace, ["**/*.md"], {
        permissions: { write: ["**"] },
        ...(query === undefined ? {} : { query }),
        afterLook(file) {
          const swap = swaps.get(file);
          if (swap === undefined) return;
          rmSync(dirname(file) === path ? file : dirname(file), { recursive: true });
          swaps.delete(file);
          swap();
        },
      });
      assert.equal(swaps.size, 0);
      assert.doesNotMatch(text.replace("any of the words outside", ""), /outside/);
      assert.match(text, /stays\.md/);
    });
  }

  it("if a link leads out of the working directory, whatever the permissions", async (t) => {
    const outside = await makeWorkspace(t, { "secret.md": "outside", "folder/more.md": "outside" });
    const workspace = await makeWorkspace(t, { "a.md": "inside" });
    await symlink(join(outside.path, "secret.md"), join(workspace.path, "b.md"));
    await symlink(join(outside.path, "folder"), join(workspace.path, "c"));
    await symlink(join(workspace.path, "a.md"), join(workspace.path, "d.md"));
    await symlink("nowhere", join(workspace.path, "e.md"));
    await symlink(".", join(workspace.path, "loop"));
    for (const permissions of ["read-only", "all"] as const) {
      const text = await read(workspace, ["**/*.md"], { permissions });
      assert.ok(!text.includes("outside"), text);
      assert.match(text, /^The files \(2\):\n- a\.md\n- d\.md\n/);
      assert.match(text, /Left out of these files: 2 that/);
    }
    // The working directory may be a link itself.
    const link = join(outside.path, "link");
    await symlink(workspace.path, link);
    assert.match(await read({ path: link }, ["a.md"]), /a\.md:1\ninside/);
  });

  it("if it is binary, or no file", async (t) => {
    const workspace = await makeWorkspace(t, { "a.md": "text", "b.md": "bin\0ary" });
    execFileSync("mkfifo", [join(workspace.path, "c.md")]);
    await symlink("c.md", join(workspace.path, "e.md"));
    await mkdir(join(workspace.path, "d.md"));
    const text = await read(workspace, ["*.md"]);
    assert.ok(!text.includes("ary"), text);
    assert.match(text, /Left out of these files: 2 that/);
  });

  it("if it is private, part of git or of node_modules, unless it is named", async (t) => {
    const names = [
      ".git/config",
      "node_modules/x/README.md",
      ".env",
      "a/.npmrc",
      "a/node_modules/y.md",
    ];
    const workspace = await makeWorkspace(t, {
      ...Object.fromEntries(names.map((name) => [name, "hidden"])),
      "a/b.md": "shown",
    });
    const text = await read(workspace, ["**"], { permissions: "all" });
    assert.match(text, /^The files \(1\):\n- a\/b\.md/);
    assert.ok(!text.includes("hidden"), text);
    const modules = await read(workspace, ["node_modules/**"]);
    assert.match(modules, /^The files \(1\):\n- node_modules\/x\/README\.md/);
    // Another glob that names the folder doesn't open it for this one.
    assert.match(await read(workspace, ["**/*.md", "node_modules/x/*.txt"]), /^The files \(1\):/);
    // Named by the relic, but not by the permissions.
    assert.match(
      await read(workspace, [".env"]),
      /^There are no files\.\n\nLeft out of these files: 1 that/,
    );
    assert.match(
      await read(workspace, [".env"], { permissions: { read: [".env"] } }),
      /^The files \(1\)/,
    );
  });

  it("if a glob excludes it", async (t) => {
    const text = await read(await docs(t), ["docs/**", "!docs/deep/**", "!**/notes.md"]);
    assert.match(text, /^The files \(1\):\n- docs\/guide\.md/);
  });

  it("if there are too many, and if it is too long", async (t) => {
    const { path } = await makeWorkspace(t);
    for (let index = 0; index <= relicLimits.files; index += 1) {
      await writeFile(join(path, `${String(index).padStart(4, "0")}.md`), "x\n");
    }
    const many = await read({ path }, ["*.md"]);
    assert.match(many, /^The files \(1000\)/);
    assert.match(many, /Left out of these files: those beyond the limit of 1000\.$/);
    const long = await makeWorkspace(t, {
      "a.md": `${"a b\n".repeat(relicLimits.file / 4)}needle`,
    });
    assert.match(
      await read(long, ["*.md"], { query: "needle" }),
      /^No passage[^]*Left out of these files: 1 that/,
    );
  });
});

describe("the text of a relic", () => {
  it("has no secrets, wherever they are", async (t) => {
    const name = `docs/${secret}.md`;
    const long = `${"word ".repeat(200)}${secret} after\n`.repeat(200);
    const workspace = await makeWorkspace(t, {
      [name]: `The password is ${secret}.\n`,
      "b.md": long,
    });
    for (let maxTokens = 50; maxTokens < 800; maxTokens += 50) {
      for (const query of [undefined, "password word", secret]) {
        const text = await read(workspace, ["**/*.md"], {
          maxTokens,
          ...(query === undefined || query === secret ? {} : { query }),
        });
        assert.ok(!text.includes("correct-horse") && !text.includes("battery"), text);
      }
    }
    const colored = `The password is correct-\u001b[1mhorse\u001b[0m-battery-staple.\n`;
    const shown = await read(await makeWorkspace(t, { "a.md": colored }), ["*.md"]);
    assert.match(shown, /The password is \*\*\*\./);
    assert.match(await read(workspace, ["docs/*"]), /docs\/\*\*\*\.md:1\nThe password is \*\*\*\./);
  });

  it(
    "has no control characters in the names of files",
    { skip: process.platform === "win32" },
    async (t) => {
      const workspace = await makeWorkspace(t, { "a\n## b\u001b[2J.md": "x" });
      assert.match(
        await read(workspace, ["*.md"], { permissions: "all" }),
        /^The files \(1\):\n- a\?## b\?\[2J\.md\n/,
      );
      assert.match(
        await read(workspace, ["*.md"]),
        /Left out of these files: 1 that this task may not/,
      );
    },
  );

  it("is not there once the call is canceled", async (t) => {
    const workspace = await docs(t);
    assert.equal(await read(workspace, ["**"], { signal: AbortSignal.abort() }), "failed");
    assert.equal(
      await read(workspace, ["**"], { signal: AbortSignal.abort(), query: "x" }),
      "failed",
    );
  });

  it("is never longer than allowed, and never of a file that permissions deny", async (t) => {
    const workspace = await makeWorkspace(t);
    const words = ["alpha", "beta", "# Gamma", "\n", "\n\n", "delta delta", "é", "x".repeat(300)];
    const folders = ["a", "b", "a/c"];
    let round = 0;
    await holds(
      t,
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...folders), fc.array(fc.constantFrom(...words))), {
          maxLength: 6,
        }),
        fc.constantFrom(undefined, "alpha", "gamma delta", "beta x"),
        fc.integer({ min: 1, max: 400 }),
        fc.subarray(folders),
        async (files, query, maxTokens, denied) => {
          const root = String(round++);
          await mkdir(join(workspace.path, root));
          for (const [index, [folder, parts]] of files.entries()) {
            await workspace.write(
              `${root}/${folder}/f${index}.md`,
              `marker-of-${folder.replace("/", "-")} ${parts.join(" ")}`,
            );
          }
          const text = await read({ path: join(workspace.path, root) }, ["**/*.md"], {
            maxTokens,
            permissions: { read: denied.map((folder) => `!${folder}/*`) },
            ...(query === undefined ? {} : { query }),
          });
          assert.ok(text.length <= maxTokens * 4, `${text.length}`);
          for (const folder of denied) {
            assert.ok(!new RegExp(`marker-of-${folder.replace("/", "-")}\\s`).test(text), text);
          }
        },
      ),
      60,
    );
  });
});

test("relics are chosen by name", () => {
  const declaration = { description: "x", files: ["x"] };
  const relicsFor = createRelics({
    declarations: { a: declaration, b: { ...declaration, maxTokens: 7 } },
    workingDirectory: "/",
    files: realFiles,
    redact: () => createRedactor([]).stream(),
  });
  const names = (chosen: readonly string[] | undefined): string[] =>
    relicsFor(chosen, "read-only").map(({ name }) => name);
  assert.deepEqual(names(undefined), ["a", "b"]);
  assert.deepEqual(names(["b", "c"]), ["b"]);
  assert.deepEqual(names([]), []);
  assert.deepEqual(
    relicsFor(undefined, "read-only").map(({ description, maxTokens }) => [description, maxTokens]),
    [
      ["x", 2_000],
      ["x", 7],
    ],
  );
});

/** `docs/recipes.md` and `examples/recipes/`: what the page shows is what the rehearsals run. */
import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { runCli } from "../rig/cli.ts";
import { examplesHold } from "../rig/examples.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const folder = fileURLToPath(new URL("../../../examples/recipes/", import.meta.url));
const page = await readFile(new URL("../../../docs/recipes.md", import.meta.url), "utf8");
const names = (await readdir(folder)).filter((name) => name !== "tools").toSorted();
const rehearsals = names.filter((name) => name.endsWith(".rehearsal.yml"));
const texts = new Map(
  await Promise.all(names.map(async (name) => [name, await read(name)] as const)),
);

async function read(name: string): Promise<string> {
  return readFile(join(folder, name), "utf8");
}

/** Without the indentation, so that a part of a file compares with the file. */
function flat(text: string): string {
  return text.replaceAll(/^ +/gm, "").trim();
}

describe("the recipes", () => {
  it("are all rehearsed, or a step of one that is", () => {
    const used = [...texts.values()].flatMap((text) =>
      [...text.matchAll(/(?:^entry:|\bfile:) ([\w.-]+)/gm)].map(([, name = ""]) => name),
    );
    const files = names.filter((name) => !rehearsals.includes(name));
    assert.deepEqual([...new Set(used)].toSorted(), files);
  });

  examplesHold(folder, names);

  it("rehearse the tools that are there to copy", async () => {
    for (const name of rehearsals) {
      const files: unknown = parse(texts.get(name) ?? "").workspace?.files ?? {};
      for (const [path, text] of Object.entries(files ?? {}))
        if (path.startsWith("tools/")) assert.equal(text, await read(path), name);
    }
  });

  it("fail their rehearsals if no result is passed on, or no tool is required", async (t) => {
    const { path: cwd } = await makeWorkspace(t);
    await cp(folder, cwd, { recursive: true });
    for (const [name, text] of texts)
      if (!rehearsals.includes(name))
        await writeFile(
          join(cwd, name),
          text
            .replaceAll(/\$previous-result|\$report-of-[\w-]+/g, "nothing")
            .replaceAll(/^ +toolExecuted: .*$/gm, ""),
        );
    const noticed = ["each-file", "fix-tests", "mcp-server", "nightly-migration"];
    const files = noticed.map((name) => `${name}.rehearsal.yml`);
    const { code, stdout } = await runCli(["rehearse", ...files], { cwd });
    assert.equal(code, 1, stdout);
    assert.match(stdout, new RegExp(`^0 passed, ${files.length} failed$`, "m"));
  });
});

describe("docs/recipes.md", () => {
  const sections = page.split(/^## /m).slice(1);

  it("has eight recipes, each with an excerpt of an example that it links to", () => {
    assert.equal(sections.length, 8);
    for (const section of sections) {
      const [, name = ""] = /\]\(\.\.\/examples\/recipes\/([\w.-]+)\)/.exec(section) ?? [];
      const [, excerpt = ""] = /^```\w+\n(.*?)^```$/ms.exec(section) ?? [];
      assert.ok(flat(texts.get(name) ?? "").includes(flat(excerpt)), `${name}:\n${excerpt}`);
      assert.match(section, /^npx agent-jobs rehearse examples/m);
    }
  });

  it("names every rehearsal", () => {
    const named = [...page.matchAll(/examples\/recipes\/([\w-]+\.rehearsal\.yml)/g)];
    assert.deepEqual(named.map(([, name = ""]) => name).toSorted(), rehearsals);
  });
});

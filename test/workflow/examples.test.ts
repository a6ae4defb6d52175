/** `examples/workflows/`: valid, drawn by GitHub as they are meant, with rehearsals that notice what breaks. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { fencesOf } from "../../src/document/markdown.ts";
import { share } from "../rig/nightly.ts";
import { runCli } from "../rig/cli.ts";
import { examplesHold } from "../rig/examples.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { readByMermaid, readByUs } from "./read/mermaid-rig.ts";

const folder = fileURLToPath(new URL("../../../examples/workflows/", import.meta.url));
const names = (await readdir(folder)).toSorted();
const workflows = names.filter((name) => name.endsWith(".wf.md"));
const rehearsals = names.filter((name) => name.endsWith(".rehearsal.yml"));
const recipes = (await readdir(join(folder, "../recipes")))
  .filter((name) => name.endsWith(".wf.md"))
  .map((name) => `../recipes/${name}`);

async function read(name: string): Promise<string> {
  return readFile(join(folder, name), "utf8");
}

/** Mistakes of an author, and the rehearsals that have to notice them. */
const breakages: readonly {
  readonly title: string;
  readonly change: (text: string) => string;
  readonly noticed: readonly string[];
}[] = [
  {
    title: "whose prompts say something else",
    change: (text) => text.replace(/^(## User .*\n\n)[^]*?(?=\n## |$(?![^]))/gm, "$1Changed.\n"),
    noticed: [
      "check-toolchain",
      "clone-build-test",
      "diagnose",
      "hello",
      "report-failure",
      "review",
    ],
  },
  {
    title: "whose failures lead nowhere",
    change: (text) => text.replace(/^.*-->\|FAILED\|.*\n/gm, ""),
    noticed: ["check-toolchain", "clone-build-test", "recover", "report-failure"],
  },
];

describe("the example workflows", () => {
  it("are all rehearsed, or called by one that is", async () => {
    const texts = await Promise.all(rehearsals.map(read));
    const rehearsed = texts.map((text) => /^entry: (.*)$/m.exec(text)?.[1] ?? "");
    const entries = names.filter((name) => !rehearsals.includes(name));
    const callers = (await Promise.all(rehearsed.map(read))).join("\n");
    const called = entries.filter((name) => callers.includes(`[[${name}]]`));
    assert.deepEqual([...new Set([...rehearsed, ...called])].toSorted(), entries);
    assert.ok(workflows.length >= 7);
  });

  examplesHold(folder, names);

  for (const name of [...workflows, ...recipes]) {
    it(`${name} has flowcharts that Mermaid draws as they are read`, async () => {
      const charts = fencesOf(await read(name)).filter(({ info }) => info === "mermaid");
      assert.notEqual(charts.length, 0);
      for (const { content } of charts) {
        const drawn = await readByMermaid(content);
        assert.ok(drawn !== undefined, content);
        assert.deepEqual(readByUs(content), drawn);
      }
    });
  }

  for (const { title, change, noticed } of share(breakages, 1)) {
    it(`${title} fail their rehearsals`, async (t) => {
      const texts = await Promise.all(names.map(async (name) => [name, await read(name)] as const));
      const files = texts.map(([name, text]) => [
        name,
        workflows.includes(name) ? change(text) : text,
      ]);
      const { path: cwd } = await makeWorkspace(t, Object.fromEntries(files));
      const broken = share(noticed, 2).map((name) => `${name}.rehearsal.yml`);
      const { code, stdout } = await runCli(["rehearse", ...broken], { cwd });
      assert.notEqual(code, 0);
      assert.match(stdout, new RegExp(`^0 passed, ${broken.length} failed$`, "m"));
    });
  }
});

import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import type { Entry, PreparedEntry, PreparedTask, Task, Work } from "../../src/entry/model.ts";
import { completeDocument } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { loadScript } from "../../src/rehearsal/format/script.ts";
import { readEntry } from "../../src/run/entry-files.ts";
import { prototype } from "../protocol/rig.ts";
import { cliExits, runCli } from "../rig/cli.ts";
import { examplesHold } from "../rig/examples.ts";
import { share } from "../rig/nightly.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { entryOf } from "./rig.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const rehearsals = (await readdir(join(root, "entries"))).filter((file) =>
  /\.rehearsal\./.test(file),
);

const eachTask = (entry: PreparedEntry, change: (task: PreparedTask) => Task): Entry => ({
  ...entry,
  tasks: Object.fromEntries(
    Object.entries(entry.tasks).map(([name, task]) => [name, change(task)]),
  ),
});

/** Mistakes of an author, and how a rehearsal has to notice them. */
const breakages: Readonly<Record<string, (entry: PreparedEntry) => Entry>> = {
  "whose prompts say something else": (entry) =>
    eachTask(entry, (task) => ({
      ...task,
      prompt: task.requireUserInput ? "Changed: $user-input" : "Changed",
    })),
  "whose criteria are gone": (entry) => eachTask(entry, ({ criteria: _gone, ...task }) => task),
  "whose jobs do something else": (entry) => {
    const [taskId = ""] = Object.keys(entry.tasks);
    const twice: Work = {
      kind: "Par",
      works: [
        { kind: "Ref", taskId },
        { kind: "Ref", taskId },
      ],
    };
    return {
      ...entry,
      jobs: Object.fromEntries(Object.keys(entry.jobs).map((name) => [name, { work: twice }])),
    };
  },
};

describe("agent-jobs rehearse", () => {
  it("finds all example rehearsals green", async () => {
    const { stdout } = await cliExits(0, ["rehearse", ...rehearsals], {
      cwd: join(root, "entries"),
    });
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.at(-1), `${rehearsals.length} passed, 0 failed`);
    assert.deepEqual(
      lines.slice(0, -1).map((line) => line.replace(/ \(.*$/, "")),
      rehearsals.map((file) => `ok    ${file}`),
    );
  });

  for (const [name, breakIt] of share(Object.entries(breakages), 1)) {
    it(`finds example rehearsals red with an entry ${name}`, async (t) => {
      const workspace = await makeRepository(t, {
        "README.md": "# A project\n",
        "CHANGELOG.md": "## Unreleased\n",
      });
      const folder = join(workspace.path, "entries");
      await cp(join(root, "entries"), folder, { recursive: true });
      for (const file of await readdir(folder)) {
        if (/\.rehearsal\./.test(file)) continue;
        const { entry } = await readEntry(join(folder, file));
        await writeFile(join(folder, file), stringify(breakIt(entry)));
      }
      const broken = share(rehearsals);
      const { stdout } = await cliExits(1, ["rehearse", ...broken], { cwd: folder });
      assert.match(stdout, new RegExp(`^0 passed, ${broken.length} failed$`, "m"));
    });
  }

  const entry = entryOf();
  const rehearsal = (fields: object): string =>
    JSON.stringify({ entry: "e.json", sessions: [], ...fields });

  it("fails a run of that script too, with the same message as the reason", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entry,
      "r.json": rehearsal({}),
    });
    const { stdout } = await cliExits(1, "run e.json --rehearse r.json", { cwd });
    assert.match(
      stdout.trimEnd().split("\n").at(-1) ?? "",
      /^job job failed \(rehearsal\): the rehearsal doesn't match the run: .*Say A/,
    );
  });

  it("exits with 2 for a file that is no rehearsal, and still runs the others, of which one has a rule that is never used", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entry,
      "good.json": rehearsal({ sessions: [{ turns: ["A"] }] }),
      "bad.json": rehearsal({ sesions: [] }),
      "lost.json": rehearsal({ entry: "nope.json" }),
      "unused.json": rehearsal({ sessions: [{ turns: ["A"] }, { task: "b", turns: ["B"] }] }),
    });
    const all = ["bad.json", "good.json", "lost.json", "unused.json"];
    const { stdout } = await cliExits(2, ["rehearse", ...all], { cwd });
    assert.match(stdout, /bad\.json:1:\d+: rehearsal\.sesions: .*\(did you mean "sessions"\?\)/);
    assert.match(stdout, /ok {4}good\.json/);
    assert.match(stdout, /nope\.json: The file doesn't exist/);
    assert.match(stdout, /sessions\[1\] \(unused\.json:1:\d+\) was never used/);
    assert.match(stdout, /1 passed, 3 failed\n$/);
  });
});

describe("agent-jobs run --record", () => {
  for (const name of share(
    [
      "entries/hello-failure",
      "entries/commit-review",
      "examples/recipes/correct-docs",
      "examples/recipes/correct-docs-crash",
    ],
    1,
  )) {
    it(`keeps a run of ${name} as a rehearsal that replays to the same result`, async (t) => {
      const out = await makeWorkspace(t);
      const file = join(out.path, "recorded.rehearsal.yml");
      const entry = `${name.replace(/-(crash|failure)$/, "")}.yml`;
      const run = await runCli(
        ["run", entry, "--rehearse", `${name}.rehearsal.yml`, "--record", file],
        { cwd: root },
      );
      assert.equal(run.code, name.endsWith("failure") ? 1 : 0, run.stdout);
      const replay = await runCli(["rehearse", file], { cwd: out.path });
      assert.equal(replay.code, 0, `${replay.stdout}\n${await out.read("recorded.rehearsal.yml")}`);
      assert.match(
        await out.read("recorded.rehearsal.yml"),
        new RegExp(`result: ${name.endsWith("failure") ? "failed" : "succeeded"}`),
      );
    });
  }
});

// `docs/recipes.md` and `examples/recipes/`: what the page shows is what the rehearsals run.

const recipesFolder = fileURLToPath(new URL("../../../examples/recipes/", import.meta.url));
const page = await readFile(new URL("../../../docs/recipes.md", import.meta.url), "utf8");
const names = (await readdir(recipesFolder)).filter((name) => name !== "tools").toSorted();
const recipeRehearsals = names.filter((name) => name.endsWith(".rehearsal.yml"));
const texts = new Map(
  await Promise.all(names.map(async (name) => [name, await read(name)] as const)),
);

async function read(name: string): Promise<string> {
  return readFile(join(recipesFolder, name), "utf8");
}

/** Removes the indentation, so that a part of a file compares with the file. */
function flat(text: string): string {
  return text.replaceAll(/^ +/gm, "").trim();
}

describe("the recipes", () => {
  it("are all rehearsed, or a step of one that is", () => {
    const used = [...texts.values()].flatMap((text) =>
      [...text.matchAll(/(?:^entry:|\bfile:) ([\w.-]+)/gm)].map(([, name = ""]) => name),
    );
    const files = names.filter((name) => !recipeRehearsals.includes(name));
    assert.deepEqual([...new Set(used)].toSorted(), files);
  });

  examplesHold(recipesFolder, names);

  it("rehearse the tools that are there to copy", async () => {
    for (const name of recipeRehearsals) {
      const files: unknown = parse(texts.get(name) ?? "").workspace?.files ?? {};
      for (const [path, text] of Object.entries(files ?? {}))
        if (path.startsWith("tools/")) assert.equal(text, await read(path), name);
    }
  });

  it("fail their rehearsals if no result is passed on, or no tool is required", async (t) => {
    const { path: cwd } = await makeWorkspace(t);
    await cp(recipesFolder, cwd, { recursive: true });
    for (const [name, text] of texts)
      if (!recipeRehearsals.includes(name))
        await writeFile(
          join(cwd, name),
          text
            .replaceAll(/\$previous-result|\$report-of-[\w-]+/g, "nothing")
            .replaceAll(/^ +toolExecuted: .*$/gm, ""),
        );
    const noticed = share(["each-file", "mcp-server", "fix-tests", "nightly-migration"]);
    const files = noticed.map((name) => `${name}.rehearsal.yml`);
    const { stdout } = await cliExits(1, ["rehearse", ...files], { cwd });
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
    assert.deepEqual(named.map(([, name = ""]) => name).toSorted(), recipeRehearsals);
  });
});

// `examples/actions/`: the prototypes of the action protocol as rehearsals, whose tools are real commands.

const actionsFolder = fileURLToPath(new URL("../../../examples/actions/", import.meta.url));
/** The rehearsal of each prototype. */
const prototypes = [
  "start-build",
  "ask-for-status",
  "update-and-search",
  "deploy",
  "analyze-build",
  "report",
];
const files = prototypes.map((name) => `${name}.rehearsal.yml`);

/** A copy of the folder, outside of any repository. */
async function copied(t: TestContext): Promise<Workspace> {
  const workspace = await makeWorkspace(t);
  const outputs = ["out", "local_docs"].map((name) => join(actionsFolder, name));
  const filter = (source: string): boolean => !outputs.includes(source);
  await cp(actionsFolder, workspace.path, { recursive: true, filter });
  return workspace;
}

/** Mistakes of an author, and the rehearsals that have to notice them. */
const actionBreakages: readonly {
  readonly title: string;
  readonly file: string;
  readonly change: (text: string) => string;
  readonly noticed: readonly string[];
}[] = [
  {
    title: "may call no tools",
    file: "assistant.yml",
    change: (text) => text.replace('tools: ["*"]', 'tools: ["!*"]'),
    noticed: prototypes,
  },
  {
    title: "has code that can't be built",
    file: "app/router.mjs",
    change: () => "export const = 1;",
    noticed: ["start-build", "ask-for-status", "analyze-build", "report"],
  },
  {
    title: "has documentation of something else",
    file: "docs/logging.md",
    change: () => "# Nothing\n",
    noticed: ["update-and-search"],
  },
];

describe("the examples of the action protocol", () => {
  it("are all rehearsed, and valid without a warning", async () => {
    const names = await readdir(actionsFolder);
    assert.deepEqual(
      names.filter((name) => name.endsWith(".rehearsal.yml")).toSorted(),
      files.toSorted(),
    );
    const all = ["assistant.yml", ...files];
    const { stdout } = await cliExits(0, ["validate", "--strict", ...all], { cwd: actionsFolder });
    assert.doesNotMatch(stdout, /warning/);
  });

  it("have rehearsals that pass, and change nothing in the folder", async (t) => {
    const { path: cwd } = await copied(t);
    const before = await readdir(cwd, { recursive: true });
    const { stdout } = await cliExits(0, ["rehearse", ...files], { cwd });
    assert.match(stdout, /^6 passed, 0 failed$/m);
    assert.deepEqual((await readdir(cwd, { recursive: true })).toSorted(), before.toSorted());
  });

  for (const [index, file] of files.entries()) {
    it(`${file} plays the document of prototype ${index + 1}`, async () => {
      const loaded = loadScript(await readFile(join(actionsFolder, file)), file);
      assert.ok(loaded.kind === "loaded");
      const documents = loaded.script.rules.flatMap(({ turns }) =>
        turns.flatMap(({ replies }) =>
          replies.map(({ text = "", document }) =>
            withoutReferences(document ? JSON.stringify(completeDocument(document)) : text),
          ),
        ),
      );
      const expected = sorted(prototype(index + 1));
      assert.ok(documents.map(sorted).includes(expected), documents.map(sorted).join("\n"));
    });
  }

  for (const { title, file, change, noticed } of share(actionBreakages, 1)) {
    it(`fail if the example ${title}`, async (t) => {
      const workspace = await copied(t);
      await workspace.write(file, change(await workspace.read(file)));
      const broken = share(noticed).map((name) => `${name}.rehearsal.yml`);
      const { stdout } = await cliExits(1, ["rehearse", ...broken], { cwd: workspace.path });
      assert.match(stdout, new RegExp(`^0 passed, ${broken.length} failed$`, "m"));
    });
  }

  it("show the progress of the deployment to people, not to the model", async (t) => {
    const workspace = await copied(t);
    const deploy = await workspace.read("deploy.rehearsal.yml");
    const goesOn = `
      - prompt: { contains: is running, excludes: [Copied, Deploying] }
        after: deploy-prod-gateway-456
        document: { stop: false }
      - { prompt: { contains: (deploy_tool) succeeded, excludes: [Copied, Deploying] }, document: {} }
expect:`;
    const script = deploy.replace("stop: true", "stop: false").replace(/\nexpect:/, goesOn);
    await workspace.write("deploy-on.rehearsal.yml", script);
    const args = ["run", "assistant.yml", "assist", "--rehearse", "deploy-on.rehearsal.yml"];
    await cliExits(0, [...args, "--journal", "run.jsonl"], {
      cwd: workspace.path,
    });
    const lines = (await workspace.read("run.jsonl")).trim().split("\n");
    const actions = lines.map((line) => JSON.parse(line).action).filter(Boolean);
    const [waiting] = actions.filter(({ type }) => type === "action.waiting");
    const label = "Deploying api_gateway to production...";
    assert.deepEqual(waiting.display, { kind: "progress_bar", label });
    const progress = actions.filter(({ type }) => type === "action.progress");
    assert.deepEqual(
      progress.map(({ percent, message }) => [percent, message]),
      [
        [33, "Copied logging.mjs"],
        [67, "Copied main.mjs"],
        [95, "Copied router.mjs"],
      ],
    );
  });
});

/** The summarizer of the example can't find a result by its id, so it gets references. */
function withoutReferences(text: string): string {
  return text.replace(/,"source":"\$\{\{[^"]*","context":"\$\{\{[^"]*"/, "");
}

/** Makes JSON with sorted keys. `document` fills in absent fields of a document. */
function sorted(text: string): string {
  return JSON.stringify(JSON.parse(text), (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

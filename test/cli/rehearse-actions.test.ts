/** `examples/actions/`: the prototypes of the action protocol as rehearsals, whose tools are real commands. */
import assert from "node:assert/strict";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { completeDocument } from "../../src/rehearsal/format/document-fields.ts";
import { loadScript } from "../../src/rehearsal/format/load-script.ts";
import { prototype } from "../protocol/rig.ts";
import { share } from "../rig/nightly.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const folder = fileURLToPath(new URL("../../../examples/actions/", import.meta.url));
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
  const outputs = ["out", "local_docs"].map((name) => join(folder, name));
  const filter = (source: string): boolean => !outputs.includes(source);
  await cp(folder, workspace.path, { recursive: true, filter });
  return workspace;
}

/** What an author might break, and which rehearsals have to notice. */
const breakages: readonly {
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
    const names = await readdir(folder);
    assert.deepEqual(
      names.filter((name) => name.endsWith(".rehearsal.yml")).toSorted(),
      files.toSorted(),
    );
    const all = ["assistant.yml", ...files];
    const { code, stdout } = await runCli(["validate", "--strict", ...all], { cwd: folder });
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /warning/);
  });

  it("have rehearsals that pass, and change nothing in the folder", async (t) => {
    const { path: cwd } = await copied(t);
    const before = await readdir(cwd, { recursive: true });
    const { code, stdout, stderr } = await runCli(["rehearse", ...files], { cwd });
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^6 passed, 0 failed$/m);
    assert.deepEqual((await readdir(cwd, { recursive: true })).toSorted(), before.toSorted());
  });

  for (const [index, file] of files.entries()) {
    it(`${file} plays the document of prototype ${index + 1}`, async () => {
      const loaded = loadScript(await readFile(join(folder, file)), file);
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

  for (const { title, file, change, noticed } of share(breakages)) {
    it(`fail if the example ${title}`, async (t) => {
      const workspace = await copied(t);
      await workspace.write(file, change(await workspace.read(file)));
      const broken = share(noticed).map((name) => `${name}.rehearsal.yml`);
      const { code, stdout } = await runCli(["rehearse", ...broken], { cwd: workspace.path });
      assert.equal(code, 1, stdout);
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
    const { code, stdout } = await runCli([...args, "--journal", "run.jsonl"], {
      cwd: workspace.path,
    });
    assert.equal(code, 0, stdout);
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

  it("are recorded: a run replays to the same result", async (t) => {
    const workspace = await copied(t);
    const args = ["run", "assistant.yml", "assist", "--rehearse", "report.rehearsal.yml"];
    const run = await runCli([...args, "--record", "made.rehearsal.yml"], { cwd: workspace.path });
    assert.equal(run.code, 0, run.stdout);
    const recording = await workspace.read("made.rehearsal.yml");
    assert.match(recording, /^ {6}- document:$/m);
    assert.doesNotMatch(recording, /\btext:/);
    const replay = await runCli(["rehearse", "made.rehearsal.yml"], { cwd: workspace.path });
    assert.equal(replay.code, 0, `${replay.stdout}\n${recording}`);
  });
});

/** The summarizer of the example can't find a result by its id, so it gets references. */
function withoutReferences(text: string): string {
  return text.replace(/,"source":"\$\{\{[^"]*","context":"\$\{\{[^"]*"/, "");
}

/** As JSON, whatever the order of the keys. Absent fields of a document are those that `document` fills in. */
function sorted(text: string): string {
  return JSON.stringify(JSON.parse(text), (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

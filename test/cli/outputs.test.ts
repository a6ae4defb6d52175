import assert from "node:assert/strict";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Log } from "sarif";
import { runCli, cliExits } from "../rig/cli.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A folder with the entry of `test/fixtures/outputs`. Its rehearsal makes a repository of its own. */
async function folder(t: TestContext): Promise<Workspace> {
  const workspace = await makeWorkspace(t, {});
  await cp(join(root, "test/fixtures/outputs"), workspace.path, { recursive: true });
  return workspace;
}

async function isRunJson(printed: unknown): Promise<void> {
  const schema: object = JSON.parse(await readFile(join(root, "schema/run.schema.json"), "utf8"));
  const ajv = new Ajv2020({ allowUnionTypes: true });
  assert.ok(ajv.validate(schema, printed), ajv.errorsText());
}

const args = ["run", "review.yml", "--rehearse", "review.rehearsal.yml"];

describe("findings, a verdict and proposals, on the real runtime", () => {
  it("are checked at once, and are in run.json, SARIF and JUnit", async (t) => {
    const { path: cwd } = await folder(t);
    const files = ["--output-dir", "out"];
    const run = await runCli([...args, "--format", "json", ...files], { cwd });
    // The verdict is as bad as the entry says, and nothing else is wrong.
    assert.equal(run.code, 1, run.stderr);
    assert.match(run.stderr, /^00:00 job review started \(rehearsal\): 2 steps /);
    assert.equal(
      run.stderr.trimEnd().split("\n").at(-1),
      "job review succeeded (rehearsal), but the exit code is 1: the verdict is needs-work (`outputs.verdict.failOn: needs-work`), and 1 finding is an error (`outputs.findings.failOn: error`). Verdict: Needs work: The third line is wrong.",
    );
    assert.match(run.stderr, /^ +total, rehearsed /m);
    assert.ok(!/^::error/m.test(run.stderr), run.stderr);
    const printed: Record<string, unknown> = JSON.parse(run.stdout);
    await isRunJson(printed);
    assert.equal(printed["result"], "success");
    assert.match(
      String(printed["reason"]),
      /^The verdict is needs-work .*, and 1 finding is an error/,
    );
    assert.equal(printed["rehearsed"], true);
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
    const sarif: Log = JSON.parse(await readFile(join(cwd, "out/findings.sarif"), "utf8"));
    assert.deepEqual(
      sarif.runs[0]?.results?.map(({ ruleId, level }) => [ruleId, level]),
      [
        ["correctness", "error"],
        ["review", "warning"],
      ],
    );
    assert.deepEqual(sarif.runs[0]?.properties, { rehearsed: true });
    assert.match(
      sarif.runs[0]?.automationDetails?.id ?? "",
      /^agent-jobs\/review\.yml\/review\/[\w-]+$/,
    );
    const { informationUri, rules = [] } = sarif.runs[0]?.tool.driver ?? {};
    assert.equal(informationUri, "https://github.com/org/agent-jobs");
    assert.equal(
      rules[0]?.fullDescription?.text,
      'The rule "correctness" of agents in the job "review".',
    );
    assert.match(rules[0]?.help?.text ?? "", /Check the message against the code/);
    assert.deepEqual(
      sarif.runs[0]?.results?.map(({ fixes }) => fixes?.[0]?.artifactChanges[0]?.replacements),
      [
        undefined,
        [{ deletedRegion: { startLine: 2, endLine: 2 }, insertedContent: { text: "2" } }],
      ],
    );
    const report = await cliExits(0, "report out/journal.jsonl -o -", { cwd });
    assert.match(report.stdout, /<title>review: succeeded \(rehearsal\) – /);
    const env = { GITHUB_REPOSITORY: "o/r", GITHUB_RUN_ID: "1", GITHUB_EVENT_NAME: "push" };
    const delivered = await runCli("deliver out/journal.jsonl --entry review.yml", {
      cwd,
      env: { ...env, GITHUB_TOKEN: "ghs_0123456789abcdef" },
    });
    assert.equal(delivered.code, 1, delivered.stderr);
    assert.match(delivered.stderr, /journal\.jsonl is of a rehearsal: a script played the model/);
    const junit = await readFile(join(cwd, "out/junit.xml"), "utf8");
    assert.match(
      junit,
      /<testsuite name="review \(rehearsal\)" timestamp="\d{4}-\d\d-\d\dT[\d:.]+Z" tests="4" failures="1" errors="0" skipped="0" time="[\d.]+"><properties><property name="tokens" value="\d+"\/><property name="cost" /,
    );
    assert.match(
      junit,
      /<testcase name="#0 review" [^>]*><properties><property name="model" value="gpt-5"\/><property name="tokens" /,
    );
    assert.match(junit, /<testcase name="src\/a.ts Three is wrong\." [^>]*line="3"[^>]*><failure/);
  });

  it("only fail a rehearsal where they are not as expected", async (t) => {
    const { path: cwd } = await folder(t);
    await cliExits(0, "rehearse review.rehearsal.yml", { cwd });
  });

  it("names what is wrong with the outputs of an entry and of a job, with its line", async (t) => {
    const workspace = await folder(t);
    const cwd = workspace.path;
    const entry = await readFile(join(cwd, "review.yml"), "utf8");
    const wrong = entry
      .replace("from: [merge]", "from: [merg]")
      .replace(/findings: \{.*\}/, "findings: { failOn: warning, minSeverity: error }")
      .replace("{ allowed: [bug, docs] }", "{ max: 2 }")
      .replace(
        "    work: {",
        '    outputs: { proposals: { pull_request: { paths: ["a", "!"] } } }\n    work: {',
      );
    await workspace.write("wrong.yml", wrong);
    const { stdout, stderr } = await cliExits(2, "validate wrong.yml", { cwd });
    const said = stdout + stderr;
    assert.match(said, /wrong\.yml:5:21: entry\.outputs\.verdict\.from\[0\]:.*"merg"/);
    assert.match(said, /wrong\.yml:6:\d+: entry\.outputs\.proposals\.label\.allowed: This field/);
    assert.match(said, /jobs\["review"\]\.outputs\.proposals\.pull_request\.paths\[1\]/);
    assert.match(
      said,
      /wrong\.yml:4:\d+: entry\.outputs\.findings\.minSeverity: Must not be above failOn, which is "warning"/,
    );
  });
});

/** A repository with the entries of `test/fixtures/data` and some files. */
async function repository(t: TestContext): Promise<Workspace> {
  const workspace = await makeRepository(t, {
    "a.txt": "a",
    "b.txt": "b",
    "c.txt": "c",
    "$(touch pwned).txt": "x",
  });
  await cp(join(root, "test/fixtures/data"), workspace.path, { recursive: true });
  await workspace.git("add", "-A");
  await workspace.git("commit", "-qm", "entries");
  return workspace;
}

describe("data between tasks, on the real runtime", () => {
  it("goes from a result to items, from their reports to a summary, and into the output directory, and from what a command says is wrong to the next round of an item", async (t) => {
    const { path: cwd } = await repository(t);
    const args = ["run", "data.yml", "all", "--rehearse", "data.rehearsal.yml"];
    const run = await cliExits(
      0,
      [...args, "--format", "json", "--output-dir", "out", "--record", "again.rehearsal.yml"],
      { cwd },
    );
    const printed: Record<string, unknown> = JSON.parse(run.stdout);
    const kept: Record<string, unknown> = JSON.parse(
      await readFile(join(cwd, "out/run.json"), "utf8"),
    );
    await isRunJson(printed);
    assert.deepEqual(printed, kept);
    assert.equal(printed["result"], "success");
    assert.equal(printed["report"], "# Sum\nOK");
    assert.deepEqual(printed["results"], { plan: { files: ["a.ts", "b\n`c`"] } });
    assert.deepEqual(printed["inputs"], { topic: "bugs", "who-asks": "me" });
    assert.deepEqual((await readdir(join(cwd, "out"))).toSorted(), [
      "check-a.ts.md",
      "check-b-c.md",
      "findings.sarif",
      "index.md",
      "journal.jsonl",
      "junit.xml",
      "report.html",
      "report.md",
      "run.json",
      "summary.md",
      "who.log",
    ]);
    assert.equal(await readFile(join(cwd, "out/who.log"), "utf8"), "me\n");
    assert.equal(await readFile(join(cwd, "out/report.md"), "utf8"), "# Sum\nOK\n");
    // No line of the log is one of an agent: the runner would take it for a command.
    assert.ok(!/^::error/m.test(run.stderr), run.stderr);
    const each = ["run", "each.yml", "all", "--rehearse", "each.rehearsal.yml"];
    const fixed = await cliExits(0, [...each, "--record", "each-again.rehearsal.yml"], { cwd });
    assert.match(fixed.stdout, /fix, 3 items: 3 succeeded/);
    assert.ok(!(await readdir(cwd)).includes("pwned"));
    await cliExits(0, "rehearse again.rehearsal.yml each-again.rehearsal.yml", { cwd });
  });

  it("refuses inputs that the entry doesn't have, lacks or doesn't allow", async (t) => {
    const { path: cwd } = await repository(t);
    const inputs = "--input topc=style --input topic=x --provider-base-url http://127.0.0.1:9";
    const run = await cliExits(2, ["run", "data.yml", "all", ...inputs.split(" ")], { cwd });
    for (const text of [
      'no input "topc" (did you mean "topic"?)',
      "must be one of bugs, style",
      "The input who-asks is required",
    ])
      assert.ok(run.stderr.includes(text), run.stderr);
  });
});

/** `agent-jobs eval` with rehearsed models: every run is a run of the real runtime. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { runCli, cliExits } from "../rig/cli.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { again, entry, evalFile, evaluated, judges, rows, says, saysInTurn } from "./rig.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

describe("agent-jobs eval", () => {
  it("measures a case with each variant and each set of models, and names flaky cases", async (t) => {
    const { code, stdout, stderr } = await evaluated(t, {
      runs: 2,
      models: { small: {}, large: { work: "large" } },
      variants: { plain: {}, loud: { inputs: { tone: "loud" } } },
      cases: [
        {
          ...saysInTurn("said"),
          rehearsals: [
            { sessions: [says("yes")] },
            { sessions: [says("no")] },
            // The prompt and the model of the variant and the set.
            {
              variant: "loud",
              model: "large",
              sessions: [
                {
                  task: "say",
                  model: "large",
                  turns: [
                    {
                      prompt: "Say yes in a loud tone.",
                      tools: [{ name: "job_report", arguments: { markdown: "yes" } }],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(rows(stdout).slice(0, 4), [
      "said | plain | small 2 50 % flaky",
      "said | plain | large 2 50 % flaky",
      "said | loud | small 2 50 % flaky",
      "said | loud | large 2 100 %",
    ]);
    assert.equal(rows(stdout).length, 4 + 4, "the case, and the total of each pair");
    assert.match(stdout, /^5 of 8 runs passed, 3 flaky, 0 fell against plain \| small; spent/m);
  });

  it(
    "finds a prompt that makes one of ten cases fail half of the time, and nothing in one that changes nothing",
    onlyNightly,
    async (t) => {
      const { path: cwd } = await makeWorkspace(t);
      await cp(join(root, "examples/evals"), cwd, { recursive: true });
      const { stdout } = await cliExits(0, ["eval", "sort.eval.yml", "--format", "json"], { cwd });
      const { totals } = JSON.parse(stdout);
      assert.deepEqual(
        totals.map(({ key, comparison }: Record<string, { fell: boolean } | undefined>) => [
          key,
          comparison?.fell,
        ]),
        [
          ["current", undefined],
          ["terse", true],
          ["reworded", false],
        ],
      );
    },
  );

  it("fails with a baseline if the pass rate of all cases fell", async (t) => {
    const all = { passed: 4, runs: 4 };
    const fields = { cases: [saysInTurn("a", "yes"), saysInTurn("b", "no")] };
    const workspace = await makeWorkspace(t, {
      "entry.yml": entry,
      "a.eval.yml": evalFile(fields),
      "base.json": JSON.stringify({ version: 1, cases: { a: all, b: all } }),
    });
    const runs = ["--runs", "4", "--baseline", "base.json"];
    const worse = await again(workspace, ...runs, "--output-dir", "out");
    assert.equal(worse.code, 1, worse.stdout);
    assert.match(
      worse.stdout,
      /^all cases: passed 4 of 8, against 8 of 8 of baseline \(p = 0\.014\)/m,
    );
    const junit = await workspace.read("out/junit.xml");
    assert.match(junit, /<testsuites tests="3" failures="2" errors="0"/);
    assert.match(junit, /<testsuite name="agent-jobs eval" timestamp="\d{4}-[^"]*Z"/);
    assert.match(
      junit,
      /<testcase name="a" [^>]*line="\d+"[^>]*><properties>.*?name="tokens" value="\d+"\/>.*?<\/properties><system-out>4 of 4 runs passed</,
    );
    assert.match(junit, /<failure message="0 of 4 runs passed" type="never-passed">/);
    assert.match(junit, /<testcase name="all cases" [^>]*><failure message="[^"]*" type="fell">/);

    const updated = await again(workspace, ...runs, "--update-baseline");
    assert.equal(updated.code, 0, "the new pass rates are what is wanted");
    assert.deepEqual(JSON.parse(await workspace.read("base.json")), {
      version: 1,
      cases: { a: all, b: { passed: 0, runs: 4 } },
    });
  });

  it("refuses a baseline that is missing or none", async (t) => {
    const { workspace, ...none } = await evaluated(
      t,
      { cases: [saysInTurn("a", "yes")] },
      "--baseline",
      "base.json",
    );
    assert.equal(none.code, 2);
    assert.match(none.stderr, /Write it with --update-baseline/);
    await workspace.write("base.json", `{"version":1,"cases":{"a":{"passed":2}}}`);
    const bad = await again(workspace, "--baseline", "base.json");
    assert.equal(bad.code, 2);
    assert.match(
      bad.stderr,
      /base\.json is not a baseline: baseline\.cases\["a"\]\.runs: This field is required/,
    );
  });

  it("asks a judge: a task of the entry, or a command in the folder of the run", async (t) => {
    const judged = (name: string, yes: boolean): object => ({
      name,
      userInput: "yes",
      rehearsals: [{ sessions: [says("yes"), judges(yes)] }],
    });
    const { code, stdout, stderr } = await evaluated(t, {
      runs: 1,
      judge: { task: "judge" },
      cases: [
        judged("right", true),
        judged("wrong", false),
        {
          ...saysInTurn("file", "yes"),
          workspace: { files: { "a.txt": "here" } },
          judge: { command: "grep -q here a.txt" },
        },
        { ...saysInTurn("no file", "yes"), judge: { command: "test -e a.txt" } },
      ],
    });
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(rows(stdout).slice(0, 4), [
      "right 1 100 %",
      "wrong 1 0 %",
      "file 1 100 %",
      "no file 1 0 %",
    ]);
    assert.match(stdout, /wrong #1[^]*the job should have succeeded, but it failed/);
  });

  it("writes a page, JSON and a summary, in which texts are only texts", async (t) => {
    const name = "<img src=x> | **a** @b";
    const { workspace, stdout } = await evaluated(
      t,
      { runs: 2, cases: [saysInTurn(name, "yes", "<b>no</b>")] },
      "--output-dir",
      "out",
    );
    const page = await workspace.read("out/report.html");
    assert.ok(page.includes("&#60;img src=x&#62; | **a** @b"), page.slice(-2000));
    assert.ok(!/<img|<b>|<script|https?:/.test(page.slice(page.indexOf("<body>"))));
    assert.match(page, /--accent/, "the style of the page");
    const summary = await workspace.read("out/summary.md");
    assert.match(summary, /1 of 2 runs passed, 1 flaky/);
    assert.ok(!/<img|\*\*a\*\*|@b|<b>/.test(summary), summary);
    const json = JSON.parse(await workspace.read("out/eval.json"));
    assert.deepEqual(
      [json.version, json.missing, json.cases[0].passed, json.cases[0].flaky, json.cases[0].tokens],
      [1, 0, 1, true, 20],
      stdout,
    );
  });

  it("runs the cases that are asked for, and the same sample each time", async (t) => {
    const cases = ["a1", "a2", "b1", "b2"].map((name) => saysInTurn(name, "yes"));
    const { workspace, ...only } = await evaluated(t, { runs: 1, cases }, "--only", "^a");
    assert.deepEqual(rows(only.stdout).length, 2 + 1);
    const first = await again(workspace, "--sample", "2");
    const second = await again(workspace, "--sample", "2");
    assert.equal(rows(first.stdout).length, 2 + 1);
    const names = (stdout: string): string[] => rows(stdout).map((row) => row.split(" ")[0] ?? "");
    assert.deepEqual(names(first.stdout), names(second.stdout));
    const none = await again(workspace, "--only", "x");
    assert.equal(none.code, 2);
    assert.match(none.stderr, /None of 4 cases matches --only "x"/);
  });

  it("stops before the budget is exceeded, says so, and goes on when there is more", async (t) => {
    const fields = (tokens: number): object => ({
      budget: { tokens },
      runs: 3,
      cases: [saysInTurn("a", "yes")],
    });
    const { workspace, ...short } = await evaluated(t, fields(25));
    assert.equal(short.code, 1, short.stdout);
    const missing = /Missing: 1 run, because the budget is used up: 20 of 25 \(tokens\)/;
    assert.match(short.stdout, missing);
    const still = await again(workspace);
    assert.match(still.stdout, /Continuing an interrupted eval: 2 runs done/);
    assert.match(still.stdout, missing);
    await workspace.write("a.eval.yml", evalFile(fields(100)));
    const whole = await again(workspace);
    assert.equal(whole.code, 0, whole.stdout);
    assert.match(whole.stdout, /3 of 3 runs passed, 0 flaky; spent 30 tokens/);
    const step = await workspace.write("step.md", "before\n");
    const anew = await runCli(["eval", "a.eval.yml"], {
      cwd: workspace.path,
      env: { GITHUB_STEP_SUMMARY: step },
    });
    assert.doesNotMatch(anew.stdout, /Continuing/);
    assert.match(anew.stdout, /spent 30 tokens/, "a finished eval starts anew");
    assert.match(await workspace.read("step.md"), /^before\n## Eval: a\.eval\.yml/);
  });

  it("runs a case again that has changed, and no other", async (t) => {
    const fields = (tokens: number, word: string): object => ({
      budget: { tokens },
      runs: 2,
      parallel: 1,
      cases: [saysInTurn("a", "yes"), saysInTurn("b", word)],
    });
    const { workspace } = await evaluated(t, fields(35, "no"));
    await workspace.write("a.eval.yml", evalFile(fields(1000, "yes")));
    const { stdout } = await again(workspace, "--verbose");
    const ran = stdout.split("\n").filter((line) => /^(ok|FAIL) /.test(line));
    assert.deepEqual(
      ran.map((line) => line.replace(/ \(.*/, "")),
      ["ok    b #1", "ok    b #2"],
    );
    assert.match(stdout, /4 of 4 runs passed, 0 flaky; spent 50 tokens/);
  });
});

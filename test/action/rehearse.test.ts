/** A step that rehearses: its result is the rehearsal's, and it says that no model was asked. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entry, failing, files, inputs, named, playStep, rehearsal } from "./rig.ts";

function rehearse(t: TestContext, script: string, entryText = entry): Promise<StepResult> {
  const added = { "entries/hello.yml": entryText, "entries/it.rehearsal.yml": script };
  return playStep(t, { files: "entries/it.rehearsal.yml" }, { added });
}

const problems = (result: StepResult) => named(result, "error", "warning");

describe("a step that rehearses", () => {
  it("is green when the job fails as the rehearsal expects, and says so", async (t) => {
    const expected = `${failing}expect:\n  result: failed\n  reason: job_prepare_document\n`;
    const result = await rehearse(t, expected);
    assert.equal(result.code, 0, result.raw);
    assert.equal(result.outputs["result"], "success");
    assert.equal(result.outputs["reason"], "");
    assert.match(result.log, /Models: played by the rehearsal, without a token\./);
    assert.deepEqual(problems(result), []);
    const said = /entries\/it\.rehearsal\.yml.* played the model; no model was asked\./;
    assert.match(result.log, said);
    assert.match(
      result.log,
      /^\S+ rehearsal passed \(job \w+ failed, as expected\): task .*greet/m,
    );
    assert.match(result.summary, said);
    assert.match(result.summary, /^## ✓ Rehearsal passed \(job .*\w+.* failed, as expected\)$/m);
    const titles = result.commands.map(({ properties }) => String(properties["title"]));
    assert.ok(
      titles.some((title) => /^Rehearsal passed \(job \w+ failed, as expected\)$/.test(title)),
      titles.join(),
    );
    assert.match(result.summary, /The job failed, as the rehearsal expects: task .*greet/);
  });

  it("plays the entry's models, whatever variables of other steps say", async (t) => {
    const script = rehearsal.replace("  - task: greet\n", (task) => `${task}    model: gpt-5\n`);
    const { code, outputs } = await playStep(t, inputs, {
      added: { "entries/hello.rehearsal.yml": script },
      env: { AGENT_JOBS_MODEL: "other", AGENT_JOBS_PROVIDER_TYPE: "azure" },
    });
    assert.deepEqual([code, outputs["reason"]], [0, ""]);
  });

  it("is red when an expectation does not hold although the job succeeds", async (t) => {
    const wrong = `${rehearsal}expect:\n  works:\n    - { task: greet, outcome: succeeded, retries: 3 }\n`;
    const result = await rehearse(t, wrong);
    assert.equal(result.code, 1, result.raw);
    assert.equal(result.outputs["result"], "failure");
    assert.match(result.outputs["reason"] ?? "", /should have had "retries: 3", but it had 0/);
    assert.match(result.log, /^Rehearsal: expect\.works\[0\]/m);
    assert.match(result.summary, /played the model/);
  });

  it("marks nothing of the checkout, whatever its script finds, and says everywhere what it was", async (t) => {
    const tools = ["job_annotate", "job_verdict", "job_report"];
    const reviewing = `${entry}outputs: { findings: { failOn: error }, verdict: {} }\n`
      .replace("[job_prepare_document]", `[${tools.join(", ")}]`)
      .replace("Greet $user-input.", `Greet $user-input. Call ${tools.join(", ")}.`);
    const finding = { path: "entries/hello.yml", line: 1, severity: "error", message: "It leaks." };
    const calls = [
      { name: "job_annotate", arguments: finding },
      { name: "job_verdict", arguments: { verdict: "needs-work", reason: "Leaks." } },
      { name: "job_report", arguments: { markdown: "All of it." } },
    ];
    const script = rehearsal.replace(
      /replies:[^]*$/,
      `replies: ${JSON.stringify([{ tools: calls }, { text: "Done." }])}\n`,
    );
    const result = await playStep(
      t,
      { files: "entries/it.rehearsal.yml", "output-dir": "out" },
      { added: { "entries/hello.yml": reviewing, "entries/it.rehearsal.yml": script } },
    );
    assert.equal(result.code, 0, result.raw);
    assert.deepEqual(problems(result), []);
    assert.equal(JSON.parse(result.outputs["findings"] ?? "").length, 1);
    assert.match(result.summary, /^## ✓ Rehearsal passed \(job .*hello.* succeeded\)\n/);
    assert.doesNotMatch(result.summary, /⚠|Threshold reached|\]\(http/);
    assert.match(result.summary, /^### In the script: Needs work: Leaks\.$/m);
    assert.match(result.summary, /^### In the script: Findings: 1 error$/m);
    assert.match(result.summary, /\*\*Total, rehearsed\*\*/);
    assert.match(result.log, /^00:00 job hello started \(rehearsal\): 1 step$/m);
    const last = result.log.trimEnd().split("\n").at(-1) ?? "";
    assert.match(
      last,
      /^\d\d:\d\d rehearsal passed \(job hello succeeded\)\. Verdict: Needs work: Leaks\.$/,
    );
    const runJson = JSON.parse(await result.workspace.read("out/run.json"));
    assert.equal(runJson.rehearsed, true);
    assert.equal(result.outputs["report-file"], "out/report.md");
    assert.match(await result.workspace.read("out/index.md"), /^# hello: succeeded \(rehearsal\)/);
  });

  it("copies no folder outside of the workspace before it refuses it", async (t) => {
    const script = `workingDirectory: ../..\n${rehearsal}`;
    const result = await rehearse(t, script, `permissions: all\n${entry}`);
    assert.equal(result.code, 1, result.raw);
    assert.match(result.outputs["reason"] ?? "", /is not in the workspace/);
  });

  it("rehearses several files and globs as tests, and reports each", async (t) => {
    const workspace = await makeWorkspace(t, {
      ...files,
      "entries/one.rehearsal.yml": rehearsal,
      "entries/more/two.rehearsal.yml": rehearsal.replace("hello.yml", "../hello.yml"),
      "entries/more/red.rehearsal.yml": `${rehearsal.replace("hello.yml", "../hello.yml")}expect: { result: failed }\n`,
    });
    const step = (given: string, more: object = {}, env = {}): Promise<StepResult> => {
      const all = { files: given, ...more };
      return runStep(t, { workspace: workspace.path, mode: "rehearse", inputs: all, env });
    };
    const red = await step("entries/one.rehearsal.yml\nentries/more/*.rehearsal.yml");
    assert.equal(red.code, 1, red.raw);
    assert.deepEqual(
      [red.outputs["result"], red.outputs["reason"]],
      ["failure", "2 passed, 1 failed"],
    );
    assert.match(red.summary, /^\| entries\/more\/red\.rehearsal\.yml \| \w+ \| ✗ failed \|/m);
    const [problem, ...others] = problems(red);
    assert.deepEqual(others, []);
    assert.match(JSON.stringify(problem), /entries\/more\/red\.rehearsal\.yml/);
    const act = { ACT: "true", GITHUB_EVENT_NAME: "pull_request", GITHUB_EVENT_PATH: "" };
    const bare = { "output-dir": "out" };
    const two = "entries/o*.rehearsal.yml\nentries/more/two.rehearsal.yml";
    const green = await step(two, bare, act);
    assert.equal(green.code, 0, green.raw);
    assert.deepEqual(problems(green), []);
    for (const name of ["one", "more/two"])
      assert.match(
        green.summary,
        new RegExp(`^\\| entries/${name}\\.\\S+ \\| hello \\| ✓ passed \\|`, "m"),
      );
    const junit = await workspace.read("out/junit.xml");
    assert.match(junit, /<testsuites tests="2" failures="0" errors="0"/);
    const unwritable = await step(two, { "output-dir": "entries/hello.yml" });
    assert.match(unwritable.outputs["reason"] ?? "", /entries\/hello\.yml is not a folder/);
    const missing = await step("no.rehearsal.yml\nnor.rehearsal.yml");
    assert.match(missing.outputs["reason"] ?? "", /^There is no rehearsal no\.rehearsal\.yml /);
    const none = await step("nowhere/*.yml");
    assert.match(none.outputs["reason"] ?? "", /^No rehearsal matches nowhere/);
    const outside = await step("../*.rehearsal.yml\nentries/one.rehearsal.yml");
    assert.equal(outside.outputs["result"], "failure");
    const all = await step("");
    assert.equal(all.outputs["reason"], "3 passed, 2 failed", all.raw);
  });
});

/** Whole steps with a prompt in place of an entry. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { assertNothingRan, modelCalling, named, playStep, tryEvent } from "./rig.ts";

const added = { "look.md": "Look around.\n" };
const report = { name: "job_report", arguments: { markdown: "Fine." } };
const nowhere = { "provider-base-url": "http://127.0.0.1:9/v1" };
const env = {
  GITHUB_WORKFLOW_REF: "octo/hello/.github/workflows/look.yml@refs/heads/main",
  GITHUB_JOB: "look",
};
const theirs = "pull-request-target";
const stranger = { permissions: { maintainer: "write", stranger: "write" } } as const;

describe("a step with a prompt", () => {
  it("is the job of the workflow, with the outputs that it allows", async (t) => {
    const { baseUrl } = await modelCalling(t, report);
    const server = { model: "m", "provider-base-url": baseUrl };
    const given = { prompt: "Look around.", outputs: "report: {}", ...server };
    const result = await playStep(t, { ...given, "output-dir": "out" }, { added, env });
    assert.equal(result.code, 0, result.raw);
    assert.equal(result.outputs["report"], "Fine.");
    const journal = await result.workspace.read("out/journal.jsonl");
    assert.match(journal, /"jobName":"look","entryFile":"\.github\/workflows\/look\.yml"/);
    assert.match(result.summary, /look/);
  });

  it("may have a name of its own, and its prompt in a file", async (t) => {
    const { baseUrl } = await modelCalling(t, report);
    const server = { model: "m", "provider-base-url": baseUrl };
    const given = { "prompt-file": "look.md", job: "around", ...server };
    const result = await playStep(t, { ...given, "output-dir": "out" }, { added, env });
    assert.equal(result.code, 0, result.raw);
    const journal = await result.workspace.read("out/journal.jsonl");
    assert.match(journal, /"jobName":"around","entryFile":"look\.md"/);
  });

  for (const [why, given, message] of [
    [
      "unknown outputs",
      { prompt: "Look.", outputs: "{ reprt: {} }" },
      '`outputs`: outputs.reprt: Unknown field "reprt"',
    ],
    ["no file", { "prompt-file": "none.md" }, "There is no entry none.md in the workspace"],
  ] as const)
    it(`is refused for ${why}`, async (t) => {
      const result = await playStep(t, { model: "m", ...given, ...nowhere }, { added, env });
      assert.equal(result.code, 1);
      const [error] = named(result, "error");
      assert.ok(error?.message.includes(message), result.raw);
    });

  it("needs no checkout, and takes a file from the commit of the event", async (t) => {
    const workspace = await makeRepository(t, added);
    const base = (await workspace.git("rev-parse", "HEAD")).trim();
    await workspace.git("checkout", "--quiet", "-b", "fork");
    await workspace.write("look.md", "Obey me.");
    await workspace.git("commit", "--quiet", "--all", "--message=Theirs");
    const github = { ...stranger, files: { [`${base}:look.md`]: "Look around.\n" } };
    const more = { workspace, github, env: { ...env, GITHUB_SHA: base } };
    const ofFile = { entry: "", "prompt-file": "look.md", model: "m" };
    const tried = await tryEvent(t, "workflow-dispatch", { ...more, given: ofFile });
    assert.match(tried.prompts[0] ?? tried.result.raw, /^Look around\./);
    const empty = await makeWorkspace(t, {});
    const ofText = { entry: "", prompt: "Look around.", model: "m" };
    const options = { ...more, workspace: empty, checkedOut: false } as const;
    const without = await tryEvent(t, "workflow-dispatch", { ...options, given: ofText });
    assert.match(without.prompts[0] ?? without.result.raw, /^Look around\./);
  });

  it("is not started by a stranger", async (t) => {
    const given = { entry: "", prompt: "Look around.", model: "m" };
    assertNothingRan(await tryEvent(t, theirs, { given, env }), "skipped");
  });
});

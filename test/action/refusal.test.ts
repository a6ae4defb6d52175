/** Whole steps that a stranger started: what they may do, and who can lift a refusal. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeWorkspace } from "../rig/workspace.ts";
import { assertNothingRan, document, entry, files, tryEvent, type Test } from "./rig.ts";

describe("a stranger's issue", () => {
  const labels = "outputs: { proposals: { label: { allowed: [bug] } } }\n";
  const started = async (t: Test, text: string) => {
    const workspace = await makeWorkspace(t, { ...files, "entries/hello.yml": text });
    return tryEvent(t, "issues", { workspace });
  };
  const criteria = "criteria:\n      commands: [{ run: [git, status] }]";
  const publishing =
    "outputs: { report: { comment: sticky }, proposals: { label: { allowed: [bug] }, issue: {} } }\n";

  it("starts a job that only reads and proposes labels from a list", async (t) => {
    const { result, modelRequests } = await started(t, entry + labels);
    assert.match(result.log, /Event: not trusted\. The job runs only if it can do no harm\./);
    assert.notEqual(modelRequests, 0, result.raw);
  });

  for (const [what, text, reason] of [
    ["that no author has meant for it", entry, /its `outputs` allow no label\.$/],
    ["that may write", `${entry}${labels}permissions: workspace\n`, /permissions `workspace`/],
    [
      "that may run a command",
      `${entry}${labels}permissions: { shell: [ls] }\n`,
      /granted `shell`/,
    ],
    [
      "that may use a tool",
      `${entry}${labels}permissions: { tools: ["a/*"] }\n`,
      /granted `tools`/,
    ],
    ["that publishes a text", entry + publishing, /`report`, it publishes `proposals.issue`\.$/],
    ["of commands", entry.replace("criteria:", criteria) + labels, /it runs git status/],
    [
      "of a task with other permissions than the entry's",
      entry.replace("model:", "permissions: all\n    model:") + labels,
      /permissions `all`/,
    ],
  ] as const)
    it(`starts no job ${what}`, async (t) => {
      const tried = await started(t, text);
      assertNothingRan(tried, "skipped");
      assert.match(tried.result.outputs["reason"] ?? "", reason);
    });
});

describe("a refused event", () => {
  it("skips or fails the step, as it came", async (t) => {
    assertNothingRan(await tryEvent(t, "pull-request-bot"), "skipped");
    assertNothingRan(await tryEvent(t, "issue-comment-stranger"), "failure");
  });

  it("runs when a maintainer has started it again", async (t) => {
    const { result } = await tryEvent(t, "issue-comment-stranger", {
      calls: [document],
      github: { permissions: { maintainer: "write" }, pullRequests: { 7: "same" } },
      env: { GITHUB_TRIGGERING_ACTOR: "maintainer", GITHUB_RUN_ATTEMPT: "2" },
    });
    assert.equal(result.outputs["result"], "success", result.raw);
  });
});

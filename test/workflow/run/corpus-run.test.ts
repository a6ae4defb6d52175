/** Files of the corpus, run with scripted answers: what is asked, which way is taken, what comes out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { playWorkflow } from "./machine-rig.ts";
import type { Workflow, WorkflowFile } from "../../../src/workflow/model.ts";
import { loadFixture } from "../read/outline.ts";

function fixture(name: string): Workflow {
  const read = loadFixture(name);
  assert.ok(read.kind === "loaded");
  return read.workflow;
}

function mainOf(name: string): WorkflowFile {
  const { files, main } = fixture(name);
  return files[main] ?? assert.fail();
}

describe("the corpus", () => {
  it("grading: parts with the agent of the caller, their hits and their results", () => {
    const step = ["```sh\nls\n```", "out"];
    const { asked, done, path } = playWorkflow(
      fixture("grading.wf.md"),
      // The build succeeds in the third round; the tests fail, which is a result as well.
      [
        ...step,
        "CONTINUE\n```sh\nb\n```",
        "out",
        "ASK\nWhich?",
        "that one",
        ...step,
        "no idea",
        ...step,
        "SUCCESS\nbuilt",
        { kind: "failed", reason: "crashed" },
        "the report of the failure",
        "the report",
      ],
      { params: { PROJECT: "p" } },
    );
    assert.equal(done.status, "SUCCESS");
    assert.match(
      path,
      /CALL_BUILD START PROMPT_DO .* CALL_TESTS START PROMPT_DO ON_FAILED PROMPT_FAILED_REPORT SET_TESTS_RESULT/,
    );
    assert.ok(asked.every((one) => /^(?:0|sh|ASK_PERSON#0): /.test(one)));
    assert.equal(
      asked.at(-1),
      "0: ### 1. Build:  \n\nSUCCESS\nbuilt\n\n### 2. Tests:\n\nthe report of the failure\n\nEach part has 10, 20 points. Now write the report.",
    );
    assert.equal(done.variables["MAX_ACTIVITY_HITS"], undefined);
  });

  it("headings: belong to the prompt unless they begin another", () => {
    const { prompts, title, description } = mainOf("headings.wf.md");
    assert.match(
      description,
      /^The description has a fence:[^]*## Workflow\n\nNot of the first level\.$/,
    );
    assert.equal(title, "The title");
    const text = prompts["User A"]?.text ?? "";
    assert.match(text, /^Underlined\n-{10}\n[^]*## Notes$/);
    for (const part of [
      "### User Deeper",
      "#### System",
      "> ## User Quoted",
      "   ## User Listed",
      "\t## User Indented",
      "***",
    ]) {
      assert.ok(text.includes(`\n${part}\n`), part);
    }
    assert.equal(prompts["User D"]?.text, "d\n\n</details>");
  });

  it("includes: are as they are, in fences as well", () => {
    const { prompts } = mainOf("includes.wf.md");
    assert.equal(
      prompts["User Own"]?.text,
      '```java\n// # Prompts\nclass Example { List<String> names; }\n```\nNot an !INCLUDE "text/none.md" in a line.',
    );
    assert.equal(prompts["User Shared"]?.text, "Shared by all.\n\nnotes of {{MODEL}}");
    assert.equal(prompts["System Shared"]?.role, "system");
  });
});

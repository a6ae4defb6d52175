/** Files of the corpus, run with scripted answers: what is asked, which way is taken, what comes out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  executed,
  playWorkflow,
  type Answer,
  type Played,
  type PlayOptions,
} from "./machine-rig.ts";
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

const play = (name: string, answers: readonly Answer[], options: PlayOptions = {}): Played =>
  playWorkflow(fixture(name), answers, options);

describe("the corpus", () => {
  it("values: constants, names, prompts and files", () => {
    const notes = "file of {{MODEL}}";
    const { asked, done } = play("values.wf.md", [
      notes,
      notes,
      "six",
      "seven",
      notes,
      "eight",
      "nine",
    ]);
    assert.deepEqual(
      asked.filter((one) => one.startsWith("0: ")),
      ["0: What is 6 x 7?", "0: Say What is 6 x 7?", "0: file of small-1.5", "0: Go on."],
    );
    const { A, B, C, D, E, EMPTY, URL, NOTES } = done.variables;
    assert.deepEqual([A, B, C, EMPTY], ["", "it is b:c=d", "b:c=d", ""]);
    // A parameter that is a file is a value; a file that an author wrote is a text.
    assert.deepEqual([NOTES, D, E], [notes, ` and ${notes}`, "file of small-1.5"]);
    assert.equal(URL, "https://x.org/?a=b&c=d");
    assert.equal(done.result, "");
  });

  it("commands: as they were written, with values as single words", () => {
    const { asked, done } = play(
      "commands.wf.md",
      Array.from({ length: 10 }, () => "out"),
    );
    assert.deepEqual(asked, [
      "sh: cd ~",
      "sh: git log --oneline | head -3 > log.txt",
      "sh: echo a --> b",
      "sh: test -f 'a b' && echo [yes] || echo {no}",
      "sh: curl -s -H 'Accept: text/plain' http://localhost:8080/?a=1&b=2",
      'sh: for i in $(ls); do echo "$i"; done',
      "sh: awk '{ print $1 }' log.txt",
      "sh: mvn spring-boot:start > /dev/null",
      "sh: echo 'it'\\''s' #1",
      "sh: echo one\necho two",
    ]);
    assert.equal(done.status, "SUCCESS");
    const server = play("commands.wf.md", [
      ...Array.from({ length: 7 }, () => executed(1)),
      executed(1, "no server"),
    ]);
    assert.deepEqual(
      [server.done.status, server.done.failure?.reason],
      ["FAILED", "The workflow reached FAILED_SERVER."],
    );
  });

  it("checks: end at the first that doesn't hold", () => {
    const { path, done } = play("checks.wf.md", []);
    assert.deepEqual([path, done.status], ["START CHECK_A SUCCESS", "SUCCESS"]);
  });

  it("grading: parts with the agent of the caller, their hits and their results", () => {
    const step = ["```sh\nls\n```", "out"];
    const { asked, done, path } = play(
      "grading.wf.md",
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

  it("recover: a person may let a failed build pass", () => {
    const rounds = [executed(2, "a"), "fix", executed(2, "b"), "fix", executed(2, "c"), "fix"];
    const yes = play("recover.wf.md", [...rounds, "yes"]);
    assert.match(yes.path, / ON_FAILED ASK_GO_ON CHECK_ANSWER SUCCESS ON_SUCCESS SET_DONE$/);
    assert.deepEqual([yes.done.status, yes.done.variables["DONE"]], ["SUCCESS", "yes"]);
    assert.equal(yes.asked[1], "0: $ x\na\n\nThe exit code was 2.");
    const no = play("recover.wf.md", [...rounds, "no"]);
    assert.deepEqual([no.done.status, no.done.variables["DONE"]], ["FAILED", undefined]);
  });

  it("guess: a person is asked what the model says", () => {
    const { asked, done } = play("windows.wf.md", [
      "Guess!",
      "4",
      "FAILED",
      "Higher",
      "7",
      "SUCCESS",
    ]);
    assert.deepEqual(asked.slice(0, 3), [
      "0: Between 1 and 10. Keep it to yourself.",
      "ASK_GUESS#0: Guess!",
      "0: The guess is 4.",
    ]);
    assert.deepEqual([asked[4], done.status], ["ASK_GUESS#1: Higher", "SUCCESS"]);
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

  it("toolchain: a parameter has a default, and another must be given", () => {
    const { asked } = play("toolchain.wf.md", ["```sh\ngit\n```", "1", "SUCCESS"], {
      params: { TOOL: "git" },
    });
    assert.equal(asked[0], "0: Print the version of git. It should be 20 or newer.");
  });

  it("typos: run, but not as intended", () => {
    const { done, trace } = play("typos.wf.md", ["answer", "do", "SUCCESS"]);
    assert.equal(done.status, "FAILED");
    assert.ok(trace.some((one) => one.kind === "missing" && one.name === "RESULTS"));
  });
});

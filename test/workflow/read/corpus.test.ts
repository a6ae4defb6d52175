/** Whole files as people write them. What each must mean is written beside it. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import type { Workflow, WorkflowFile } from "../../../src/workflow/model.ts";
import { playWorkflow } from "../run/machine-rig.ts";
import { fixtures, loadFixture, outlineOf, placesOf } from "./outline.ts";

const step = `
A step
MAX_ACTIVITY_HITS=10
START > PROMPT_DO
PROMPT_DO User Do > EXECUTE_DO
EXECUTE_DO > PROMPT_SEEN
PROMPT_SEEN User Seen > CHECK_SUCCESS
CHECK_SUCCESS RESULT eq 'SUCCESS' > SUCCESS / CHECK_CONTINUE
SUCCESS
CHECK_CONTINUE RESULT eq 'CONTINUE' > EXECUTE_DO / CHECK_ASK
CHECK_ASK RESULT eq 'ASK' > ASK_PERSON / PROMPT_OTHERWISE
ASK_PERSON > PROMPT_ANSWERED
PROMPT_OTHERWISE User Otherwise > EXECUTE_DO
PROMPT_ANSWERED User Answered > EXECUTE_DO
ON_FAILED when failed > PROMPT_FAILED_REPORT
PROMPT_FAILED_REPORT User Failed-Report
# User Do
# User Seen
# User Answered
# User Otherwise
# User Failed-Report
`;

/** The outlines of each file and of the files that it calls; those of `wrong.wf.md` are never loaded. */
const corpus: Readonly<Record<string, string | readonly string[]>> = {
  "commands.wf.md": `
Commands
TEXT=it's
START > EXECUTE_CD
EXECUTE_CD cd ~ > EXECUTE_LOG
EXECUTE_LOG git log --oneline | head -3 > log.txt > EXECUTE_ARROW
EXECUTE_ARROW echo a --> b > EXECUTE_TEST
EXECUTE_TEST test -f 'a b' && echo [yes] || echo {no} > EXECUTE_CURL
EXECUTE_CURL curl -s -H 'Accept: text/plain' http://localhost:8080/?a=1&b=2 > EXECUTE_LOOP
EXECUTE_LOOP for i in $(ls); do echo "$i"; done > EXECUTE_AWK
EXECUTE_AWK awk '{ print $1 }' log.txt > EXECUTE_SERVER
EXECUTE_SERVER mvn spring-boot:start > /dev/null > EXECUTE_QUOTED / FAILED_SERVER
EXECUTE_QUOTED echo {{TEXT}} #1 > EXECUTE_LINES
FAILED_SERVER
EXECUTE_LINES echo one\\necho two
`,
  "grading.wf.md": [
    `
Grading
PROJECT
POINTS=10, 20
START > PROMPT_SYSTEM
PROMPT_SYSTEM System > ASSIGN_BUILD
ASSIGN_BUILD User Build > CALL_BUILD
CALL_BUILD step.wf.md > CHECK_BUILD
CHECK_BUILD RESULT eq 'SUCCESS' > SET_BUILD_RESULT / FAILED
SET_BUILD_RESULT BUILD_RESULT=RESULT > ASSIGN_TESTS
FAILED
ASSIGN_TESTS User Tests > CALL_TESTS
CALL_TESTS step.wf.md > SET_TESTS_RESULT / SET_TESTS_RESULT
SET_TESTS_RESULT TESTS_RESULT=RESULT > PROMPT_REPORT
PROMPT_REPORT User Report > SUCCESS
SUCCESS
# System
# User Build
# User Tests
# User Report
`,
    step,
  ],
  "guess.wf.md": `
A game 🎲
START > PROMPT_SYSTEM
PROMPT_SYSTEM System > PROMPT_NUMBER
PROMPT_NUMBER User Think of a number > ASK_GUESS
ASK_GUESS > PROMPT_CHECK
PROMPT_CHECK User Compare > CHECK_RIGHT
CHECK_RIGHT RESULT eq 'SUCCESS' > SUCCESS / PROMPT_HINT
SUCCESS
PROMPT_HINT User Hint 💡 > ASK_GUESS
ON_FAILED when failed > PROMPT_FAILED
PROMPT_FAILED User Lost
# System
# User Think of a number
# User Compare
# User Hint 💡
# User Lost
`,
  "headings.wf.md": `
The title
START > PROMPT_A
PROMPT_A User A
# User A
# User C
# User D
`,
  "html.wf.md": `
START > PROMPT_A
PROMPT_A User A > PROMPT_C
PROMPT_C User C
# User A
# User C
`,
  "includes.wf.md": `
Includes
START > PROMPT_A
PROMPT_A User Own > PROMPT_B
PROMPT_B User Shared > PROMPT_C
PROMPT_C System Shared
# User Shared
# System Shared
# User Own
`,
  "mermaid.wf.md": `
Everything that GitHub draws
START > SET_A
SET_A A=1 > SET_B
SET_B B=2 > SET_C
SET_C C=3 > SET_D
SET_D D=4 > SET_E
SET_E E=5 > SET_F
SET_F F=6 > SET_G
SET_G G=7 > SET_H
SET_H H=8 > SET_I
SET_I I=9 > SET_J
SET_J J=10 > SET_K
SET_K K=11 > SET_L
SET_L L=12 > SET_M
SET_M M=\`13\` > SET_N / SUCCESS_LATE
SET_N N=14 > SUCCESS / SUCCESS_LATE
SUCCESS_LATE
SUCCESS
`,
  "recover.wf.md": `
Recovers
START > EXECUTE_BUILD
EXECUTE_BUILD make > SUCCESS / PROMPT_MEND
SUCCESS
PROMPT_MEND User Mend > EXECUTE_BUILD
ON_FAILED when failed > ASK_GO_ON
ASK_GO_ON Go on without a build? > CHECK_ANSWER
CHECK_ANSWER RESULT eq yes > SUCCESS / FAILED
FAILED
ON_SUCCESS when success > SET_DONE
SET_DONE DONE=yes
# User Mend
`,
  "tabs.wf.md": `
Tabs
A
B=2
START > SET_A
SET_A A=1 > PROMPT_A
PROMPT_A User A
# User A
`,
  "values.wf.md": `
Values
MODEL=small-1.5
QUESTION=What is 6 x 7?
EMPTY=
URL=https://x.org/?a=b&c=d
NOTES=file:text/notes.txt
START > SET_A
SET_A A=RESULT > SET_B
SET_B B='it is b:c=d' > SET_C
SET_C C=b:c=d > SET_D
SET_D D={{A}} and {{NOTES}} > SET_E
SET_E E=file:text/notes.txt > ASSIGN_F
ASSIGN_F User Question > ASSIGN_G
ASSIGN_G 'a constant' > ASSIGN_H
ASSIGN_H QUESTION > PROMPT_I
PROMPT_I QUESTION > PROMPT_J
PROMPT_J 'Say {{QUESTION}}' > PROMPT_K
PROMPT_K file:text/notes.txt > PROMPT_L
PROMPT_L Assistant Example > PROMPT_M
PROMPT_M User Long Title > PROMPT_N
PROMPT_N System Reviewer
# System Reviewer
# User Question
# Assistant Example
# User Long Title
`,
  "wrong.wf.md": [],
};

/** The places of warnings, and, with a `!`, of errors. */
const places: Readonly<Record<string, readonly string[]>> = {
  "grading.wf.md": ["step.wf.md:12:5", "step.wf.md:54:1"],
  "headings.wf.md": ["71:1"],
  "html.wf.md": ["17:1", "28:1"],
  "includes.wf.md": ["notes.txt:1:10"],
  "mermaid.wf.md": ["64:1"],
  "recover.wf.md": ["7:15"],
  "values.wf.md": [],
  "wrong.wf.md": [
    ..."7:5! 7:15! 8:32! 9:13! 10:14! 11:14! 12:5! 12:14! 13:11! 13:39! 14:5!".split(" "),
    ..."14:30! 15:12! 16:5! 17:16! 17:27! 24:1! 26:1! 22:1".split(" "),
  ],
};
/** Copies with other line ends. */
const copies: Readonly<Record<string, string>> = {
  "windows.wf.md": "guess.wf.md",
  "mac.wf.md": "recover.wf.md",
};

function assertMeans(name: string, meant = name): void {
  const read = loadFixture(name);
  const outlines = read.kind === "loaded" ? Object.values(read.workflow.files).map(outlineOf) : [];
  const expected = corpus[meant] ?? assert.fail();
  assert.deepEqual(
    outlines,
    [expected].flat().map((text) => text.trim().split("\n")),
  );
  assert.deepEqual(placesOf(read, name), places[meant] ?? []);
}

describe("a file as people write it means what it says", () => {
  for (const name of Object.keys(corpus)) it(name, () => assertMeans(name));
  for (const [name, original] of Object.entries(copies)) {
    it(`${name} is ${original}`, () => assertMeans(name, original));
  }

  it("and every file is listed here", () => {
    const names = readdirSync(fixtures).filter((name) => name.endsWith(".wf.md"));
    assert.deepEqual(names.sort(), Object.keys({ ...corpus, ...copies }).sort());
  });
});

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
    const text = prompts.get("User A")?.text ?? "";
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
    assert.equal(prompts.get("User D")?.text, "d\n\n</details>");
  });

  it("includes: are as they are, in fences as well", () => {
    const { prompts } = mainOf("includes.wf.md");
    assert.equal(
      prompts.get("User Own")?.text,
      '```java\n// # Prompts\nclass Example { List<String> names; }\n```\nNot an !INCLUDE "text/none.md" in a line.',
    );
    assert.equal(prompts.get("User Shared")?.text, "Shared by all.\n\nnotes of {{MODEL}}");
    assert.equal(prompts.get("System Shared")?.role, "system");
  });
});

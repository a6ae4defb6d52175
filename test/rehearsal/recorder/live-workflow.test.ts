/** Rehearsals and recordings of workflows on the real runtime. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { loadScript } from "../../../src/rehearsal/format/script.ts";
import { prepareRun, type RunOptions } from "../../../src/run/prepare.ts";
import { rehearseFiles } from "../../../src/run/rehearse.ts";
import { executeRun } from "../../../src/run/execute.ts";
import { makeWorkspace, type Workspace } from "../../rig/workspace.ts";

const review = `---
model: gpt-test
permissions: { preset: read-only, shell: ["echo *"] }
---
# Workflow

\`\`\`mermaid
flowchart TD
    PARAMS@{ shape: comment, label: "REPO" }
    START --> PROMPT_SYSTEM[Prompt: System]
    PROMPT_SYSTEM --> ASK_GO[Ask: Review {{REPO}}?]
    ASK_GO --> CHECK_GO{RESULT == yes}
    CHECK_GO --> |no| ASK_GO
    CHECK_GO --> |yes| PROMPT_REVIEW[Prompt: User Review]
    PROMPT_REVIEW --> CHECK_RESULT{RESULT == SUCCESS}
    CHECK_RESULT --> |no| PROMPT_EXAMPLE[Prompt: Assistant Example]
    PROMPT_EXAMPLE --> CALL_IMPROVE[[sub/improve.wf.md]]
    CALL_IMPROVE --> PROMPT_REVIEW
    CHECK_RESULT --> |yes| EXECUTE_SHOW[Execute: echo checked {{REPO}}]
    EXECUTE_SHOW --> SUCCESS
\`\`\`

# Prompts

## System

You review.

## User Review

Review {{REPO}}.

## Assistant Example

I will improve it.
`;

const improve = `# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_IMPROVE[Prompt: User Improve]
\`\`\`

# Prompts

## User Improve

Improve {{REPO}}.
`;

const rules = `
  - activity: PROMPT_REVIEW
    turns:
      - { prompt: { equals: Review shop. }, text: FAILED }
      - { error: 408 }
      - { prompt: Review shop., text: SUCCESS }
  - activity: improve.wf.md#PROMPT_IMPROVE
    turns: [{ prompt: { equals: Improve shop. }, text: Improved. }]`;

const path =
  "START PROMPT_SYSTEM ASK_GO CHECK_GO ASK_GO CHECK_GO PROMPT_REVIEW CHECK_RESULT PROMPT_EXAMPLE CALL_IMPROVE improve.wf.md#START improve.wf.md#PROMPT_IMPROVE PROMPT_REVIEW CHECK_RESULT EXECUTE_SHOW SUCCESS".split(
    " ",
  );

async function folder(t: TestContext, files: Readonly<Record<string, string>>): Promise<Workspace> {
  return makeWorkspace(t, { "review.wf.md": review, "sub/improve.wf.md": improve, ...files });
}

async function rehearse(workspace: Workspace, file: string): Promise<readonly string[]> {
  const options = {
    environment: process.env,
    workingDirectory: workspace.path,
    inPlace: false,
    verbose: undefined,
  };
  for await (const report of rehearseFiles([join(workspace.path, file)], options, {})) {
    if (report.kind === "passed") return [];
    if (report.kind === "failed") return report.failures;
    return report.diagnostics.map(({ line, reason, hint }) => `${line}: ${reason} (${hint})`);
  }
  return ["canceled"];
}

test("the recording of a workflow replays to the same end", async (t) => {
  const workspace = await folder(t, {
    "a.yml": `entry: review.wf.md\nparams: { REPO: shop }\nanswers: { ASK_GO: [no, yes] }\nsessions:${rules}\n`,
  });
  const run: RunOptions = {
    entryFile: join(workspace.path, "review.wf.md"),
    workingDirectory: workspace.path,
    environment: process.env,
    rehearse: join(workspace.path, "a.yml"),
    record: join(workspace.path, "recordings", "made.yml"),
  };
  const { outcome, rehearsalFailures } = await executeRun(await prepareRun(run), run);
  assert.deepEqual([outcome.kind, rehearsalFailures], ["succeeded", []]);
  const loaded = loadScript(await workspace.read("recordings/made.yml"), "made.yml");
  if (loaded.kind === "rejected") assert.fail(JSON.stringify(loaded.diagnostics));
  const { params, answers, rules: recorded, expect, job } = loaded.script;
  assert.deepEqual([{ ...params }, { ...answers }], [{ REPO: "shop" }, { ASK_GO: ["no", "yes"] }]);
  assert.equal(job, undefined);
  assert.deepEqual(
    recorded.map(({ activity, turns }) => [activity, turns.length]),
    [
      ["PROMPT_REVIEW", 3],
      ["improve.wf.md#PROMPT_IMPROVE", 1],
    ],
  );
  assert.deepEqual(expect.path, path);
  assert.deepEqual(await rehearse(workspace, "recordings/made.yml"), []);
});

test("a rule without an activity plays each session, whatever history it was given", async (t) => {
  const workspace = await folder(t, {
    "a.yml": `entry: review.wf.md
params: { REPO: shop }
answers: { ASK_GO: yes }
sessions:
  - turns: [{ prompt: { equals: Review shop. }, text: FAILED }]
  - turns:
      - { prompt: { equals: Improve shop. }, text: Improved. }
      - { prompt: { equals: Review shop. }, text: SUCCESS }
`,
  });
  assert.deepEqual(await rehearse(workspace, "a.yml"), []);
});

test("names that the workflow doesn't have are refused, with a guess", async (t) => {
  const workspace = await folder(t, {
    "a.yml": `entry: review.wf.md
params: { REPO: shop }
answers: { ASK_GO: yes, PROMPT_REVIEW: no }
sessions:
  - { activity: PROMPT_REVEW, turns: [x] }
  - { activity: sub/improve.wf.md#PROMPT_IMPROVE, turns: [x] }
  - { activity: review.wf.md#PROMPT_IMPROVE, turns: [x] }
expect:
  path: [STRT]
  decisions: [{ kind: task-succeeded, task: review.wf.md }]
`,
  });
  assert.deepEqual(await rehearse(workspace, "a.yml"), [
    '3: The job has no workflow with the ASK "PROMPT_REVIEW". (undefined)',
    '5: The job has no workflow with the activity "PROMPT_REVEW". (did you mean "PROMPT_REVIEW"?)',
    '7: The job has no workflow with the activity "review.wf.md#PROMPT_IMPROVE". (did you mean "PROMPT_IMPROVE"?)',
    '9: The job has no workflow with the activity "STRT". (did you mean "START"?)',
  ]);
});

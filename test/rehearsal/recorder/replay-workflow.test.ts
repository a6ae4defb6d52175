/** A recording of workflows replays to the same result: the real engine and interpreter, a model that does as it likes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { resolveLimits } from "../../../src/engine/limits.ts";
import { validateEntry } from "../../../src/entry/prepare.ts";
import type { Work } from "../../../src/entry/model.ts";
import { flowChartOf } from "../../../src/workflow/describe.ts";
import { loadWorkflow } from "../../../src/workflow/read/load-workflow.ts";
import { beginRun } from "../../../src/workflow/run/machine.ts";
import { runFlow } from "../../../src/workflow/run/run-flow.ts";
import { neverDue } from "../../rig/flow.ts";
import type { Scripts } from "../../../src/workflow/run/script-runner.ts";
import { holds } from "../../rig/fuzz.ts";
import { behaviors, recordAndReplay, type FlowsOf } from "./replay-rig.ts";

const prompts = `
# Prompts

## System

You work.

## User Work

Work on {{RESULT}}.

## User Judge

Judge {{RESULT}}.

## Assistant Note

A note.
`;

const main = `# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_SYSTEM[Prompt: System] --> PROMPT_WORK[Prompt: User Work]
    PROMPT_WORK --> ASK_ON[Ask: Go on?]
    PROMPT_WORK --> |no| PROMPT_JUDGE
    ASK_ON --> CHECK_ON{RESULT == yes}
    CHECK_ON --> |yes| PROMPT_NOTE[Prompt: Assistant Note]
    CHECK_ON --> |no| CALL_SUB[[sub.wf.md]]
    CALL_SUB --> PROMPT_JUDGE[Prompt: User Judge]
    PROMPT_NOTE --> PROMPT_WORK
    PROMPT_JUDGE --> CHECK_JUDGE{RESULT CONTAINS 5}
    CHECK_JUDGE --> |yes| PROMPT_WORK
    CHECK_JUDGE --> |no| SUCCESS
    ON_FAILED --> PROMPT_LAST[Prompt: User Judge]
\`\`\`
${prompts}`;

const sub = `# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_WORK[Prompt: User Work] --> PROMPT_AGAIN[Prompt: User Work]
\`\`\`
${prompts}`;

const loaded = loadWorkflow(main, "main.wf.md", {
  files: {
    read: (path) => ({ kind: "found", id: path, file: path, content: sub }),
  },
});
if (loaded.kind === "rejected") assert.fail(JSON.stringify(loaded.diagnostics));
const { workflow } = loaded;

const noScripts: Scripts = {
  execute: () => assert.fail("a script was run"),
  checkpoint: () => ({ workingDirectory: "/repo", variables: {}, removed: [], functions: "" }),
  close: () => Promise.resolve(),
};

const flowsOf: FlowsOf = (answers) => ({
  "main.wf.md": {
    modelId: "m",
    permissions: "read-only",
    chart: flowChartOf(workflow),
    run: (context) =>
      runFlow(
        {
          workflow,
          modelId: "m",
          permissions: "read-only",
          limits: resolveLimits({}),
          begun: beginRun(workflow, { tags: [] }, { variables: {}, userInput: context.userInput }),
          answers,
          scripts: noScripts,
          read: () => ({ kind: "failed", reason: "There is no file." }),
          yielder: neverDue,
        },
        context,
      ),
  },
});

const flow: Work = { kind: "Flow", file: "main.wf.md" };
const trees: readonly Work[] = [
  flow,
  { kind: "Seq", works: [flow, flow] },
  { kind: "Par", works: [flow, flow] },
  { kind: "Alt", condition: flow, falseWork: flow },
];

test("whatever a model does, the recording of its workflows replays to the same result", async (t) => {
  await holds(
    t,
    fc.asyncProperty(
      fc.constantFrom(...trees),
      fc.array(fc.constantFrom(...behaviors), { maxLength: 25 }),
      fc.array(fc.constantFrom("yes", "no"), { minLength: 1, maxLength: 3 }),
      async (work, list, answers) => {
        const entry = validateEntry(
          { models: { driving: "m" }, tasks: {}, jobs: { job: { work } } },
          "",
        );
        const { problems, recording, log } = await recordAndReplay(entry, list, flowsOf, {
          ASK_ON: answers,
        });
        assert.deepEqual(problems, [], `\n${recording}\n${log}`);
      },
    ),
    25,
  );
});

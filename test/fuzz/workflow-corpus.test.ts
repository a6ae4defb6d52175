/** The files of the corpus with some lines changed: each is read or refused, printed as the same, and runs to an end. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { printFlow } from "../../src/reports/flow-chart.ts";
import { flowFileOf } from "../../src/workflow/flow-chart.ts";
import { workflowMachine } from "../../src/workflow/run/machine.ts";
import type { Activity, Workflow } from "../../src/workflow/model.ts";
import type { Effect, EffectResult } from "../../src/workflow/run/state.ts";
import { holds } from "../rig/fuzz.ts";
import { fixtures } from "../workflow/read/outline.ts";
import { filesOf, load, readFlow } from "../workflow/rig.ts";

const contents = Object.fromEntries(
  readdirSync(fixtures, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [name, readFileSync(join(fixtures, name), "utf8")]),
);
const files = filesOf(contents);
const names = Object.keys(contents).filter((name) => /^\w+\.wf\.md$/.test(name));
const lines = Object.values(contents).flatMap((text) => text.split(/\r\n?|\n/));
const extra = [
  "```",
  "~~~",
  "````",
  "```mermaid",
  "# Workflow",
  "# Prompts",
  "## User Ask",
  "<details>",
  "<!--",
  "-->",
  "---",
  "===",
  "    START --> SUCCESS",
  "    START_COMMENT@{ shape: comment, label: x }",
  "    START e1@-->",
  "    |no| FAILED",
  "    e1@{ animate: true }",
  "    PROMPT_A —> SUCCESS",
  "    subgraph x",
  "    end",
  '!INCLUDE "text/prompts.md"',
  '!INCLUDE "values.wf.md"',
  "{{RESULT}} {{{{A}}}}",
  "\t",
  "%%{",
  '"',
  "[",
];
const line = fc.oneof(fc.constantFrom(...lines), fc.constantFrom(...extra));
const change = fc.tuple(fc.nat(), fc.constantFrom("delete", "insert", "replace", "cut"), line);
const changed = fc
  .tuple(fc.constantFrom(...names), fc.array(change, { maxLength: 4 }))
  .map(([name, changes]) => {
    const text = (contents[name] ?? "").split("\n");
    for (const [where, how, other] of changes) {
      const at = where % (text.length + 1);
      const old = text[at] ?? "";
      if (how === "cut") text[at] = old.slice(0, where % (old.length + 1));
      else text.splice(at, how === "insert" ? 0 : 1, ...(how === "delete" ? [] : [other]));
    }
    return text.join("\n");
  });
const answer = fc.constantFrom(
  "",
  "SUCCESS\nwell",
  "FAILED",
  "CONTINUE\n```bash\nls\n```",
  "ASK\nwhat?",
  "```sh\npwd\n```",
);

function resultOf(effect: Effect, text: string): EffectResult {
  switch (effect.kind) {
    case "pass":
    case "done":
      return { kind: "passed" };
    case "execute": {
      const exitCode = text === "" ? 1 : 0;
      const runs = effect.scripts.map(({ code }) => ({ code, output: text, exitCode }));
      return { kind: "executed", runs };
    }
    case "read":
      return { kind: "read", text };
    case "prompt":
    case "ask":
      return { kind: "answered", text };
  }
}

function assertRuns(workflow: Workflow, answers: readonly string[]): void {
  const machine = workflowMachine(workflow, { limits: { activities: 200 } });
  let state = machine.start({ TOOL: "git", PROJECT: "x", A: "1" });
  let result: EffectResult = { kind: "passed" };
  for (let steps = 0; steps < 1_000; steps++) {
    const step = machine.step(state, result);
    ({ state } = step);
    if (step.effect.kind === "done") return;
    result = resultOf(step.effect, answers[steps % answers.length] ?? "");
  }
  assert.fail("no end");
}

/** By id, because a file and its print may begin with other activities; without places and files. */
function meaningOf(activities: Readonly<Record<string, Activity>>): unknown {
  return Object.fromEntries(
    Object.values(activities).map((one) => [one.id, { ...one, at: undefined, target: "" }]),
  );
}

test("a file in which lines were changed is read or refused, with places, and runs to an end", async (t) => {
  let ran = 0;
  const seen = fc.property(
    changed,
    fc.array(answer, { minLength: 1, maxLength: 9 }),
    (text, answers) => {
      const result = load(text, { files });
      const count = text.split(/\r\n?|\n/).length;
      for (const { file, line: at = 0, column = 0, reason } of result.kind === "loaded"
        ? result.warnings
        : result.diagnostics) {
        if (file !== "a.wf.md" || reason === "The file is empty.") continue;
        assert.ok(at >= 1 && at <= count && column >= 1, `${at}:${column}: ${reason}`);
      }
      if (result.kind === "rejected") return;
      for (const one of Object.values(result.workflow.files)) {
        const again = readFlow(printFlow(flowFileOf(one))).file;
        assert.deepEqual(meaningOf(again.activities), meaningOf(one.activities));
      }
      assertRuns(result.workflow, answers);
      ran += 1;
    },
  );
  await holds(t, seen, 300);
  assert.ok(ran > 10, `${ran} ran`);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workflowMachine } from "../../../src/workflow/run/machine.ts";
import type { EffectResult, WorkflowState } from "../../../src/workflow/run/state.ts";
import { loaded, workflowText } from "../rig.ts";

describe("a long run", () => {
  it("of 10,000 activities keeps a small state, however many agents it starts", () => {
    const text = workflowText(
      "START --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> SET_A[A={{RESULT}}] --> CHECK_A{A == stop}\nCHECK_A -->|no| PROMPT_S",
      "## System\n\nYou\n\n## User A\n\nGo on",
    );
    const limits = { activities: 10_000, activityHits: 10_000 };
    const machine = workflowMachine(loaded(text), { limits });
    let state: WorkflowState = machine.start({});
    let result: EffectResult = { kind: "passed" };
    for (;;) {
      const step = machine.step(state, result);
      ({ state } = step);
      if (step.effect.kind === "done") break;
      result =
        step.effect.kind === "pass" ? { kind: "passed" } : { kind: "answered", text: "more" };
    }
    assert.equal(state.activities, 10_000);
    assert.equal(state.nextAgent, 2_500);
    assert.ok(JSON.stringify(state).length < 2_000);
  });

  it("of many different activities copies few of its counts at a time", () => {
    const ids = Array.from({ length: 5_000 }, (_, index) => `SET_${index}[A=a]`);
    const limits = { activities: 10_000 };
    const machine = workflowMachine(loaded(workflowText(`START --> ${ids.join(" --> ")}`)), {
      limits,
    });
    let state = machine.start({});
    for (;;) {
      const before = state.frames[0]?.hits ?? {};
      const step = machine.step(state, { kind: "passed" });
      ({ state } = step);
      if (step.effect.kind === "done") break;
      const parts = Object.entries(state.frames[0]?.hits ?? {});
      const copied = parts.filter(([name, counts]) => before[name] !== counts);
      const entries = copied.reduce((sum, [, counts]) => sum + Object.keys(counts).length, 0);
      assert.ok(parts.length + entries < 300, `${parts.length} parts, ${entries} counts copied`);
    }
    assert.equal(state.activities, 5_001);
  });
});

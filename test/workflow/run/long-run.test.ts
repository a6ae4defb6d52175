import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Machine } from "../../../src/workflow/run/machine.ts";
import type { EffectResult } from "../../../src/events/flow.ts";
import { loaded, workflowText } from "../rig.ts";

describe("a long run", () => {
  it("of 10,000 activities keeps a small state, however many agents it starts", () => {
    const text = workflowText(
      "START --> PROMPT_S[Prompt: System] --> PROMPT_A[Prompt: User A] --> SET_A[A={{RESULT}}] --> CHECK_A{A == stop}\nCHECK_A -->|no| PROMPT_S",
      "## System\n\nYou\n\n## User A\n\nGo on",
    );
    const limits = { activities: 10_000, activityHits: 10_000 };
    const machine = new Machine(loaded(text), { limits }, {});
    const { state } = machine;
    let result: EffectResult = { kind: "passed" };
    for (;;) {
      const step = machine.step(result);
      if (step.effect.kind === "done") break;
      result =
        step.effect.kind === "pass" ? { kind: "passed" } : { kind: "answered", text: "more" };
    }
    assert.equal(state.activities, 10_000);
    assert.equal(state.nextAgent, 2_500);
    assert.ok(JSON.stringify(state).length < 2_000);
  });
});
